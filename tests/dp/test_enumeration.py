"""The closed forms against brute force over every slot x and every release y."""

import itertools
import math
from collections.abc import Callable, Iterable

import pytest

from ppm.dp.decoy import truth_kept, withhold_probability
from ppm.dp.joint import all_shown, vector_kept, vector_swapped
from ppm.dp.prior import Prior
from ppm.dp.response import (
    fabricated_rows,
    false_match_probability,
    flip_probability,
    kept_probability,
)
from ppm.dp.utility import Channel, Joint, Response, query_quality

Bits = tuple[int, ...]
Law = Callable[[Bits, Bits], float]
"""The probability of a release y, given a slot x."""

NAMES = "abcd"
SHARES = [0.3, 1.2, 0.05, 0.7]


def vectors(m: int) -> list[Bits]:
    return list(itertools.product((0, 1), repeat=m))


def response_law(shares: list[float]) -> Law:
    flips = [flip_probability(epsilon) for epsilon in shares]
    return lambda y, x: math.prod(
        p if a != b else 1 - p for p, a, b in zip(flips, y, x, strict=True)
    )


def joint_law(epsilon: float, m: int) -> Law:
    return lambda y, x: vector_kept(epsilon, m) if y == x else vector_swapped(epsilon, m)


def loss(law: Law, worlds: Iterable[tuple[Bits, Bits]], m: int) -> float:
    return max(math.log(law(y, x) / law(y, z)) for x, z in worlds for y in vectors(m))


def named(bits: Bits) -> frozenset[str]:
    return frozenset(name for name, bit in zip(NAMES, bits, strict=False) if bit)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_response_loses_exactly_epsilon(m: int, epsilon: float) -> None:
    every_pair = itertools.product(vectors(m), vectors(m))
    assert loss(response_law([epsilon / m] * m), every_pair, m) == pytest.approx(epsilon)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_joint_response_loses_exactly_epsilon(m: int, epsilon: float) -> None:
    every_pair = itertools.product(vectors(m), vectors(m))
    assert loss(joint_law(epsilon, m), every_pair, m) == pytest.approx(epsilon)


@pytest.mark.parametrize("changed", [(0,), (2,), (0, 1), (1, 3), (0, 1, 2, 3)])
def test_a_response_loses_the_epsilons_of_the_changed_types(changed: Bits) -> None:
    empty = (0, 0, 0, 0)
    after = tuple(int(i in changed) for i in range(4))
    paid = sum(SHARES[i] for i in changed)
    assert loss(response_law(SHARES), [(empty, after), (after, empty)], 4) == pytest.approx(paid)


def test_a_joint_response_loses_epsilon_for_a_single_bit_too() -> None:
    assert loss(joint_law(1.0, 3), [((0, 0, 0), (1, 0, 0))], 3) == pytest.approx(1.0)


def test_response_only_where_the_match_completed_proves_a_surviving_match() -> None:
    full = (1, 1, 1)
    noisy = response_law([1 / 3] * 3)

    def planted_bug(y: Bits, x: Bits) -> float:
        return noisy(y, x) if x == full else float(y == x)

    survived = planted_bug(full, full)
    assert survived > 0
    assert all(planted_bug(full, x) == 0 for x in vectors(3) if x != full)


@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_the_response_formulas_equal_enumeration(m: int) -> None:
    shares, ones, zeros = SHARES[:m], (1,) * m, (0,) * m
    law = response_law(shares)
    assert sum(law(y, ones) for y in vectors(m)) == pytest.approx(1)
    assert kept_probability(shares) == pytest.approx(law(ones, ones))
    assert false_match_probability(shares) == pytest.approx(law(ones, zeros))
    assert fabricated_rows(shares) == pytest.approx(sum(sum(y) * law(y, zeros) for y in vectors(m)))


@pytest.mark.parametrize(("m", "asked"), [(m, b) for m in (1, 2, 3, 4) for b in range(1, m + 1)])
def test_what_a_joint_response_shows_equals_enumeration_in_every_slot(m: int, asked: int) -> None:
    law = joint_law(1.3, m)
    for x in vectors(m):
        enumerated = sum(law(y, x) for y in vectors(m) if all(y[:asked]))
        shown = all_shown(1.3, m, asked=asked, all_present=all(x[:asked]))
        assert shown == pytest.approx(enumerated)


PRIORS = [
    pytest.param(
        Prior.independent({"a": 0.2, "b": 0.7, "c": 0.5, "d": 0.05}), id="independent types"
    ),
    pytest.param(
        Prior.table([("", 0.5), ("ab", 0.2), ("abc", 0.1), ("abcd", 0.05), ("d", 0.15)]),
        id="types that occur together",
    ),
]
CHANNELS = [
    pytest.param(
        [Response.spending(dict(zip(NAMES, SHARES, strict=True)))],
        response_law(SHARES),
        id="four independent types",
    ),
    pytest.param([Joint(frozenset(NAMES), 1.3)], joint_law(1.3, 4), id="one joint group"),
    pytest.param(
        [Response.spending({"a": 0.3}), Joint(frozenset("bc"), 1.3)],
        lambda y, x: (
            response_law([0.3])(y[:1], x[:1])
            * joint_law(1.3, 2)(y[1:3], x[1:3])
            * float(y[3] == x[3])
        ),
        id="an independent type, a joint group and an exact type",
    ),
    pytest.param(
        [Joint(frozenset("ab"), 0.8), Joint(frozenset("cd"), 2.0)],
        lambda y, x: joint_law(0.8, 2)(y[:2], x[:2]) * joint_law(2.0, 2)(y[2:], x[2:]),
        id="two joint groups",
    ),
]


@pytest.mark.parametrize("asked", ["a", "ab", "bc", "acd", "abcd"])
@pytest.mark.parametrize(("channels", "law"), CHANNELS)
@pytest.mark.parametrize("prior", PRIORS)
def test_the_quality_of_a_query_equals_enumeration(
    prior: Prior, channels: list[Channel], law: Law, asked: str
) -> None:
    query = frozenset(asked)
    truth = prior.distribution(NAMES)
    mass = {
        (x, y): truth.get(named(x), 0.0) * law(y, x)
        for x, y in itertools.product(vectors(4), repeat=2)
    }
    matches = sum(p for (x, _), p in mass.items() if query <= named(x))
    shown = sum(p for (_, y), p in mass.items() if query <= named(y))
    both = sum(p for (x, y), p in mass.items() if query <= named(x) & named(y))
    empty = sum(law(y, (0, 0, 0, 0)) for y in vectors(4) if query <= named(y))

    quality = query_quality(asked, channels, prior=prior, alpha=0.3)

    assert quality.false_match == pytest.approx(empty)
    assert quality.precision == pytest.approx(both / shown)
    if matches:
        assert quality.recall == pytest.approx(both / matches)
        assert quality.q == pytest.approx(0.3 * both / shown + 0.7 * both / matches)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_decoys_lose_epsilon_for_each_slot_that_is_no_longer_touched(k: int) -> None:
    epsilon = 0.7

    def released(x: Bits) -> dict[Bits, float]:
        """The law of which slots are seen (1) or withheld (0), where x marks the touched ones."""
        seen = [0.0 if touched else truth_kept(epsilon) for touched in x]
        return {
            y: math.prod(p if bit else 1 - p for p, bit in zip(seen, y, strict=True))
            for y in vectors(k)
        }

    match, no_match = released((1,) * k), released((0,) * k)
    losses = [math.log(p / no_match[y]) for y, p in match.items() if p > 0]
    assert max(losses) == pytest.approx(k * epsilon)
    assert withhold_probability(epsilon) == pytest.approx(1 - truth_kept(epsilon))
