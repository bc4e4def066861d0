"""The command line: it parses, calls and prints, and tells every error as a sentence."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ppm.cli.audit import audit
from ppm.cli.check import check
from ppm.cli.detect import detect
from ppm.cli.explain import explain
from ppm.cli.init import init
from ppm.cli.prior import prior
from ppm.cli.schema import schema
from ppm.cli.secret import secret
from ppm.cli.tune import tune
from ppm.errors import PpmError

# Commands import what they call when they are called: `ppm --help` loads no spec and no Spark.

FAILED = 1
"""Exit code where the user can mend something: a fault in a file, a folder that is not there."""
BROKEN = 70
"""Exit code where only ppm itself can be mended (EX_SOFTWARE of sysexits.h)."""

app = typer.Typer(
    name="ppm",
    help="Private patterns stay private, the rest of the stream stays exact.",
    epilog="Start with: ppm init door && ppm check door",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: it is read in pipes and editors as well, and boxes break copied examples.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command(epilog="Example: ppm init door")(init)
app.command(epilog="Example: ppm check door")(check)
app.command(epilog="Example: ppm explain policies/smart-door.yaml --community services")(explain)
app.command(epilog="Example: ppm tune policies/smart-door.yaml --consumer heating")(tune)
app.command(epilog="Example: ppm detect visitor --input rows.csv --subject flat --time ts")(detect)
app.command(epilog="Example: ppm audit policies/smart-door.yaml --community services")(audit)
app.command(
    epilog="Example: ppm prior survey.csv --policy smart-door --name makers --source 'a survey'"
)(prior)
app.command(epilog="Example: ppm schema --out schemas")(schema)
app.add_typer(secret)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        print(f"ppm {version('ppm')}")
        raise typer.Exit


@app.callback()
def _ppm(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a letter shows ? in its place, rather than nothing at all.
            stream.reconfigure(errors="replace")
    try:
        _run(arguments)
    except BrokenPipeError:
        # The reader has gone, as in `ppm schema | head`; what is still buffered has no reader too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)


def _run(arguments: Sequence[str] | None) -> None:
    try:
        app(arguments)
    except PpmError as error:
        if error.__cause__ is not None and os.environ.get("PPM_DEBUG") == "1":
            traceback.print_exc()
        print(error, file=sys.stderr)
        sys.exit(FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.strerror is None:
            raise
        print(f"{error.filename or 'a file'}: {error.strerror}", file=sys.stderr)
        sys.exit(FAILED)
    except Exception as error:
        if os.environ.get("PPM_DEBUG") == "1":
            traceback.print_exc()
        print(_sentence(error), file=sys.stderr)
        sys.exit(BROKEN)
    finally:
        # Here and not at the interpreter's end, where a broken pipe could not be caught any more.
        sys.stdout.flush()


def _sentence(error: Exception) -> str:
    """What is said of an error that nobody foresaw: its kind and place, never its values."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return (
        f"ppm itself failed ({type(error).__name__} in {where}): please report it, with what the "
        "same command prints under PPM_DEBUG=1."
    )
