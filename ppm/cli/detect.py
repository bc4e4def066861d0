"""`ppm detect`: where patterns occur in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

SHOWN = 20
"""How many matches a table shows."""
_WORDS = {
    "on_null='drop'": "--on-null drop",
    "event_id": "--event-id",
    "the DataFrame": "the input",
}


class OnNull(StrEnum):
    """What happens to rows without subject, time or id."""

    REFUSE = "refuse"
    DROP = "drop"


class FileFormat(StrEnum):
    """What a file holds."""

    PARQUET = "parquet"
    JSON = "json"
    CSV = "csv"


def detect(
    patterns: Annotated[
        list[str],
        typer.Argument(
            metavar="PATTERN", help="Files such as patterns/visitor.yaml, or names in patterns/."
        ),
    ],
    source: Annotated[
        Path, typer.Option("--input", metavar="PATH", help="A file of rows, or a folder of files.")
    ],
    form: Annotated[
        FileFormat | None,
        typer.Option("--format", help="What the files hold.", show_default="by suffix"),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read the folder as a stream, up to its last file.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take columns, lateness, time zone and zones from this policy."
        ),
    ] = None,
    subject: Annotated[str | None, typer.Option(metavar="COLUMN", help="Whose row it is.")] = None,
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="When it happened, as a timestamp.")
    ] = None,
    event_id: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What tells the rows of a subject apart.")
    ] = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="How much later than newer rows a row may come, as in '10 min'."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns that are told of each event.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A value of each match, as in 'peak=max(b.price)'.",
        ),
    ] = None,
    timed_out: Annotated[
        bool, typer.Option("--timed-out", help="Also tell partial matches whose time ran out.")
    ] = False,
    late: Annotated[
        bool, typer.Option("--late", help="Also tell rows that came too late.")
    ] = False,
    on_null: Annotated[
        OnNull | None,
        typer.Option(help="Rows without subject, time or id.", show_default="refuse"),
    ] = None,
    ignore_duplicates: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Drop a row if its id came less than this before it."),
    ] = None,
    shards: Annotated[
        int, typer.Option(min=1, max=32_767, help="Parts that subjects are spread over.")
    ] = 16,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Show at most so many matches.",
            show_default="20; all with --json",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Leave all matches here, as parquet; must not exist."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --stream: go on from here, and leave off here."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each match, for programs.")
    ] = False,
) -> None:
    """Find patterns in files of rows.

    Reads parquet, JSON lines or CSV with a header, starts Spark on this machine, and prints
    matches by time, how many there are of each pattern, and which rows were left out.
    """
    from tempfile import TemporaryDirectory

    from ppm.cli.detect_options import (
        Faults,
        read_binding,
        read_measures,
        read_patterns,
        refuse_duration,
        refuse_places,
    )
    from ppm.cli.detect_report import Found, show, show_losses
    from ppm.cli.output import console
    from ppm.cli.progress import bar
    from ppm.spark.detect import detect as find
    from ppm.spark.files import (
        as_json_lines,
        format_of,
        in_plain_words,
        metrics_of,
        read_files,
        write_matches,
    )
    from ppm.spark.session import local_session

    faults = Faults()
    with faults.gathered():
        specs = read_patterns(patterns)
    with faults.gathered():
        kind = form.value if form and source.exists() else format_of(source)
    with faults.gathered():
        binding = read_binding(
            policy,
            subject=subject,
            time=time,
            event_id=event_id,
            lateness=lateness,
            on_null=on_null.value if on_null else None,
            is_stream=stream,
        )
    with faults.gathered():
        measures = read_measures(measure or [])
    with faults.gathered():
        refuse_duration("--ignore-duplicates", ignore_duplicates)
    with faults.gathered():
        refuse_places(source=source, output=output, checkpoint=checkpoint, is_stream=stream)
    faults.refuse()
    with bar() as progress:
        progress.say("starting Spark")
        with (
            in_words_of_the_command(),
            in_plain_words(source),
            local_session() as session,
            TemporaryDirectory(prefix="ppm-") as scratch,
        ):
            progress.say("reading")
            rows = read_files(session, source, kind, time=binding.time, stream=stream)
            metrics = metrics_of(rows)
            found = find(
                rows,
                specs,
                subject=binding.subject,
                time=binding.time,
                event_id=binding.event_id,
                lateness=binding.lateness,
                columns=[name.strip() for name in columns.split(",")] if columns else [],
                measures=measures,
                timed_out=timed_out,
                late=late,
                on_null=binding.on_null,
                ignore_duplicates=ignore_duplicates,
                zones=binding.zones,
                timezone=binding.timezone,
                shards=shards,
                metrics=metrics,
            )
            progress.say("finding")
            written = write_matches(
                found,
                output or Path(scratch) / "matches",
                metrics=metrics,
                checkpoint=checkpoint or Path(scratch) / "checkpoint",
                watch=progress.watch if progress.is_shown else None,
            )
            most = SHOWN if limit is None and not json else limit
            lines = as_json_lines(written.matches, limit=most)
            told = Found(
                rows=[] if json else list(lines),
                counts=written.counts,
                patterns=[one.name for one in specs],
                losses=written.losses,
                timezone=binding.timezone,
                watermark=written.watermark,
                is_stream=stream,
            )
            progress.close()
            if json:
                for line in lines:
                    print(line)
                show_losses(console(stderr=True), told)
            else:
                show(console(), told)


@contextmanager
def in_words_of_the_command() -> Iterator[None]:
    """Errors that name an argument of Python name the option instead."""
    from ppm.errors import BindingError

    try:
        yield
    except BindingError as error:
        said = str(error)
        for argument, option in _WORDS.items():
            said = said.replace(argument, option)
        raise BindingError(said) from error.__cause__
