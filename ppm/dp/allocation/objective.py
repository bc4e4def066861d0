"""What shares are worth to consumers under `response`, with its slope: fast enough to climb."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ppm.dp.allocation.need import Need
from ppm.dp.prior import Prior

Vector = npt.NDArray[np.float64]
Term = tuple[float, frozenset[str], frozenset[str]]
"""A probability of the prior, with the asked types that occur then, and those that do not."""


class Objective:
    """The sum of weight times Q over all queries, as a function of the epsilons of some types.

    It is the closed form of `query_quality`. The probability that a match is shown is a product
    over the independent factors of the prior, so that a query costs the rows of the factors that
    it touches, and not 2^m. Types that have no share are seen as they are.

    >>> rare = Prior.independent({"a": 0.1, "b": 0.1})
    >>> both = Objective(("a", "b"), [Need("both", frozenset("ab"))], rare)
    >>> round(both.value(np.array([1.0, 1.0])), 4)
    0.2941
    """

    def __init__(self, names: Sequence[str], needs: Sequence[Need], prior: Prior | None) -> None:
        self.names = tuple(names)
        self._asked = np.array([[name in need.types for name in names] for need in needs], float)
        self._weight = np.array([need.weight for need in needs])
        self._alpha = np.array([need.alpha for need in needs])
        self._has_precision = bool(self._alpha.any())
        if not self._has_precision:
            return
        if prior is None:
            raise ValueError("some query wants precision, which only a prior can tell")
        self._match = np.array([prior.probability(need.types) for need in needs])
        factors = [[*_factors(need, self.names, prior)] for need in needs]
        blocks = [terms for found in factors for terms in found]
        terms = [term for block in blocks for term in block]
        self._mass = np.array([mass for mass, _, _ in terms])
        shown = np.array([[name in present for name in names] for _, present, _ in terms], float)
        self._absent = np.array([[name in absent for name in names] for *_, absent in terms], float)
        self._told = shown + self._absent
        self._blocks = _starts(blocks)
        self._queries = _starts(factors)

    def value(self, shares: Vector) -> float:
        """What these epsilons are worth."""
        flips = _flips(shares)
        recall = _recall(self._asked, flips)
        if not self._has_precision:
            return float((self._weight * recall).sum())
        seen = np.multiply.reduceat(self._seen(self._terms(flips)), self._queries)
        return self._total(recall, self._precision(recall, seen))

    def slope(self, shares: Vector) -> tuple[float, Vector]:
        """What these epsilons are worth, and how that grows with each of them."""
        flips = _flips(shares)
        recall = _recall(self._asked, flips)
        recall_growth = recall[:, None] * self._asked * flips
        if not self._has_precision:
            growth = (self._weight[:, None] * recall_growth).sum(axis=0)
            return float((self._weight * recall).sum()), growth
        terms = self._terms(flips)
        blocks = self._seen(terms)
        seen = np.multiply.reduceat(blocks, self._queries)
        # A type that occurs is shown with 1-p, whose logarithm grows by p; one that does not is
        # shown with p, whose logarithm grows by -(1-p).
        grown = np.add.reduceat(terms[:, None] * (self._told * flips - self._absent), self._blocks)
        part = np.divide(
            grown, blocks[:, None], out=np.zeros_like(grown), where=blocks[:, None] > 0
        )
        precision = self._precision(recall, seen)
        logs = self._asked * flips - np.add.reduceat(part, self._queries)
        precision_growth = precision[:, None] * logs
        alpha = self._alpha[:, None]
        every = self._weight[:, None] * (alpha * precision_growth + (1 - alpha) * recall_growth)
        return self._total(recall, precision), every.sum(axis=0)

    def _terms(self, flips: Vector) -> Vector:
        """For each row of a factor its probability, with all its asked types shown."""
        # 1-p where a type occurs, p where it does not, 1 where it is not asked for.
        shown: Vector = (1 - self._absent) + (2 * self._absent - self._told) * flips
        terms: Vector = self._mass * shown.prod(axis=1)
        return terms

    def _seen(self, terms: Vector) -> Vector:
        return np.add.reduceat(terms, self._blocks)

    def _precision(self, recall: Vector, seen: Vector) -> Vector:
        true = recall * self._match
        precision: Vector = np.divide(true, seen, out=np.zeros_like(true), where=seen > 0)
        return np.minimum(precision, 1.0)

    def _total(self, recall: Vector, precision: Vector) -> float:
        return float((self._weight * (self._alpha * precision + (1 - self._alpha) * recall)).sum())


def _flips(shares: Vector) -> Vector:
    odds = np.exp(-shares)
    flips: Vector = odds / (1 + odds)
    return flips


def _recall(asked: Vector, flips: Vector) -> Vector:
    recall: Vector = (1 - asked * flips).prod(axis=1)
    return recall


def _factors(need: Need, names: tuple[str, ...], prior: Prior) -> Iterator[list[Term]]:
    """For each factor of the prior that a query touches, what may have happened."""
    exact = need.types.difference(names)
    for factor in prior.factors:
        own = factor.types & need.types
        if own:
            rows = factor.marginal(own).items()
            # Where a type that is seen as it is does not occur, no match is shown.
            found = [
                (mass, present - exact, own - exact - present)
                for present, mass in rows
                if mass > 0 and exact & own <= present
            ]
            yield found or [(0.0, frozenset[str](), frozenset[str]())]


def _starts(groups: Sequence[Sequence[object]]) -> npt.NDArray[np.intp]:
    sizes = [len(group) for group in groups]
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
