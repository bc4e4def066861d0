"""What answers cost: a consumer's queries on the truth, with noise, beside looking without any.

    .venv/bin/python benchmarks/answers.py [--quick] [--markdown]

The town of `protect.py`: 5,000,000 events of 20,000 subjects over five hours, 30 % of them of three
private types, slots of one hour. The pattern clinic -> pharmacy -> shop within 2 h is protected by
answers; a consumer asks whether each subject was there in each slot (existence), how many there
were (count), or both. `ppm.detect` looks for the same pattern and hides nothing: it is the peer.

It fails if a stream and a batch give different numbers of answers, if anything is lost, or if the
truth that `ppm.detect` finds lies further than five standard errors from what the noisy answers are
estimated to say.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engines import spark as engine
from engines.data import LATENESS, START_MS
from engines.table import count, shown
from engines.town import PATTERN, SEED, SLOT_MS, STREAM, Town
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import ppm
from ppm.protect.step import LOSSES

FULL = Town(5_000_000, 20_000)
QUICK = Town(100_000, 2_000, slots=2, batches=2)
ASKED = {
    "existence": "  - {name: was-there, pattern: visit, ask: existence}\n",
    "count": "  - {name: how-many, pattern: visit, ask: count, cap: 3}\n",
}
CONSUMER = "name: {}\npolicy: asked\ncommunity: ward\nmodel: transparent\nqueries:\n{}"
WARD = "  ward:\n    protect: {visit: {mechanism: answers, epsilon: 6}}\n"


@dataclass(frozen=True)
class Bench:
    """What every measurement needs."""

    spark: SparkSession
    project: Path
    cache: Path
    town: Town

    def rows(self, *, stream: bool) -> DataFrame:
        return self.town.read(self.spark, self.cache, stream=stream)

    def found(self, rows: DataFrame) -> DataFrame:
        pattern = self.project / "patterns" / "visit.yaml"
        return ppm.detect(rows, pattern, subject="subject", time="ts", lateness=LATENESS)

    def answers(self, rows: DataFrame, policy: str, metrics: str | Observation) -> DataFrame:
        guard = ppm.load(self.project / f"policies/{policy}.yaml", mode="evaluation", seed=SEED)
        until = None if rows.isStreaming else self.town.end
        known = self.town.everybody(self.spark, self.cache)
        return guard.answer(rows, policy, subjects=known, until=until, metrics=metrics)


def main() -> None:
    options = _options()
    logging.getLogger("ppm").setLevel(logging.ERROR)  # that a seed hides nothing is known here
    with tempfile.TemporaryDirectory(prefix="ppm-benchmark-") as folder:
        project = Path(folder)
        asked = {**ASKED, "both": "".join(ASKED.values())}
        for name, queries in asked.items():
            own = CONSUMER.replace("policy: asked", f"policy: {name}")
            write(project / f"consumers/{name}.yaml", own.format(name, queries))
            write(project / f"policies/{name}.yaml", f"name: {name}\n{STREAM}{WARD}")
        write(project / "patterns/visit.yaml", PATTERN)
        town = QUICK if options.quick else FULL
        bench = Bench(engine.start(), project, options.cache, town)
        measure(Bench(bench.spark, project, options.cache, QUICK), list(asked))  # warms up
        rows = measure(bench, list(asked))
        check_estimates(bench)
        header = ["way", "s", "events/s", "to ppm.detect", "rows out", "CPU s", "workers MB"]
        title = f"Answers, {town.subjects:,} subjects, {town.events:,} events"
        print(shown(title, header, rows, options.markdown))
        bench.spark.stop()


def measure(bench: Bench, policies: list[str]) -> list[list[str]]:
    table, told = [], {}
    for stream in (False, True):
        mode = "stream" if stream else "batch"
        limit = best(lambda stream=stream: engine.run(bench.rows(stream=stream)))
        peer = best(lambda stream=stream: engine.run(bench.found(bench.rows(stream=stream))))
        ways = {"no work (the limit)": limit, "ppm.detect, no privacy": peer}
        for policy in policies:
            ways[f"answers, {policy}"] = best(
                lambda policy=policy, stream=stream: engine.run(
                    bench.answers(bench.rows(stream=stream), policy, "answers")
                )
            )
        for policy in policies:
            rows = ways[f"answers, {policy}"].rows
            if told.setdefault(policy, rows) != rows:
                raise SystemExit(f"{policy}: a stream gives other answers: figures mean nothing")
        table += [
            [
                f"{name}, {mode}",
                f"{ran.seconds:.1f}",
                count(bench.town.rows / ran.seconds),
                f"{peer.seconds / ran.seconds:.2f}",
                count(ran.rows),
                f"{ran.cpu_seconds:.1f}",
                count(ran.megabytes) if ran is not limit else "",
            ]
            for name, ran in ways.items()
        ]
    return table


def best(run: Callable[[], engine.Run]) -> engine.Run:
    """The quicker of two runs: the first one on so much data still warms up."""
    return min((run() for _ in range(2)), key=lambda one: one.seconds)


def check_estimates(bench: Bench) -> None:
    """The truth that detection finds, against what noisy answers are estimated to say."""
    lost = Observation()
    answers = bench.answers(bench.rows(stream=False), "both", lost)
    kept = bench.project / "answers"
    answers.write.parquet(str(kept))
    losses = {name: lost.get[name] for name in LOSSES if lost.get[name]}
    if losses:
        raise SystemExit(f"rows were lost, {losses}: figures mean nothing")
    slot = F.floor(F.unix_millis("at") / SLOT_MS)
    each = bench.found(bench.rows(stream=False)).groupBy("subject", slot.alias("slot")).count()
    inside = each.where(F.col("slot") < START_MS // SLOT_MS + bench.town.slots)
    truth = inside.agg(F.count("*"), F.sum(F.least("count", F.lit(3)))).first()
    written = bench.spark.read.parquet(str(kept))
    for query, happened in zip(("was-there", "how-many"), truth, strict=True):
        [row] = ppm.estimate_answers(written, query, by="all").collect()
        print(f"{query}: {happened:,} times; estimated {row.low:,.0f} to {row.high:,.0f}")
        if abs(row.estimate - happened) > 5 * row.standard_error:
            raise SystemExit(f"{query} is estimated too far off: figures mean nothing")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few events")
    parser.add_argument("--markdown", action="store_true", help="tables as markdown")
    parser.add_argument(
        "--cache", type=Path, default=Path.home() / ".cache" / "ppm-benchmarks", help="a folder"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
