"""What `ppm prior` was asked for, and the file that it writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta

from rich.console import Console

from ppm.cli.output import say
from ppm.errors import PpmError, counted, did_you_mean
from ppm.spark.prior import History
from ppm.spec.document import MAX_BYTES
from ppm.spec.load import declare
from ppm.spec.pattern import EventType
from ppm.spec.prior import MOST_SETS, Prior
from ppm.spec.schema import EXAMPLES
from ppm.spec.stream import Stream
from ppm.spec.write import to_yaml

MOST_TYPES = 12
"""Each type may double the number of sets, and each set tells of fewer people."""
COMMENT = """\
# Counted by ppm prior: of each subject all slots, from that of its first row to that of its last.
"""


def chosen_types(
    known: Mapping[str, EventType], written: str | None, policy: str
) -> dict[str, EventType]:
    """The types to count: those of the policy, or some of them."""
    if not known:
        raise PpmError(
            f"{policy} has no private pattern and no query, so there is nothing to count"
        )
    names = sorted(known) if written is None else [one.strip() for one in written.split(",")]
    faults = [
        f"--types has {name}, no type of a private pattern or a query of {policy}"
        + did_you_mean(name, sorted(known))
        for name in names
        if name not in known
    ]
    if faults:
        raise PpmError("\n".join(faults))
    chosen = {name: known[name] for name in names}
    if len(chosen) > MOST_TYPES:
        asked = "--types has" if written else f"{policy} has"
        raise PpmError(
            f"{asked} {len(chosen)} types, and each may double the sets that are listed: choose "
            f"at most {MOST_TYPES} with --types, those of one query together; there are "
            f"{', '.join(sorted(known))}"
        )
    return chosen


def refuse_words(name: str, source: str) -> None:
    """A name or a source that no prior can have, before anything is counted."""
    try:
        declare(Prior, {**EXAMPLES["prior"], "name": name, "source": source})
    except PpmError as error:
        raise PpmError("\n".join(f"--{line}" for line in str(error).splitlines())) from None


def counted_text(
    history: History, types: Collection[str], stream: Stream, *, name: str, source: str
) -> str:
    """The file that declares what was counted."""
    if len(history.together) > MOST_SETS:
        raise _too_many(history)
    slot = timedelta(microseconds=stream.slot.microseconds)
    rows = sorted(history.together.items(), key=lambda row: (-row[1], sorted(row[0])))
    prior = declare(
        Prior,
        {
            "name": name,
            "source": source,
            "subjects": history.subjects,
            "from": stream.from_ + history.first * slot,
            "until": stream.from_ + (history.last + 1) * slot,
            "slot": stream.slot,
            "of": [*types],
            "together": [{"types": sorted(present), "slots": slots} for present, slots in rows],
        },
    )
    text = COMMENT + to_yaml(prior)
    if len(text.encode()) > MAX_BYTES:
        raise _too_many(history)
    return text


def remark(out: Console, history: History) -> None:
    """What was counted, and what it means to have it in a file."""
    of = f"{counted(history.slots, 'slot')} of {counted(history.subjects, 'subject')}"
    once = sum(slots == 1 for slots in history.together.values())
    say(out, f"{counted(len(history.together), 'set')} of types in {of}.", indent=0)
    if history.nulls:
        say(out, f"Left out: {counted(history.nulls, 'row')} without subject or time.", indent=0)
    if once:
        said = f"{counted(once, 'set')} occurred in one slot only, so with one subject."
        say(out, said, indent=0)
    said = "The file publishes this history: use data that is public, or whose people consented."
    say(out, said, indent=0)


def _too_many(history: History) -> PpmError:
    return PpmError(
        f"{counted(len(history.together), 'set')} of types occurred, too many for a prior (at most "
        f"{MOST_SETS}, in {MAX_BYTES // 1024} KiB); choose fewer types with --types"
    )
