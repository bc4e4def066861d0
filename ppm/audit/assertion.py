"""A claim about a mechanism as one line of a test."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Protocol, TypeVar

import numpy as np

from ppm.audit.features import Feature
from ppm.audit.symbols import Outputs
from ppm.audit.worlds import Bound, lower_bound
from ppm.dp.epsilon import check_epsilon

World = TypeVar("World")
Contra = TypeVar("Contra", contravariant=True)


class Sample(Protocol[Contra]):
    """A mechanism that runs many times at once: one output per run, all runs independent."""

    def __call__(self, world: Contra, runs: int, rng: np.random.Generator, /) -> Outputs: ...


def one_by_one(mechanism: Callable[[World, np.random.Generator], Hashable]) -> Sample[World]:
    """A sample from a mechanism that gives one output a call.

    >>> coin = one_by_one(lambda world, rng: rng.random() < world)
    >>> coin(1.0, 3, np.random.default_rng(0))
    [True, True, True]
    """

    def sample(world: World, runs: int, rng: np.random.Generator) -> Outputs:
        return [mechanism(world, rng) for _ in range(runs)]

    return sample


def assert_private(
    sample: Sample[World],
    worlds: tuple[World, World],
    *,
    epsilon: float,
    delta: float = 0.0,
    runs: int = 5_000,
    alpha: float = 1e-6,
    seed: int,
    one_sided: bool = False,
    features: Mapping[str, Feature] | None = None,
) -> Bound:
    """Fail if runs in two neighbouring worlds show that a mechanism tells more than it claims.

    A right mechanism fails with chance alpha at most. To pass proves nothing: the bound that is
    given back says how far these runs could see.

    >>> def bit(world, runs, rng):
    ...     return world ^ (rng.random(runs) < 0.25)  # tells ln 3 = 1.0986
    >>> assert_private(bit, (0, 1), epsilon=1.1, seed=7).epsilon < 1.1
    True
    >>> assert_private(bit, (0, 1), epsilon=0.8, seed=7)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: claimed epsilon 0.8, audited epsilon >= 0.9091 (alpha 1e-06, delta 0): ...
    """
    __tracebackhide__ = True
    check_epsilon(epsilon)
    first, second = (
        sample(world, runs, np.random.default_rng([seed, place]))
        for place, world in enumerate(worlds)
    )
    bound = lower_bound(
        first,
        second,
        alpha=alpha,
        delta=delta,
        one_sided=one_sided,
        inputs=worlds,
        features=features,
    )
    if bound.epsilon > epsilon:
        raise AssertionError(
            f"claimed epsilon {epsilon:g}, audited {bound}. Runs were made from seed {seed}; the "
            "worlds are those of the test, so this says nothing about anybody's data."
        )
    return bound
