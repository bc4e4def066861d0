"""Nanoseconds a released value, random words included, against other ways to draw noise.

Run: python benchmarks/noise.py [VALUES]. Figures are of one thread, the best of several runs.
Ours are keyed words from AES (gather the subject's block, encrypt, look up), so that a replay gives
the same noise. diffprivlib, OpenDP and numpy draw fresh noise; numpy's is not secure at all.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from ppm.dp.mechanism import Mechanism, Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.geo import GeoNoise, as_one_number
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.purpose import Purpose
from ppm.dp.source import Seed, Stream, Tags

SUBJECTS = 20_000
SCALAR = 3_000
"""How many values a scalar call is timed on."""


def main(values: int) -> None:
    random = np.random.default_rng(1)
    source = Seed(1).open()
    tags = source.tags(range(SUBJECTS))
    rows = random.integers(0, SUBJECTS, values)
    slots = random.integers(0, 96, values)
    oracle = diffprivlib_calls()
    print(f"{values:,} values of {SUBJECTS:,} subjects; nanoseconds a value\n")
    print(
        f"{'mechanism':26} {'words':>7} {'release':>8} {'both':>7} {'diffprivlib':>12} {'ratio':>7}"
    )
    for name, mechanism, truth in mechanisms(random, values):
        draw = drawing(source.stream(Purpose("benchmark", 1, name, ())), mechanism, truth)
        words = draw(tags, rows, slots)
        drawn = best(partial(draw, tags, rows, slots), values)
        released = best(partial(mechanism.release, truth, words), values)
        both = drawn + released
        line = f"{name:26} {drawn:7.1f} {released:8.1f} {both:7.1f}"
        if name in oracle:
            theirs = best(partial(repeat, oracle[name], SCALAR), SCALAR)
            line += f" {theirs:12,.0f} {theirs / both:6,.0f}x"
        print(line)
    names = [f"subject {number}" for number in range(SUBJECTS)]
    hashed = best(partial(source.tags, names), SUBJECTS)
    print(f"\nhash of a subject, once for all its values: {hashed:,.0f}\n")
    plain = best(lambda: random.laplace(0.0, 1.0, values), values)
    print(f"{'numpy laplace (not secure)':26} {'':7} {'':8} {plain:7.1f}")
    print(f"{'OpenDP laplace, vector':26} {'':7} {'':8} {opendp(min(values, 200_000))}")


def drawing(stream: Stream, mechanism: Mechanism, truth: Values) -> Callable[..., Words]:
    """How a mechanism gets its words: the true value is part of the block."""
    key = as_one_number(truth) if truth.ndim == 2 else truth

    def draw(tags: Tags, rows: Values, slots: Values) -> Words:
        return stream.words(tags, slots, key, count=mechanism.words, rows=rows)

    return draw


def repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def mechanisms(random: np.random.Generator, values: int) -> list[tuple[str, Mechanism, Values]]:
    """Each mechanism with true values to release."""
    return [
        ("binary response", BinaryResponse(1.0), random.integers(0, 2, values)),
        ("k-ary response, 10", KaryResponse(1.0, 10), random.integers(0, 10, values)),
        ("joint response, 5 bits", JointResponse(1.0, 5), random.integers(0, 32, values)),
        ("decoy decision", DecoyDecision(1.0), random.integers(0, 2, values)),
        (
            "discrete laplace, 1025",
            DiscreteLaplace.spanning(1.0, 1025),
            random.integers(0, 1025, values),
        ),
        (
            "discrete laplace, count",
            DiscreteLaplace(1.0, 10_000),
            random.integers(0, 10_000, values),
        ),
        (
            "geo, 800 x 800 of 25 m",
            GeoNoise(0.00693, 25.0, columns=800, rows=800),
            random.integers(0, 800, (values, 2)),
        ),
    ]


def best(call: Callable[[], object], values: int, *, runs: int = 5) -> float:
    """The fastest of several runs, in nanoseconds a value."""
    times = []
    for _ in range(runs):
        start = time.thread_time()  # a clock would measure what else the machine does
        call()
        times.append(time.thread_time() - start)
    return min(times) / values * 1e9


def diffprivlib_calls() -> dict[str, Callable[[], object]]:
    """One scalar call of diffprivlib for each mechanism that it has."""
    try:
        from diffprivlib import mechanisms as theirs
    except ImportError:
        print("diffprivlib: not installed\n")
        return {}
    binary = theirs.Binary(epsilon=1.0, value0="0", value1="1")
    utility = [1.0] + [0.0] * 9
    choice = theirs.Exponential(epsilon=1.0, sensitivity=1.0, utility=utility, monotonic=True)
    vector = theirs.Exponential(
        epsilon=1.0, sensitivity=1.0, utility=[1.0] + [0.0] * 31, monotonic=True
    )
    number = theirs.GeometricTruncated(epsilon=1.0, sensitivity=1024, lower=0, upper=1024)
    count = theirs.GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=9_999)
    planar = theirs.Laplace(epsilon=0.00693 / 2**0.5, sensitivity=1.0)
    return {
        "binary response": lambda: binary.randomise("1"),
        "k-ary response, 10": choice.randomise,
        "joint response, 5 bits": vector.randomise,
        "discrete laplace, 1025": lambda: number.randomise(500),
        "discrete laplace, count": lambda: count.randomise(500),
        "geo, 800 x 800 of 25 m": lambda: (planar.randomise(0.0), planar.randomise(0.0)),
    }


def opendp(values: int) -> str:
    """OpenDP's discrete Laplace on a vector, if it is installed."""
    try:
        import opendp.prelude as dp  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return "not installed"
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    noise = dp.m.make_laplace(*space, scale=1.0)
    truth = [500] * values
    return f"{best(lambda: noise(truth), values, runs=2):7.1f}"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
