"""`ppm init`: a small project that works, to start from."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the project is made.")],
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that is not empty, over its files.")
    ] = False,
) -> None:
    """Make a small project that works, to learn from and to change.

    It has a pattern, a policy, a consumer and the schemas for your editor, all with comments.
    """
    from ppm.cli.files import write_files
    from ppm.cli.output import as_json
    from ppm.errors import PpmError
    from ppm.spec.schema import KINDS, file_name, schema_of

    if folder.exists() and not folder.is_dir():
        raise PpmError(f"{folder} is a file; name a folder")
    # Hidden files, such as those of a fresh git repository, are in nobody's way.
    taken = folder.is_dir() and any(not one.name.startswith(".") for one in folder.iterdir())
    if taken and not force:
        raise PpmError(
            f"{folder} is not empty; name another folder, or write over its files with --force"
        )
    template = {name: text.read_text("utf-8") for name, text in template_files()}
    schemas = {f"schemas/{file_name(kind)}": as_json(schema_of(kind)) for kind in KINDS}
    write_files(folder, template | schemas)
    policy = folder / "policies" / "smart-door.yaml"
    print(f"{folder} holds a small project about a smart door. Next:")
    print(f"  ppm check {quote(str(folder))}")
    print(f"  ppm explain {quote(str(policy))}")


def template_files() -> Iterator[tuple[str, Traversable]]:
    """The files of the template, each with its place in a project."""
    ahead = [("", files("ppm.cli") / "template")]
    while ahead:
        place, one = ahead.pop()
        if one.is_dir():
            inner = sorted(one.iterdir(), key=lambda below: below.name, reverse=True)
            ahead += [(f"{place}/{below.name}".lstrip("/"), below) for below in inner]
        else:
            yield place, one
