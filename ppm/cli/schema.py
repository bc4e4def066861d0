"""`ppm schema`: what a file may hold, for editors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Kind(StrEnum):
    """What a file declares; equal to the kinds of `ppm.spec.schema`, which is slow to import."""

    PATTERN = "pattern"
    POLICY = "policy"
    CONSUMER = "consumer"
    PRIOR = "prior"


def schema(
    kind: Annotated[
        Kind | None,
        typer.Argument(metavar="KIND", help="What a file declares.", show_default="all of them"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the schemas into this folder, a file each."),
    ] = None,
) -> None:
    """Print the JSON Schema of patterns, policies, consumers and priors.

    With it an editor completes and checks the files as they are written. The first line of a file
    names its schema:

    # yaml-language-server: $schema=../schemas/pattern.schema.json
    """
    from ppm.cli.files import write_files
    from ppm.cli.output import as_json
    from ppm.spec.schema import file_name, schema_of

    schemas = {one.value: schema_of(one) for one in ([kind] if kind else Kind)}
    if out is not None:
        write_files(out, {file_name(one): as_json(schemas[one]) for one in schemas})
        return
    print(as_json(schemas[kind] if kind else schemas), end="")
