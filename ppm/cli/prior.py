"""`ppm prior`: how often event types came together, counted in public or consented history."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ppm.cli.detect import FileFormat, in_words_of_the_command


def prior(
    source: Annotated[
        Path, typer.Argument(metavar="PATH", help="A file of rows, or a folder of files.")
    ],
    policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY", help="The policy it is for: a file in policies/, or its name."
        ),
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="What policies will call it.")],
    said: Annotated[
        str,
        typer.Option(
            "--source", metavar="TEXT", help="Where the rows come from, and why they may be used."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write it here, as in priors/NAME.yaml; must not exist yet."
        ),
    ] = None,
    types: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Count these event types.",
            show_default="those of private patterns and queries",
        ),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Whose row it is.", show_default="as in the policy's stream"
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="When it happened.", show_default="as in the policy's stream"
        ),
    ] = None,
    form: Annotated[
        FileFormat | None,
        typer.Option("--format", help="What the files hold.", show_default="by suffix"),
    ] = None,
) -> None:
    """Count which event types come together, as a prior for a policy.

    Reads parquet, JSON lines or CSV with a header, and counts in how many slots each set of the
    policy's event types occurred. Of each subject all slots count, from that of its first row to
    that of its last. Rows from where the policy's stream starts are refused: a prior that is learnt
    from what is protected tells of it.

    The result is a small YAML file. It publishes what it counts: use history that is public, or
    whose people consented.
    """
    from ppm.cli.detect_options import Faults
    from ppm.cli.files import write_files
    from ppm.cli.output import console
    from ppm.cli.policies import read_plan
    from ppm.cli.prior_file import chosen_types, counted_text, refuse_words, remark
    from ppm.cli.progress import bar
    from ppm.protect.check import check_types
    from ppm.protect.prior import known_types
    from ppm.spark.files import format_of, in_plain_words, read_files
    from ppm.spark.prior import count_together
    from ppm.spark.session import local_session

    plan, _ = read_plan(policy, faulty=1, check=check_types)
    given = {"subject": subject, "time": time}
    stream = plan.policy.stream.model_copy(
        update={role: column for role, column in given.items() if column}
    )
    faults = Faults()
    with faults.gathered():
        kind = form.value if form and source.exists() else format_of(source)
    with faults.gathered():
        refuse_words(name, said)
    with faults.gathered():
        chosen = chosen_types(known_types(plan), types, plan.policy.name)
    if out is not None and out.exists():
        faults.said.append(f"{out} exists already; name a file that does not, as --out")
    faults.refuse()
    with bar() as progress:
        progress.say("starting Spark")
        with in_words_of_the_command(), in_plain_words(source), local_session() as session:
            progress.say("reading")
            rows = read_files(session, source, kind, time=stream.time, stream=False)
            progress.say("counting")
            history = count_together(
                rows, chosen, stream, watch=progress.watch if progress.is_shown else None
            )
    text = counted_text(history, chosen, stream, name=name, source=said)
    if out is None:
        print(text, end="")
    else:
        write_files(out.parent, {out.name: text})
    remark(console(stderr=True), history)
