"""What protection costs: one community and four, 20,000 and a million subjects, and no work at all.

    .venv/bin/python benchmarks/protect.py [--quick] [--events N] [--only TABLE ...] [--markdown]

The stream has 5,000,000 events of a town over five hours, 30 % of them of three private types, in
ten micro-batches, and slots of one hour: so a slot closes in every second micro-batch, and with a
million subjects each of them has one event in a slot, which is where noise weighs most: every slot
draws three bits for every known subject, whether anything happened or not. With 20,000 subjects,
each has 50 events in a slot, and the rows weigh most.

- Spark: local[2], the settings that are printed, noop sink, checkpoints. The time of a stream is
  from start to end of its query. Figures are the quicker of two runs, after a run on few events.
  The start of a query takes a second or two, once; so the median micro-batch is told, too.
- `response` tells each type by itself, `joint-response` all three at once; declared subjects are
  read from a file when the stream starts, seen ones become known by their first public row.
- Noise comes from a seed (mode evaluation), so that runs can be compared; a secret is as fast.

It fails if a public row is missing or comes twice, if anything is counted as lost (but for private
rows from before their subject was seen, which are counted by other means), if the stand-ins of a
stream are not as many as those of a batch, if the first of four communities is not told what it is
told alone, if the state grows with the number of micro-batches, or if a slot does not come out in
the first micro-batch whose watermark has passed its end.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from engines import guarded
from engines import spark as engine
from engines.data import LATENESS_MS
from engines.draws import drawn_in_one_shard
from engines.pipeline import parts_of_stream
from engines.table import count
from engines.town import COMMUNITIES, POOLED, PRIVATE, SLOT_MS, Town, policies_in
from engines.ways import (
    FAMILY,
    FULL,
    QUICK,
    SEEN,
    WAYS,
    Bench,
    Protected,
    four,
    one_declared,
    one_seen,
)
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

GROWTH = 1.1
"""How much larger the state may be at the end than it was once the first slot had closed."""


def main() -> None:
    options = _options()
    logging.getLogger("ppm").setLevel(logging.ERROR)  # that a seed hides nothing is known here
    print(f"Load before the start: {os.getloadavg()[0]:.2f}, where below 0.3 is quiet. Spark has")
    print("\n".join(f"  {name}={value}" for name, value in engine.SETTINGS.items()), end="\n\n")
    sizes = QUICK if options.quick else FULL
    sizes = sizes if options.events is None else sizes.with_events(options.events)
    with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as project:
        policies = policies_in(Path(project))
        runs = 1 if options.quick else 2
        bench = Bench(engine.start(), policies, options.cache, sizes, options.markdown, runs)
        if not options.quick:
            warm_up(bench)
        shown_tables = [name for name in TABLES if not (options.quick and name == "parts")]
        for name in options.only or shown_tables:
            TABLES[name](bench)
        bench.spark.stop()


def warm_up(bench: Bench) -> None:
    note("warming up")
    few = Town(100_000, 2_000, slots=2, batches=2)
    for stream in (False, True):
        guarded.run(bench.read(few, stream=stream))
        for protected, _ in WAYS.values():
            measured(bench, few, protected, stream=stream)


def measured(bench: Bench, town: Town, protected: Protected, *, stream: bool) -> guarded.Ran:
    rows = bench.read(town, stream=stream)
    if stream:
        return guarded.run(protected(bench, town, rows, guarded.METRICS))
    metrics = Observation()
    return guarded.run(protected(bench, town, rows, metrics), metrics=metrics)


def compare(bench: Bench) -> None:
    """Streams of all towns, and the first town as a batch."""
    first = bench.sizes.towns[0]
    same_for_the_first(bench, first)
    whole = compare_one(bench, first, stream=False)
    for town in bench.sizes.towns:
        found = compare_one(bench, town, stream=True)
        if town is first:
            for name in WAYS:
                same(f"stand-ins of {name}, stream", found[name].stand_ins, whole[name].stand_ins)


def compare_one(bench: Bench, town: Town, *, stream: bool) -> dict[str, guarded.Ran]:
    """One table: the limit and every way, as ratios in one run."""
    case = f"{town.subjects:,} subjects, {mode(stream)}"
    note(f"no work, {case}")
    limit = bench.best(lambda: guarded.run(bench.read(town, stream=stream)))
    found = {}
    for name, (protected, times) in WAYS.items():
        note(f"{name}, {case}")
        found[name] = bench.best(lambda way=protected: measured(bench, town, way, stream=stream))
        unknown = town.unknown(bench.spark, bench.cache) if name == SEEN else 0
        check(f"{name}, {case}", found[name], limit, times, lost=unknown)
    first = found["one community"]
    same(f"the first of four, {case}", found["four communities"].first, first.stand_ins)
    rows = [row_of("no work (the limit)", town, limit, limit, None)]
    rows += [row_of(name, town, ran, limit, first) for name, ran in found.items()]
    header = ["way", "s", "events/s", "of the limit", "s a micro-batch", "of the limit"]
    header += ["time to one", "stand-ins", "rows out", "CPU s", "workers MB"]
    bench.show(f"{case}, {town.events:,} events", header, rows)
    return found


def row_of(
    name: str, town: Town, ran: guarded.Ran, limit: guarded.Ran, one: guarded.Ran | None
) -> list[str]:
    return [
        name,
        f"{ran.seconds:.1f}",
        count(town.rows / ran.seconds),
        f"{limit.seconds / ran.seconds:.2f}",
        f"{ran.usual:.2f}" if ran.batches else "",
        f"{limit.usual / ran.usual:.2f}" if ran.batches else "",
        "" if one is None else f"{ran.seconds / one.seconds:.2f}",
        "" if one is None else count(ran.stand_ins),
        count(ran.rows),
        f"{ran.cpu_seconds:.1f}",
        "" if one is None else count(ran.megabytes),
    ]


def check(case: str, ran: guarded.Ran, limit: guarded.Ran, times: int, *, lost: int = 0) -> None:
    same(f"public rows of {case}", ran.public, times * limit.public)
    same(f"what ppm counts as stand-ins of {case}", ran.metrics["stand_ins"], ran.stand_ins)
    same(f"lost rows of {case}", ran.lost, lost)


def compare_batches(bench: Bench) -> None:
    """One community, in fewer and larger micro-batches: each costs some time, however many rows."""
    rows, first = [], bench.sizes.towns[0]
    for batches in bench.sizes.batches:
        town = replace(first, batches=batches)
        note(f"{batches} micro-batches")
        limit = bench.best(lambda town=town: guarded.run(bench.read(town, stream=True)))
        ran = bench.best(lambda town=town: measured(bench, town, one_declared, stream=True))
        check(f"one community, {batches} micro-batches", ran, limit, 1)
        rows.append(
            [
                count(town.events // batches),
                f"{limit.seconds:.1f}",
                f"{ran.seconds:.1f}",
                count(town.rows / ran.seconds),
                f"{limit.seconds / ran.seconds:.2f}",
                f"{limit.usual:.2f}",
                f"{ran.usual:.2f}",
                f"{limit.usual / ran.usual:.2f}",
            ]
        )
    title = f"Size of micro-batches, {first.subjects:,} subjects, {first.events:,} events, stream"
    header = ["events in a micro-batch", "no work, s", "one community, s", "events/s"]
    header += ["of the limit", "no work, s a micro-batch", "one community", "of the limit"]
    bench.show(title, header, rows)


def same_for_the_first(bench: Bench, town: Town) -> None:
    """Row by row: the first of four communities is told what it is told alone."""
    note("are the rows of the first community the same, alone and beside others?")
    rows = bench.read(town, stream=False)
    few = rows.where(f"subject % {max(1, town.subjects // 1000)} = 0")
    alone = one_declared(bench, town, few, "alone")
    beside = four(bench, town, few, "beside").where(F.col("community") == FAMILY)
    differences = [
        one.exceptAll(other).count()
        for one, other in ((alone, beside.drop("community")), (beside.drop("community"), alone))
    ]
    same("rows of the first community that differ", sum(differences), 0)


def weigh_state(bench: Bench) -> None:
    """The state after each micro-batch: bounded by subjects and open slots, not by time."""
    columns: list[list[str]] = []
    for town in bench.sizes.towns:
        for name, protected in (("declared", one_declared), ("seen", one_seen)):
            note(f"state, {town.subjects:,} subjects, {name}")
            sizes = state_of_stream(bench, town, protected)
            last = max(size.whole for size in sizes[-3:])
            first = max(size.whole for size in sizes[: 2 + town.batches // town.slots])
            if name == "declared" and last > GROWTH * first:
                fail(f"the state grows from {first:,} to {last:,} bytes")
            columns.append(
                [f"{town.subjects:,} {name}"]
                + [f"{size.whole / 1e6:.2f}" for size in sizes]
                + [f"{sizes[-1].largest / 1e6:.3f}", f"{last / town.subjects:.1f}"]
            )
    names = ["after micro-batch", *(str(number) for number in range(len(columns[0]) - 3))]
    rows = zip([*names, "largest shard", "bytes a subject"], *columns, strict=True)
    header, *body = map(list, rows)
    bench.show("State of all shards, MB", header, body)


def state_of_stream(bench: Bench, town: Town, protected: Protected) -> list[guarded.StateSize]:
    with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as folder:
        checkpoint = Path(folder)
        rows = protected(bench, town, bench.read(town, stream=True), guarded.METRICS)
        batches = len(guarded.streamed(rows, checkpoint).batches)
        return [*guarded.state_sizes(bench.spark, checkpoint, batches)]


def time_draws(bench: Bench) -> None:
    """Nanoseconds a draw inside the step, by part."""
    policies = bench.policies
    cases = {
        "one": (policies.one_by_one, COMMUNITIES[:1]),
        "four": (policies.one_by_one, COMMUNITIES),
        "joint": (policies.pooled, (POOLED,)),
    }
    for town in bench.sizes.towns:
        found = {}
        for name, (guard, communities) in cases.items():
            note(f"draws, {town.subjects:,} subjects, {name}")
            runs = [drawn_in_one_shard(guard, communities, town, bench.cache) for _ in range(2)]
            found[name] = min(runs, key=lambda one: one.cpu_seconds)
        rows = [
            [part]
            + [f"{one.spent[part].cpu_seconds / one.draws * 1e9:.1f}" for one in found.values()]
            for part in next(iter(found.values())).spent
        ]
        whole = [f"{one.cpu_seconds / one.draws * 1e9:.1f}" for one in found.values()]
        rows.append(["all", *whole])
        rows.append(["draws", *(count(one.draws) for one in found.values())])
        rows.append(["CPU s", *(f"{one.cpu_seconds:.3f}" for one in found.values())])
        title = f"CPU ns a draw, {town.subjects:,} subjects, one shard of 16, one thread"
        bench.show(title, ["part", *found], rows)


def explain(bench: Bench) -> None:
    """Where the time of a stream goes: longer and longer parts of it, each run to its end."""
    for town in bench.sizes.towns:
        note(f"parts, {town.subjects:,} subjects")
        rows = bench.read(town, stream=True)
        spent = parts_of_stream(partial(_one_declared_in, bench, town), rows)
        whole = sum(one.cpu_seconds for one in spent.values())
        table = [
            [name, f"{one.seconds:.2f}", f"{one.cpu_seconds:.2f}", f"{one.cpu_seconds / whole:.0%}"]
            for name, one in spent.items()
        ]
        title = f"Where the time goes, {town.subjects:,} subjects, one community, stream"
        bench.show(title, ["part", "s", "CPU s", "share of CPU"], table)


def _one_declared_in(bench: Bench, town: Town, rows: DataFrame) -> DataFrame:
    return one_declared(bench, town, rows, guarded.METRICS)


def time_latency(bench: Bench) -> None:
    """How long after its start a slot is told of: slot, lateness, and until the next trigger."""
    town = bench.sizes.latency
    note(f"latency, {town.batches} small micro-batches")
    rows = one_declared(bench, town, bench.read(town, stream=True), "latency")
    slot, batch = timedelta(milliseconds=SLOT_MS), timedelta(milliseconds=town.batch_ms)
    lateness = timedelta(milliseconds=LATENESS_MS)
    # The batch that reads past an end and its lateness moves the watermark of the next one.
    least, most = lateness, lateness + 2 * batch
    table, told = [], guarded.slots_told(rows, PRIVATE)
    same("slots that were told of", len(told), town.slots)
    for one in told:
        end = one.slot_start + slot
        # Spark's watermark is of the batches before, and time has passed a slot one ms later.
        if not (one.watermark_before is None or one.watermark_before < end <= one.watermark):
            fail(f"the slot of {one.slot_start} came out in micro-batch {one.batch}")
        delay = one.newest - end
        if not least <= delay <= most:
            fail(f"the slot of {one.slot_start} was told {delay} after its end")
        table.append(
            [f"{one.slot_start:%H:%M}", f"{end:%H:%M}", count(one.rows), str(one.batch)]
            + [f"{moment:%H:%M:%S}" for moment in (one.watermark_before, one.watermark, one.newest)]
            + [f"{delay.total_seconds():.0f} s"]
        )
    title = (
        f"Slots of 1 h, lateness {lateness.seconds} s, micro-batches of {batch.seconds} s: "
        f"told {least.seconds} to {most.seconds} s after their end"
    )
    header = ["slot", "ends", "stand-ins", "told in batch", "watermark before", "watermark"]
    bench.show(title, [*header, "newest event", "after its end"], table)


TABLES = {
    "main": compare,
    "batches": compare_batches,
    "state": weigh_state,
    "draws": time_draws,
    "latency": time_latency,
    "parts": explain,
}


def same(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        fail(f"{what}: {found:,}, and not {wanted:,}")


def fail(said: str) -> None:
    raise SystemExit(f"{said}: figures mean nothing")


def mode(stream: bool) -> str:
    return "stream" if stream else "batch"


def note(said: str) -> None:
    print(said, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few events, one run, no parts")
    parser.add_argument("--only", nargs="+", choices=TABLES, help="some of the tables")
    parser.add_argument("--events", type=int, help="so many events in each town")
    parser.add_argument("--markdown", action="store_true", help="tables as markdown")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "ppm-benchmarks", help="a folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
