"""What public or consented history says about which types occur together in a slot."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

Distribution = Mapping[frozenset[str], float]
"""Each set of types that may be present, with the probability that it is exactly that set."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A joint distribution of some types, independent of every other factor."""

    types: frozenset[str]
    rows: tuple[tuple[frozenset[str], float], ...]

    def marginal(self, types: Collection[str]) -> Distribution:
        """The distribution of only those types of this factor."""
        masses: dict[frozenset[str], list[float]] = defaultdict(list)
        for present, probability in self.rows:
            masses[present.intersection(types)].append(probability)
        return {present: math.fsum(parts) for present, parts in masses.items()}


@dataclass(frozen=True, slots=True)
class Prior:
    """A belief about the types of a slot, as independent factors.

    >>> day = Prior.table([(frozenset(), 0.7), ({"clinic"}, 0.1), ({"clinic", "pharmacy"}, 0.2)])
    >>> round(day.probability({"clinic"}), 3)
    0.3
    """

    factors: tuple[Factor, ...]

    @classmethod
    def independent(cls, rates: Mapping[str, float]) -> Self:
        """A prior in which each type occurs in a slot at its own rate.

        >>> Prior.independent({"a": 0.5, "b": 0.5}).probability({"a", "b"})
        0.25
        """
        return cls(tuple(_coin(name, rate) for name, rate in rates.items()))

    @classmethod
    def table(
        cls,
        rows: Iterable[tuple[Collection[str], float]],
        *,
        types: Collection[str] = (),
    ) -> Self:
        """A prior that lists how often exactly these types occur together.

        Name in `types` those that are known but occur in no row.
        """
        listed = tuple((frozenset(present), probability) for present, probability in rows)
        if any(not 0 <= probability <= 1 for _, probability in listed):
            raise ValueError("a row of the prior has a probability outside 0 to 1")
        total = math.fsum(probability for _, probability in listed)
        if not math.isclose(total, 1, abs_tol=1e-9):
            raise ValueError(f"the rows of the prior sum to {total}; they must sum to 1")
        known = frozenset(types).union(*(present for present, _ in listed))
        return cls((Factor(known, listed),))

    @property
    def types(self) -> frozenset[str]:
        """The types that this prior knows."""
        return frozenset().union(*(factor.types for factor in self.factors))

    def distribution(self, types: Collection[str]) -> Distribution:
        """The exact joint distribution of the given types; sets of probability 0 are left out.

        >>> prior = Prior.independent({"a": 0.25, "b": 1.0, "c": 0.5})
        >>> [(sorted(present), p) for present, p in prior.distribution({"a", "b"}).items()]
        [(['b'], 0.75), (['a', 'b'], 0.25)]
        """
        unknown = sorted(set(types) - self.types)
        if unknown:
            known = ", ".join(sorted(self.types))
            raise ValueError(f"the prior has no {', '.join(unknown)}; it knows {known}")
        joint: dict[frozenset[str], float] = {frozenset(): 1.0}
        for factor in self.factors:
            if factor.types.isdisjoint(types):
                continue
            joint = {
                present | more: mass * probability
                for present, mass in joint.items()
                for more, probability in factor.marginal(types).items()
                if probability > 0
            }
        return joint

    def probability(self, types: Collection[str]) -> float:
        """The probability that all the given types occur in a slot."""
        return self.distribution(types).get(frozenset(types), 0.0)


def _coin(name: str, rate: float) -> Factor:
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate of {name} is {rate}; it must be from 0 to 1")
    return Factor(frozenset({name}), ((frozenset(), 1 - rate), (frozenset({name}), rate)))
