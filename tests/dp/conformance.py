"""What every mechanism must do. A new one joins by a line in `CASES`."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from ppm.dp.certificate import certify
from ppm.dp.epsilon import check_epsilon
from ppm.dp.exact import WORD, least_reading
from ppm.dp.mechanism import FiniteMechanism, Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.purpose import Purpose
from ppm.dp.source import Seed

Pairs = Iterable[tuple[int, int]]
Check = Callable[["Case"], None]


def tilted(epsilon: float) -> Channel:
    """Two true values and three outputs: one for each, and one that tells nothing."""
    odds = math.exp(check_epsilon(epsilon))
    a = 0.8 / (1 + odds)
    return Channel.rounded(epsilon, [[a * odds, a, 0.2], [a, a * odds, 0.2]])


@dataclass(frozen=True, slots=True)
class Case:
    """A mechanism at some epsilon, and which of its true values are neighbours."""

    build: Callable[[float], FiniteMechanism]
    epsilon: float
    pairs: Callable[[FiniteMechanism], Pairs]
    is_label: bool = False
    """Whether values are names, so that their estimate has one column for each of them."""

    @property
    def mechanism(self) -> FiniteMechanism:
        return self.build(self.epsilon)

    @property
    def values(self) -> list[int]:
        """Some true values: both ends and some in the middle."""
        last = self.mechanism.inputs - 1
        return sorted({0, 1, last // 3, last // 2, last})


def any_two(mechanism: FiniteMechanism) -> Pairs:
    return ((x, z) for x in range(mechanism.inputs) for z in range(mechanism.inputs) if x != z)


def next_cells(mechanism: FiniteMechanism) -> Pairs:
    steps = [(x, x + 1) for x in range(mechanism.inputs - 1)]
    return [*steps, *((z, x) for x, z in steps)]


def touched_first(_: FiniteMechanism) -> Pairs:
    return [(1, 0)]


CASES = {
    "binary": Case(BinaryResponse, 1.0, any_two),
    "k-ary, 3 values": Case(lambda e: KaryResponse(e, 3), 1.0, any_two, is_label=True),
    "k-ary, 7 values": Case(lambda e: KaryResponse(e, 7), 1.5, any_two, is_label=True),
    "joint, 3 bits": Case(lambda e: JointResponse(e, 3), 1.5, any_two, is_label=True),
    "channel": Case(tilted, 1.5, any_two, is_label=True),
    "decoy": Case(DecoyDecision, 1.0, touched_first),
    "laplace, 2 cells": Case(lambda e: DiscreteLaplace(e, 2), 1.0, next_cells),
    "laplace, 21 cells": Case(lambda e: DiscreteLaplace(e, 21), 0.25, next_cells),
    "laplace, 101 cells": Case(lambda e: DiscreteLaplace(e, 101), 0.1, next_cells),
    "laplace with a floor": Case(lambda e: DiscreteLaplace(e, 90), 1.0, next_cells),
}
"""Epsilons are large enough for 2 % of them to show in 10^6 draws."""


def draws(number: int, *, seed: int = 20261118, words: int = 1) -> Words:
    """Words of the real source, under a seed."""
    source = Seed(seed).open()
    stream = source.stream(Purpose("test", 1, "conformance", ("draws",)))
    return stream.words(
        source.tags(["marvin"]), np.arange(number), count=words, rows=np.zeros(number, np.intp)
    )


def repeated(value: int, number: int) -> Values:
    return np.full(number, value, np.int64)


def as_words(numbers: Iterable[int]) -> Words:
    return np.array([*numbers], np.uint64)[:, None]


def counts_add_to_all_words(case: Case) -> None:
    for value in range(case.mechanism.inputs):
        counts = case.mechanism.counts(value)
        assert len(counts) == case.mechanism.outputs
        assert min(counts) >= 0
        assert sum(counts) == WORD


def counts_are_those_of_the_released_words(case: Case) -> None:
    for value in case.values:
        assert words_of_outputs(case.mechanism, value) == case.mechanism.counts(value)


def words_of_outputs(mechanism: FiniteMechanism, value: int) -> list[int]:
    """How many words give each output, found by bisecting all borders between outputs."""
    # Fine enough to hit every stretch of words: those of a floor lie at the beginning, and tails
    # grow from there, and shrink to the end, by no more than one part in 16.
    floor = getattr(mechanism, "floor", 0) * mechanism.outputs
    tail = {i << j >> 4 for i in range(16, 32) for j in range(63)} - {0}
    marks = {i << 52 for i in range(1 << 12)} | {floor + i for i in tail} | {WORD - i for i in tail}
    low = sorted(marks | {i << 13 for i in range(floor >> 13)} | {floor - 1, floor} - {-1})
    told = [int(y) for y in mechanism.release(repeated(value, len(low)), as_words(low))]
    left = [i for i in range(len(low) - 1) if told[i] != told[i + 1]]
    ends = [[low[i], low[i + 1]] for i in left]
    while any(b - a > 1 for a, b in ends):
        middles = [(a + b) // 2 for a, b in ends]
        found = mechanism.release(repeated(value, len(ends)), as_words(middles))
        for end, i, middle, y in zip(ends, left, middles, found, strict=True):
            end[0 if int(y) == told[i] else 1] = middle
    counts = [0] * mechanism.outputs
    borders = [0, *(b for _, b in ends), WORD]
    for i, place in enumerate([*left, len(low) - 1]):
        counts[told[place]] += borders[i + 1] - borders[i]
    return counts


def certificate_is_the_largest_ratio_of_all(case: Case) -> None:
    mechanism = case.mechanism
    rows = [mechanism.counts(value) for value in range(mechanism.inputs)]
    worst = max(
        Fraction(rows[x][y], rows[z][y])
        for x, z in case.pairs(mechanism)
        for y in range(mechanism.outputs)
        if rows[x][y]
    )
    certificate = mechanism.certificate()
    assert certificate.ratio == worst
    assert certificate == certify(
        mechanism.epsilon,
        rows,
        neighbours=[certificate.worst[:2]] if certificate.worst else [],
        one_sided=certificate.one_sided,
    )


def certificate_holds_and_wastes_little(case: Case) -> None:
    certificate = case.mechanism.certificate()
    assert certificate.holds
    assert certificate.claim == case.epsilon
    assert Fraction(certificate.bound) <= least_reading(case.epsilon)
    assert float(certificate.bound) == pytest.approx(case.epsilon, rel=1e-5)


def moments_are_those_of_the_counts(case: Case) -> None:
    for value in case.values:
        law = [count / WORD for count in case.mechanism.counts(value)]
        mean = math.fsum(y * p for y, p in enumerate(law))
        variance = math.fsum((y - mean) ** 2 * p for y, p in enumerate(law))
        assert case.mechanism.bias(value) == pytest.approx(mean - value, abs=1e-9)
        assert case.mechanism.variance(value) == pytest.approx(variance, abs=1e-9)


def intervals_hold_what_they_say(case: Case) -> None:
    for value in case.values:
        counts = case.mechanism.counts(value)
        for level in (0.5, 0.9, 0.99):
            low, high = case.mechanism.interval(value, level)
            assert sum(counts[low : high + 1]) >= level * WORD
            # No end can be left out without more than half of the rest on its side.
            assert sum(counts[: low + 1]) > (1 - level) / 2 * WORD * (1 - 1e-12)
            assert sum(counts[high:]) > (1 - level) / 2 * WORD * (1 - 1e-12)
    with pytest.raises(ValueError, match="level is 1"):
        case.mechanism.interval(0, 1.0)


def estimates_are_unbiased(case: Case) -> None:
    mechanism = case.mechanism
    scores = mechanism.estimate(np.arange(mechanism.outputs))
    for value in range(mechanism.inputs):
        law = np.array([count / WORD for count in mechanism.counts(value)])
        truth = np.eye(mechanism.inputs)[value] if case.is_label else value
        assert law @ scores == pytest.approx(truth, abs=1e-8)


def release_depends_on_words_and_values_alone(case: Case) -> None:
    mechanism, words = case.mechanism, draws(1000)
    values = np.arange(1000) % mechanism.inputs
    kept = values.copy(), words.copy()
    whole = mechanism.release(values, words)
    assert whole.dtype == np.int64
    assert ((whole >= 0) & (whole < mechanism.outputs)).all()
    assert (values == kept[0]).all()
    assert (words == kept[1]).all()
    order = np.random.default_rng(1).permutation(1000)
    assert (mechanism.release(values[order], words[order]) == whole[order]).all()
    parts = [mechanism.release(values[i : i + 7], words[i : i + 7]) for i in range(0, 1000, 7)]
    assert (np.concatenate(parts) == whole).all()
    assert mechanism.release(values[:0], words[:0]).shape == (0,)
    narrow = mechanism.release(values.astype(np.int8), words)
    assert narrow.dtype == np.int64
    assert (narrow == whole).all()


def what_does_not_fit_is_refused_without_being_told(case: Case) -> None:
    mechanism = case.mechanism
    for value in (-1, mechanism.inputs, 424242):
        with pytest.raises(ValueError, match="outside") as refused:
            mechanism.release(np.array([0, value]), draws(2))
        assert "424242" not in str(refused.value)
    with pytest.raises(TypeError, match="float64"):
        mechanism.release(np.array([0.0]), draws(1))
    with pytest.raises(ValueError, match="one word for each value"):
        mechanism.release(np.array([0, 0]), draws(1))
    for epsilon in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="epsilon is"):
            case.build(epsilon)


def a_mechanism_is_a_value(case: Case) -> None:
    one, other = case.mechanism, case.mechanism
    assert one == other
    assert hash(one) == hash(other)
    assert one != case.build(2 * case.epsilon)
    assert len(repr(one)) < 300
    with pytest.raises(AttributeError):
        one.epsilon = 0.0  # type: ignore[misc]
    sent = pickle.loads(pickle.dumps(one))  # noqa: S301
    assert sent == one
    values = repeated(0, 100)
    assert (sent.release(values, draws(100)) == one.release(values, draws(100))).all()


CHECKS: list[Check] = [
    counts_add_to_all_words,
    counts_are_those_of_the_released_words,
    certificate_is_the_largest_ratio_of_all,
    certificate_holds_and_wastes_little,
    moments_are_those_of_the_counts,
    intervals_hold_what_they_say,
    estimates_are_unbiased,
    release_depends_on_words_and_values_alone,
    what_does_not_fit_is_refused_without_being_told,
    a_mechanism_is_a_value,
]


def chi_square(released: npt.NDArray[np.int64], counts: list[int]) -> tuple[float, int]:
    """Pearson's statistic of a sample against a law, and its degrees of freedom.

    Outcomes that are expected fewer than 20 times are taken together.
    """
    expected = np.array([count / WORD for count in counts]) * len(released)
    seen = np.bincount(released, minlength=len(counts)).astype(np.float64)
    if (seen[expected == 0] > 0).any():
        return math.inf, 1
    rare = expected < 20
    expected = np.append(expected[~rare], expected[rare].sum())
    seen = np.append(seen[~rare], seen[rare].sum())
    fits = expected > 0
    statistic = float(((seen[fits] - expected[fits]) ** 2 / expected[fits]).sum())
    return statistic, int(fits.sum()) - 1
