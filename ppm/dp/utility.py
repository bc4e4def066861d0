"""How good the answer to a consumer's AND-query stays under each mechanism, in closed form."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Protocol, Self

from ppm.dp.exact import WORD
from ppm.dp.joint import all_shown
from ppm.dp.mechanism import FiniteMechanism
from ppm.dp.prior import Prior
from ppm.dp.response import flip_probability


@dataclass(frozen=True, slots=True)
class Quality:
    """What a consumer may expect of one query."""

    recall: float
    """The part of the true matches that is shown."""
    precision: float | None
    """The part of the shown matches that is true; None without a prior, 0 if none is ever shown."""
    q: float | None
    """alpha*precision + (1-alpha)*recall; None where the precision is."""
    false_match: float
    """The probability that a slot with none of the types shows a match."""


class Channel(Protocol):
    """What happens to some types of a slot on their way to a consumer."""

    @property
    def types(self) -> frozenset[str]:
        """The types that go through this channel, and through no other."""
        ...

    @property
    def mixes(self) -> bool:
        """Whether types that are not asked for change how often those that are get shown."""
        ...

    def shows(self, asked: frozenset[str], present: frozenset[str], /) -> float:
        """The probability that all asked types of this channel are released, given the truth."""
        ...


@dataclass(frozen=True, slots=True)
class Response:
    """Types whose bits flip independently, each with its own probability."""

    flips: Mapping[str, float]

    @classmethod
    def spending(cls, shares: Mapping[str, float]) -> Self:
        """The response that spends these epsilons.

        >>> Response.spending({"clinic": 0.0})
        Response(flips={'clinic': 0.5})
        """
        return cls({name: flip_probability(epsilon) for name, epsilon in shares.items()})

    @property
    def types(self) -> frozenset[str]:
        return frozenset(self.flips)

    @property
    def mixes(self) -> bool:
        return False

    def shows(self, asked: frozenset[str], present: frozenset[str], /) -> float:
        return math.prod(
            1 - self.flips[name] if name in present else self.flips[name] for name in sorted(asked)
        )


@dataclass(frozen=True, slots=True)
class Joint:
    """Types whose bits are released together, by one k-ary response."""

    types: frozenset[str]
    epsilon: float

    @property
    def mixes(self) -> bool:
        return False

    def shows(self, asked: frozenset[str], present: frozenset[str], /) -> float:
        return all_shown(
            self.epsilon, len(self.types), asked=len(asked), all_present=asked <= present
        )


@dataclass(frozen=True, slots=True)
class Tabled:
    """Types whose bits are released together, by a table of all their vectors."""

    order: tuple[str, ...]
    """Bit i of a vector is the i-th of these types."""
    law: tuple[tuple[float, ...], ...]
    """For each true vector, the probability of each released one."""

    @classmethod
    def of(cls, order: Sequence[str], mechanism: FiniteMechanism) -> Self:
        """The table of a mechanism on vectors of these types."""
        if not mechanism.inputs == mechanism.outputs == 1 << len(order):
            raise ValueError(f"the table is not one of vectors of {len(order)} types")
        rows = (mechanism.counts(vector) for vector in range(mechanism.inputs))
        return cls(tuple(order), tuple(tuple(count / WORD for count in row) for row in rows))

    @property
    def types(self) -> frozenset[str]:
        return frozenset(self.order)

    @property
    def mixes(self) -> bool:
        return True

    def shows(self, asked: frozenset[str], present: frozenset[str], /) -> float:
        return _shown_by(self, self._vector(asked), self._vector(present))

    def _vector(self, types: frozenset[str]) -> int:
        return sum(1 << place for place, name in enumerate(self.order) if name in types)


@lru_cache(maxsize=65_536)
def _shown_by(table: Tabled, asked: int, present: int) -> float:
    return math.fsum(
        probability
        for released, probability in enumerate(table.law[present])
        if released & asked == asked
    )


@dataclass(frozen=True, slots=True)
class Unreleased:
    """Types that are never released."""

    types: frozenset[str]

    @property
    def mixes(self) -> bool:
        return False

    def shows(self, _asked: frozenset[str], _present: frozenset[str], /) -> float:
        return 0.0


def query_quality(
    asked: Collection[str],
    channels: Iterable[Channel],
    *,
    prior: Prior | None,
    alpha: float,
    kept: float = 1.0,
) -> Quality:
    """The quality of "all asked types in one slot", asked of the released stream.

    Types in no channel are released in truth. `kept` is the probability that decoys leave the slot.
    Where a channel mixes, the prior tells what else happens; without one, recall is what is left
    whatever else happens.

    >>> clinic = Response.spending({"clinic": 1.0, "pharmacy": 1.0})
    >>> prior = Prior.independent({"clinic": 0.5, "pharmacy": 0.5})
    >>> quality = query_quality({"clinic", "pharmacy"}, [clinic], prior=prior, alpha=0.5)
    >>> round(quality.recall, 3), round(quality.precision, 3), round(quality.false_match, 3)
    (0.534, 0.534, 0.072)
    """
    query = _check_query(asked)
    touched = [channel for channel in channels if channel.types & query]
    covered = [name for channel in touched for name in channel.types & query]
    if len(covered) > len(set(covered)):
        twice = ", ".join(sorted({name for name in covered if covered.count(name) > 1}))
        raise ValueError(f"two channels release {twice}; a type goes through one channel only")
    exact = query - set(covered)

    def shown(present: frozenset[str]) -> float:
        if not exact <= present:
            return 0.0
        return math.prod(
            channel.shows(channel.types & query, channel.types & present) for channel in touched
        )

    mixed = frozenset[str]().union(*(one.types - query for one in touched if one.mixes))
    precision: float | None = None
    if prior is None:
        recall = min(shown(query | others) for others in _subsets(mixed))
    else:
        masses = prior.distribution(query | mixed).items()
        matches = [(mass, present) for present, mass in masses if query <= present]
        match = math.fsum(mass for mass, _ in matches)
        true = math.fsum(mass * shown(present) for mass, present in matches)
        recall = true / match if mixed and match > 0 else shown(query)
        seen = math.fsum(mass * shown(present) for present, mass in masses)
        precision = _precision(true if mixed else recall * match, seen)
    if not touched:
        precision = 1.0
    return _weigh(kept * recall, precision, alpha=alpha, false_match=kept * shown(frozenset()))


def answer_quality(
    asked: Collection[str], epsilon: float, *, prior: Prior | None, alpha: float
) -> Quality:
    """The quality of a yes-or-no answer that is computed on the truth and then flipped at random.

    >>> round(answer_quality({"clinic", "pharmacy"}, 1.0, prior=None, alpha=0.5).recall, 3)
    0.731
    """
    query, flip = _check_query(asked), flip_probability(epsilon)
    recall, precision = 1 - flip, None
    if prior is not None:
        match = prior.probability(query)
        precision = _precision(recall * match, recall * match + flip * (1 - match))
    return _weigh(recall, precision, alpha=alpha, false_match=flip)


def _subsets(types: frozenset[str]) -> Iterable[frozenset[str]]:
    names = sorted(types)
    return (frozenset(some) for size in range(len(names) + 1) for some in combinations(names, size))


def _check_query(asked: Collection[str]) -> frozenset[str]:
    if not asked:
        raise ValueError("a query asks for at least one type; this one asks for none")
    return frozenset(asked)


def _precision(true_shown: float, shown: float) -> float:
    return min(1.0, true_shown / shown) if shown > 0 else 0.0


def _weigh(recall: float, precision: float | None, *, alpha: float, false_match: float) -> Quality:
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}; it must be from 0 to 1")
    q = None if precision is None else alpha * precision + (1 - alpha) * recall
    return Quality(recall=recall, precision=precision, q=q, false_match=false_match)
