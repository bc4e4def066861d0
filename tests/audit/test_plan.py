"""The shipped mechanisms and chains under audit, and releases that claim too little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ppm.audit import exact_loss
from ppm.audit.plan import audit
from ppm.dp.certificate import Certificate
from ppm.dp.mechanism import FiniteMechanism, Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.geo import GeoNoise
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.nested.decoy import DecoyChain
from ppm.dp.nested.joint import JointChain
from ppm.dp.nested.laplace import LaplaceChain
from ppm.dp.nested.response import ResponseChain
from ppm.protect.chains import Bits, OneOf, Withheld
from ppm.protect.release import Draw, Release, Sampler

AUDITS = 200
"""Of each mechanism, at alpha 1e-6: all of them together are wrong with a chance below 4e-3."""

Cell = tuple[int, ...]


def release(claim: float, *draws: Draw) -> Release:
    return Release("readers", ("a pattern",), "response", "a slot", claim, draws)


def one(sampler: Sampler, first: Cell, second: Cell, *, steps: int = 1) -> Release:
    """A release by one mechanism, which claims what its certificate says."""
    draw = Draw(sampler, (first, second), steps)
    return release(sampler.certificate().claim * steps, draw)


@dataclass(frozen=True, slots=True)
class Numbers:
    """What all communities of a chain of discrete Laplace noise are told, side by side."""

    chain: LaplaceChain

    @property
    def words(self) -> int:
        return len(self.chain.epsilons)

    def release(self, values: Values, words: Words) -> Values:
        told = self.chain.release(values, lambda stage, _: words[:, stage : stage + 1])
        return np.stack(told, axis=1)

    def certificate(self) -> Certificate:
        return self.chain.certificate(0)


CHANNEL = Channel.rounded(1.0, [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]])
SMALL: list[FiniteMechanism] = [
    BinaryResponse(1.0),
    KaryResponse(1.0, 5),
    JointResponse(1.0, 3),
    CHANNEL,
]
RIGHT = [
    pytest.param(one(BinaryResponse(1.0), (0,), (1,)), id="a bit"),
    pytest.param(one(KaryResponse(1.0, 5), (0,), (1,)), id="one of five values"),
    pytest.param(one(JointResponse(1.0, 3), (0,), (7,)), id="a vector"),
    pytest.param(one(CHANNEL, (0,), (1,)), id="a channel"),
    pytest.param(one(DecoyDecision(1.0), (1,), (0,)), id="a decoy decision"),
    pytest.param(
        one(DiscreteLaplace.spanning(1.0, 101), (0,), (100,), steps=100), id="a clamped number"
    ),
    pytest.param(one(DiscreteLaplace(1.0, 1_001), (500,), (501,)), id="a number with a floor"),
    pytest.param(one(GeoNoise(0.01, 50.0, 60, 80), (20, 20), (22, 22), steps=4), id="a position"),
    pytest.param(release(1.0, *[Draw(BinaryResponse(1 / 3), ((0,), (1,)))] * 3), id="three bits"),
    pytest.param(one(Bits(ResponseChain((1.0, 0.5))), (0,), (1,)), id="a chain of bits"),
    pytest.param(
        one(Bits(JointChain((1.0, 0.2), types=((0, 1, 2), (0, 2)))), (0,), (7,)),
        id="a chain of vectors",
    ),
    pytest.param(
        one(Numbers(LaplaceChain((0.5, 0.25), 101)), (50,), (52,), steps=2), id="a chain of numbers"
    ),
    pytest.param(one(Withheld(DecoyChain((1.0, 0.5))), (1,), (0,)), id="a chain of decoys"),
]


@pytest.mark.parametrize("right", RIGHT)
def test_200_audits_of_a_shipped_mechanism_never_exceed_its_claim(right: Release) -> None:
    assert right.is_kept
    found = [audit([right], runs=2_000, seed=seed)[0] for seed in range(AUDITS)]
    assert max(one.bound.epsilon for one in found) <= right.claim
    assert all(one.holds for one in found)


@pytest.mark.parametrize("mechanism", SMALL, ids=lambda one: type(one).__name__)
def test_a_certificate_is_what_enumeration_finds(mechanism: FiniteMechanism) -> None:
    table = [mechanism.counts(value) for value in range(mechanism.inputs)]
    loss = exact_loss(table)
    assert loss.ratio == mechanism.certificate().ratio
    assert not loss.exceeds(mechanism.epsilon)


def test_a_decoy_decision_is_certified_in_one_direction() -> None:
    decision = DecoyDecision(1.0)
    table = [decision.counts(value) for value in (0, 1)]
    assert exact_loss(table, pairs=[(1, 0)]).ratio == decision.certificate().ratio
    assert exact_loss(table, pairs=[(0, 1)]).is_infinite


CHAINS = [
    pytest.param(Bits(ResponseChain((2.0, 1.0, 0.5))), (0,), (1,), id="bits"),
    pytest.param(
        Bits(JointChain((2.0, 0.7, 0.4), types=((0, 1, 2), (0, 2), (2,)))), (0,), (7,), id="vectors"
    ),
    pytest.param(Withheld(DecoyChain((2.0, 1.0, 0.5))), (1,), (0,), id="decoys"),
]


@pytest.mark.parametrize(("chain", "first", "second"), CHAINS)
class TestALaterCommunityOfAChain:
    def told(self, chain: Bits | Withheld, first: Cell, second: Cell) -> list[Release]:
        return [one(OneOf(chain, number), first, second) for number in (1, 2)]

    def test_is_told_no_more_than_it_claims(
        self, chain: Bits | Withheld, first: Cell, second: Cell
    ) -> None:
        told = self.told(chain, first, second)
        assert [release.claim for release in told] == [*chain.chain.epsilons[1:]]
        found = audit(told, runs=20_000, seed=3)
        assert all(one.holds for one in found)
        assert all(one.bound.epsilon > 0.5 * one.release.claim for one in found)

    def test_is_caught_if_it_gets_the_release_of_the_first(
        self, chain: Bits | Withheld, first: Cell, second: Cell, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Every later stage removed: together they learn no more than they should."""
        release = type(chain).release

        def first_of_all(self: Bits | Withheld, values: Values, words: Words) -> Values:
            told = release(self, values, words)  # type: ignore[arg-type]
            return np.repeat(told[:, :1], told.shape[1], axis=1)

        told = self.told(chain, first, second)
        monkeypatch.setattr(type(chain), "release", first_of_all)
        assert audit([one(chain, first, second)], runs=20_000, seed=3)[0].holds
        assert [one.holds for one in audit(told, runs=20_000, seed=3)] == [False, False]


class TestAReleaseThatTellsMoreThanItClaims:
    def test_is_found_by_its_certificates(self) -> None:
        """Three types with the whole budget each."""
        whole = release(1.0, *[Draw(BinaryResponse(1.0), ((0,), (1,)))] * 3)
        assert float(whole.exact) == pytest.approx(3)
        assert not whole.is_kept

    def test_and_by_its_runs_where_a_certificate_lies(self) -> None:
        @dataclass(frozen=True, slots=True)
        class Liar:
            words: int = 1

            def release(self, values: Values, words: Words) -> Values:
                return BinaryResponse(1.25).release(values, words)

            def certificate(self) -> Certificate:
                return BinaryResponse(1.0).certificate()

        lie = one(Liar(), (0,), (1,))
        (found,) = audit([lie], runs=20_000, seed=1)
        assert lie.is_kept
        assert not found.holds
        assert found.bound.epsilon > 1

    def test_and_where_two_columns_share_a_word(self) -> None:
        @dataclass(frozen=True, slots=True)
        class OneWord:
            words: int = 1

            def release(self, values: Values, words: Words) -> Values:
                bit = BinaryResponse(1.0)
                columns = [np.ascontiguousarray(values[:, i]) for i in (0, 1)]
                return np.stack([bit.release(column, words) for column in columns], axis=1)

            def certificate(self) -> Certificate:
                return BinaryResponse(1.0).certificate()

        (found,) = audit([one(OneWord(), (0, 0), (0, 1))], runs=2_000, seed=1)
        assert not found.holds
        assert found.bound.epsilon > 3


def test_every_release_world_and_draw_has_words_of_its_own() -> None:
    """With one word for both worlds, or for two draws, runs would not be independent."""
    seen: list[Words] = []

    @dataclass(frozen=True, slots=True)
    class Listening:
        words: int = 2

        def release(self, values: Values, words: Words) -> Values:
            seen.append(words)
            return values

        def certificate(self) -> Certificate:
            return BinaryResponse(1.0).certificate()

    draws = [Draw(Listening(), ((0,), (1,)))] * 3
    audit([release(3.0, *draws), release(3.0, *draws)], runs=50, seed=1)
    assert len(seen) == 2 * 2 * 3
    assert len(np.unique(np.concatenate(seen))) == 12 * 50 * 2


def test_an_audit_is_repeated_by_its_seed() -> None:
    bit = one(BinaryResponse(1.0), (0,), (1,))
    first, again, other = (audit([bit], runs=1_000, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
