"""A lower bound on epsilon from what a mechanism gives in two neighbouring worlds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ppm.audit import features as looks
from ppm.audit.binomial import least_probability, most_probability
from ppm.audit.symbols import Alphabet, Outputs, spell
from ppm.errors import counted

TRAINING = 0.3
"""The share of runs on which an event is chosen; the others test it."""
VALUE = "value"


@dataclass(frozen=True, slots=True)
class Bound:
    """An epsilon that was exceeded, up to a chance of alpha, and the event that shows it.

    It tells kinds and counts, never an output.
    """

    epsilon: float
    feature: str
    """What of the outputs the event looks at."""
    symbols: tuple[int, int]
    """How many symbols the event has, out of how many that the training runs gave."""
    is_first: bool
    """Whether the event is the likelier one in the first world."""
    hits: tuple[int, int]
    """How often it came in the tested runs of each world."""
    runs: tuple[int, int]
    """The tested runs of each world."""
    alpha: float
    delta: float

    def __str__(self) -> str:
        part, of = self.symbols
        return (
            f"epsilon >= {self.epsilon:.4g} (alpha {self.alpha:g}, delta {self.delta:g}): an event "
            f"on its {self.feature} ({counted(part, 'symbol')} of {of}) came in {self.hits[0]} of "
            f"{self.runs[0]} runs of the first world and in {self.hits[1]} of {self.runs[1]} of "
            "the second"
        )


def lower_bound(
    first: Outputs,
    second: Outputs,
    *,
    alpha: float = 1e-6,
    delta: float = 0.0,
    one_sided: bool = False,
    inputs: tuple[object, object] | None = None,
    features: Mapping[str, looks.Feature] | None = None,
) -> Bound:
    """The largest epsilon that independent runs of two worlds refute, wrong with chance alpha.

    An event is chosen on 30 % of the runs and tested on the others: ln((L - delta)/U), with L the
    least probability of the event in one world and U the most in the other, each wrong with chance
    alpha/2. Every feature is such a test with its own part of alpha. One-sided promises (decoys)
    bound the first world by the second only: give the world with the match first.

    >>> rng = np.random.default_rng(7)
    >>> first, second = rng.random(5_000) < 0.75, rng.random(5_000) < 0.25
    >>> print(lower_bound(first, second))  # ln 3 = 1.0986
    epsilon >= 0.9129 (alpha 1e-06, delta 0): an event on its value (1 symbol of 2) came in 878 \
of 3500 runs of the first world and in 2640 of 3500 of the second
    """
    _check(first, second, alpha, delta)
    outputs, is_first = _pool(first, second), np.arange(len(first) + len(second)) < len(first)
    training = np.concatenate([_is_training(len(first)), _is_training(len(second))])
    whole = spell(outputs, training)
    seen = [(VALUE, whole)]
    extra = [*looks.shipped(outputs, inputs)] if whole.is_coarse else []
    apart = (looks.apply(features or {}, one) for one in (first, second))
    extra += [(name, _pool(one, other)) for (name, one), (_, other) in zip(*apart, strict=True)]
    seen += [(name, spell(values, training)) for name, values in extra]
    bounds = [
        _bound(name, one, is_first, training, alpha / len(seen), delta, one_sided)
        for name, one in seen
    ]
    return replace(max(bounds, key=lambda bound: bound.epsilon), alpha=alpha)


def _check(first: Outputs, second: Outputs, alpha: float, delta: float) -> None:
    if min(len(first), len(second)) < 10:
        raise ValueError(
            f"{len(first)} and {len(second)} runs are too few to choose an event and to test it"
        )
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must lie between 0 and 1")
    if not 0 <= delta < 1:
        raise ValueError(f"delta is {delta}; it must be at least 0 and below 1")


def _pool(first: Outputs, second: Outputs) -> Outputs:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if first.shape[1:] != second.shape[1:]:
            raise ValueError(
                f"outputs have shapes {first.shape[1:]} and {second.shape[1:]}; give lists of "
                "tuples where their number of values differs"
            )
        return np.concatenate([first, second])
    return [*first, *second]


def _is_training(runs: int) -> npt.NDArray[np.bool_]:
    return np.arange(runs) < TRAINING * runs


def _bound(
    feature: str,
    alphabet: Alphabet,
    is_first: npt.NDArray[np.bool_],
    training: npt.NDArray[np.bool_],
    alpha: float,
    delta: float,
    one_sided: bool,
) -> Bound:
    def counts(chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
        return np.bincount(alphabet.codes[chosen], minlength=alphabet.size)

    learnt = counts(training & is_first), counts(training & ~is_first)
    tested = counts(~training & is_first), counts(~training & ~is_first)
    runs = int(tested[0].sum()), int(tested[1].sum())
    events = [(*_likeliest(*learnt, runs, alpha, delta), True)]
    if not one_sided:
        events.append((*_likeliest(*learnt[::-1], runs[::-1], alpha, delta), False))
    _, event, forward = max(events, key=lambda one: one[0])
    hits = int(tested[0][event].sum()), int(tested[1][event].sum())
    is_given = (learnt[0] + learnt[1]) > 0
    likely, other = (0, 1) if forward else (1, 0)
    least = least_probability(hits[likely], runs[likely], alpha=alpha / 2)
    most = most_probability(hits[other], runs[other], alpha=alpha / 2)
    return Bound(
        epsilon=max(0.0, math.log((least - delta) / most)) if least > delta else 0.0,
        feature=feature,
        symbols=(int(is_given[event].sum()), int(is_given.sum())),
        is_first=forward,
        hits=hits,
        runs=runs,
        alpha=alpha,
        delta=delta,
    )


def _likeliest(
    likely: npt.NDArray[np.intp],
    other: npt.NDArray[np.intp],
    runs: tuple[int, int],
    alpha: float,
    delta: float,
) -> tuple[float, npt.NDArray[np.intp]]:
    """The event that promises the largest bound, and that bound; a prefix by likelihood ratio."""
    ratio = (likely + 0.5) / (other + 0.5)
    order = np.argsort(-ratio, kind="stable")[: max(1, likely.size - 1)]
    shares = [np.cumsum(one[order]) / one.sum() for one in (likely, other)]
    # A rough bound is enough to choose by; what is chosen is tested exactly.
    z = math.sqrt(-2 * math.log(alpha / 2))
    least = _score(shares[0], runs[0], -z) - delta
    most = _score(shares[1], runs[1], z)
    promised = np.log(np.maximum(least, 1e-300) / most)
    best = int(promised.argmax())
    return float(promised[best]), order[: best + 1]


def _score(share: npt.NDArray[np.float64], runs: int, z: float) -> npt.NDArray[np.float64]:
    """One end of the score interval (Wilson 1927)."""
    half = z * z / (2 * runs)
    spread = z * np.sqrt(share * (1 - share) / runs + half / (2 * runs))
    return np.asarray((share + half + spread) / (1 + 2 * half))
