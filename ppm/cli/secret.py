"""`ppm secret`: the key of all noise."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

secret = typer.Typer(
    name="secret",
    help="Make the secret that keys the noise.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@secret.callback()
def _secret() -> None:
    pass


@secret.command(epilog="Example: ppm secret new ppm.secret")
def new(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where it is written.")],
) -> None:
    """Draw a secret into a new file that only you can read.

    Whoever holds it can take the noise away. Keep a copy in a safe place: without it, a stream that
    was stopped cannot be replayed with the same noise. It is never printed, and never overwritten.
    """
    from ppm.dp.secret import write_new_secret

    write_new_secret(path)
    print(f"{path} holds a new secret that only you can read.")
    print(f"Keep it out of version control: echo {quote(path.name)} >> .gitignore")
