"""How fast A -> B -> C within 10 min is found per key: ppm, Flink CEP, by hand, and no work at all.

    .venv/bin/python benchmarks/detect.py [--quick] [--only TABLE ...] [--markdown] [--cache FOLDER]

All engines read the same events and must find the same matches, or the run fails. Then: is ppm's
cost flat in the number of keys, how does it grow with the window and with the number of patterns,
and where does its time go (parts are differences of two runs, so small ones are noise). Needs two
quiet cores, Java 17 with javac, and 330 MB from PyPI the first time. Events, jars and classes stay
in the cache folder, which may be deleted.

- Spark: local[2], the settings that are printed, noop sink. A stream reads parquet files in
  ten micro-batches and has a checkpoint; its time counts from start to end of the query.
- Flink: two slots, object reuse, heap state, no checkpoints, events from arrays in memory, a sink
  that discards; the time is the job's alone. Filtered means that irrelevant events are left out
  before the exchange, which ppm does by itself.
- By hand: `applyInPandasWithState` on a part of the keys, because all would take too long. It has
  the same calls per event as with all keys.

Spark's figures are the quicker of two runs, after a run on few events; Flink reads a fifth of the
events before its clock starts. By hand there is one run, after one on few keys.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from engines import breakdown, flink
from engines import spark as engine
from engines.by_hand import detect_by_hand
from engines.by_ppm import detect_with_ppm
from engines.data import LABELS, Events
from engines.table import count, ratio, shown
from pyspark.sql import DataFrame, SparkSession

ABC = ["ABC"]


@dataclass(frozen=True)
class Sizes:
    """How much is read; `by_hand` is the number of keys that are read by hand."""

    main: Events
    by_hand: int
    keys: tuple[int, ...]
    windows: tuple[int, ...]
    windowed: int
    patterns: tuple[int, ...]
    many: Events


FULL = Sizes(
    main=Events(5_000_000),
    by_hand=1_000,
    keys=(1_000, 10_000, 100_000, 1_000_000),
    windows=(10, 100, 1_000),
    windowed=2_000_000,
    patterns=(1, 5, 20, 50),
    many=Events(1_000_000, labels=64),
)
QUICK = Sizes(
    main=Events(500_000, batches=3),
    by_hand=1_000,
    keys=(1_000, 100_000),
    windows=(10, 1_000),
    windowed=200_000,
    patterns=(1, 20),
    many=Events(200_000, labels=64, batches=3),
)
FEWEST_FOR_FLINK = 100_000
"""Fewer events would measure how long a job takes to start."""
SWEEP = ["batch events/s", "stream events/s", "Flink events/s", "batch to Flink"]
SWEEP += ["stream to Flink", "matches", "batch MB", "stream MB"]


@dataclass(frozen=True)
class Bench:
    """What every measurement needs."""

    spark: SparkSession
    flink: flink.Flink
    cache: Path
    sizes: Sizes
    markdown: bool

    def read(self, events: Events, *, stream: bool) -> DataFrame:
        return engine.read(self.spark, events.folder(self.cache), stream=stream)

    def ppm(self, events: Events, patterns: list[str], *, stream: bool) -> engine.Run:
        found = detect_with_ppm(self.read(events, stream=stream), patterns)
        return self.best(found, sample=self.sizes.by_hand)

    def best(self, frame: DataFrame, *, sample: int | None = None) -> engine.Run:
        """The quicker of two runs: the first one on so much data still warms up."""
        runs = [engine.run(frame, sample=sample) for _ in range(2)]
        return min(runs, key=lambda one: one.seconds)

    def cep(
        self,
        events: Events,
        patterns: list[str],
        *,
        first: int | None = None,
        filters: bool = False,
    ) -> flink.Done:
        """Flink on all events, or on the first ones."""
        binary = events.folder(self.cache) / "binary"
        number = events.number if first is None else first
        return self.flink.detect(binary, patterns, events=number, filters=filters)

    def show(self, title: str, header: list[str], rows: list[list[str]]) -> None:
        print(shown(title, header, rows, self.markdown), flush=True)


def main() -> None:
    options = _options()
    print(f"Load before the start: {os.getloadavg()[0]:.2f}, where below 0.3 is quiet. Spark has")
    print("\n".join(f"  {name}={value}" for name, value in engine.SETTINGS.items()), end="\n\n")
    sizes = QUICK if options.quick else FULL
    job = flink.prepare(options.cache)
    bench = Bench(engine.start(), job, options.cache, sizes, options.markdown)
    warm_up(bench)
    for name in options.only or TABLES:
        TABLES[name](bench)
    bench.spark.stop()


def warm_up(bench: Bench) -> None:
    note("warming up")
    few = Events(100_000, batches=2)
    for stream in (False, True):
        engine.run(bench.read(few, stream=stream))
        bench.ppm(few, ABC, stream=stream)
    engine.run(detect_by_hand(of_few_keys(bench.read(few, stream=True), few, 20)))


@dataclass(frozen=True)
class Way:
    """One row of the main table."""

    name: str
    events: float
    seconds: float
    matches: int | None = None
    megabytes: float | None = None

    @property
    def speed(self) -> float:
        return self.events / self.seconds


def compare(bench: Bench) -> None:
    """The main table."""
    events = bench.sizes.main
    ways, found = [], []
    for stream in (False, True):
        note(f"main case, {mode(stream)}")
        limit = bench.best(bench.read(events, stream=stream))
        ways.append(Way(f"no work, {mode(stream)} (the limit)", events.number, limit.seconds))
        found.append(bench.ppm(events, ABC, stream=stream))
        ways.append(way_of(f"ppm, {mode(stream)}", events.number, found[-1]))
    batch, stream = found
    same("stream", stream.rows, batch.rows)
    by_hand = compare_by_hand(bench, wanted=batch.sampled)
    flinks = compare_flink(bench, wanted=batch.rows)
    bases = [by_hand, *flinks]
    rows = [
        [way.name, count(way.events), f"{way.seconds:.1f}", count(way.speed)]
        + [ratio(way.speed, base.speed) for base in bases]
        + [count(way.matches), count(way.megabytes)]
        for way in (*ways, *bases)
    ]
    ratios = ["to by hand", "to Flink", "to filtered"]
    header = ["way", "events", "s", "events/s", *ratios, "matches", "workers MB"]
    bench.show(f"A -> B -> C within 10 min, {events.keys:,} keys", header, rows)


def compare_by_hand(bench: Bench, *, wanted: int) -> Way:
    events, few = bench.sizes.main, bench.sizes.by_hand
    note("main case, by hand")
    found = engine.run(detect_by_hand(of_few_keys(bench.read(events, stream=True), events, few)))
    same("by hand, on its keys,", found.rows, wanted)
    return way_of(f"by hand, stream, {few:,} keys", events.number * few / events.keys, found)


def compare_flink(bench: Bench, *, wanted: int) -> list[Way]:
    events, ways = bench.sizes.main, []
    for name, filters in (("Flink CEP", False), ("Flink CEP, filtered", True)):
        note(f"main case, {name}")
        job = bench.cep(events, ABC, filters=filters)
        same(name, job.matches, wanted)
        ways.append(Way(name, events.number, job.seconds, job.matches))
        note(f"its whole process, with start, loading and warm-up: {job.process_seconds:.0f} s")
    return ways


def way_of(name: str, events: float, found: engine.Run) -> Way:
    return Way(name, events, found.seconds, found.rows, found.megabytes)


def sweep_keys(bench: Bench) -> None:
    rows = []
    for keys in bench.sizes.keys:
        note(f"{keys:,} keys")
        events = Events(bench.sizes.main.number, keys=keys, batches=bench.sizes.main.batches)
        batch, stream = (bench.ppm(events, ABC, stream=one) for one in (False, True))
        same("stream", stream.rows, batch.rows)
        speeds = [count(events.number / one.seconds) for one in (batch, stream)]
        rows.append([count(keys), *speeds, count(batch.rows), *memory(batch, stream)])
    header = ["keys", "batch events/s", "stream events/s", "matches", "batch MB", "stream MB"]
    bench.show(f"Keys, {bench.sizes.main.number:,} events", header, rows)


def sweep_windows(bench: Bench) -> None:
    rows = []
    for window in bench.sizes.windows:
        note(f"window of {window:,} events")
        batches = bench.sizes.main.batches
        events = Events(bench.sizes.windowed, keys=1_000, window=window, batches=batches)
        batch, stream = (bench.ppm(events, ABC, stream=one) for one in (False, True))
        job = bench.cep(events, ABC)
        same("Flink", job.matches, stream.rows)
        same("batch", batch.rows, stream.rows)
        rows.append(against_flink(window, events, batch, stream, events.number / job.seconds))
    title = f"Events of a key in the window, {bench.sizes.windowed:,} events, 1,000 keys"
    bench.show(title, ["window", *SWEEP], rows)


def sweep_patterns(bench: Bench) -> None:
    """Flink reads fewer events the more patterns there are; ppm is checked on those, too."""
    events, rows = bench.sizes.many, []
    for number in bench.sizes.patterns:
        note(f"{number} patterns")
        patterns = drawn_patterns(number)
        batch, stream = (bench.ppm(events, patterns, stream=one) for one in (False, True))
        same("batch", batch.rows, stream.rows)
        part = max(events.number // number, min(events.number, FEWEST_FOR_FLINK))
        job = bench.cep(events, patterns, first=part)
        first = bench.read(events, stream=False).where(f"id < {part}")
        same("Flink", job.matches, engine.run(detect_with_ppm(first, patterns)).rows)
        rows.append(against_flink(number, events, batch, stream, part / job.seconds))
    title = f"Patterns at once, 64 labels, {events.number:,} events (Flink: divided by patterns)"
    bench.show(title, ["patterns", *SWEEP], rows)


def against_flink(
    case: int, events: Events, batch: engine.Run, stream: engine.Run, flink_speed: float
) -> list[str]:
    speeds = [events.number / one.seconds for one in (batch, stream)]
    ratios = [ratio(speed, flink_speed) for speed in speeds]
    figures = [*map(count, [*speeds, flink_speed]), *ratios, count(stream.rows)]
    return [count(case), *figures, *memory(batch, stream)]


def explain(bench: Bench) -> None:
    """Where ppm's time goes, and what the largest part is."""
    events = bench.sizes.main
    folder, largest = events.folder(bench.cache), {}
    for stream in (False, True):
        note(f"breakdown, {mode(stream)}")
        spent = breakdown.parts(bench.spark, folder, ABC, stream=stream)
        largest[mode(stream)] = show_shares(bench, f"Where the time goes, {mode(stream)}", spent)
    inside = breakdown.inside_step(bench.spark, folder, ABC, batches=events.batches)
    title = "Inside the step of a stream, one shard of all, one thread"
    largest["step"] = show_shares(bench, title, inside)
    said = "; ".join(f"{where}: {what}" for where, what in largest.items())
    print(f"The bottleneck, as measured here: {said}.")


def show_shares(bench: Bench, title: str, spent: dict[str, breakdown.Spent]) -> str:
    """Shares are of the time of all cores, which other programs disturb least."""
    whole = sum(one.cpu_seconds for one in spent.values())
    rows = [
        [name, f"{one.seconds:.2f}", f"{one.cpu_seconds:.2f}", f"{one.cpu_seconds / whole:.0%}"]
        for name, one in spent.items()
    ]
    bench.show(title, ["part", "s", "CPU s", "share of CPU"], rows)
    name = max(spent, key=lambda part: spent[part].cpu_seconds)
    return f"{name} ({spent[name].cpu_seconds / whole:.0%})"


TABLES = {
    "main": compare,
    "keys": sweep_keys,
    "windows": sweep_windows,
    "patterns": sweep_patterns,
    "parts": explain,
}


def drawn_patterns(number: int) -> list[str]:
    """Three different labels each; the first patterns are the same whatever the number."""
    random = np.random.default_rng(11)
    return ["".join(random.choice(list(LABELS), 3, replace=False)) for _ in range(number)]


def of_few_keys(rows: DataFrame, events: Events, few: int) -> DataFrame:
    """The rows of the first keys, and the last row of all, which lets time pass."""
    return rows.where(f"subject < {few} OR subject = {events.keys}")


def memory(*runs: engine.Run) -> list[str]:
    return [count(one.megabytes) for one in runs]


def same(what: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise SystemExit(f"{what} finds {found} matches, and ppm {wanted}: figures mean nothing")


def mode(stream: bool) -> str:
    return "stream" if stream else "batch"


def note(said: str) -> None:
    print(said, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few events and few cases")
    parser.add_argument("--only", nargs="+", choices=TABLES, help="some of the tables")
    parser.add_argument("--markdown", action="store_true", help="tables as markdown")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "ppm-benchmarks", help="a folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
