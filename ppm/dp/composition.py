"""What one change of a stream costs: over types, slots, patterns and colluding communities."""

import math
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction

from ppm.dp.epsilon import as_written, check_epsilon

DAY = 86_400_000_000
"""A day in microseconds."""


def change_cost(shares: Mapping[str, float], types: Collection[str]) -> float:
    """What a change of these types in one slot costs under `response`; other types are free.

    >>> change_cost({"home": 0.5, "clinic": 0.25, "shop": 0.25}, {"home", "clinic"})
    0.75
    """
    return math.fsum(check_epsilon(shares[name]) for name in set(types) & shares.keys())


def instance_cost(shares: Mapping[str, float], touched: Iterable[Collection[str]]) -> float:
    """What one match costs under `response`, given the types that it changes in each slot.

    >>> instance_cost({"home": 0.5, "clinic": 0.25}, [{"home"}, {"home", "clinic"}])
    1.25
    """
    return math.fsum(change_cost(shares, types) for types in touched)


def union_cost(shares: Mapping[str, float], patterns: Iterable[Collection[str]]) -> float:
    """What a change of one slot costs that touches several patterns: a shared type pays once.

    >>> union_cost({"home": 0.5, "clinic": 0.25, "shop": 0.25}, ["home clinic".split(), ["clinic"]])
    0.75
    """
    return change_cost(shares, {name for types in patterns for name in types})


def total_cost(parts: Iterable[tuple[float, int]]) -> Fraction:
    """The sum of epsilons that are paid so many times each, as written and without rounding.

    >>> total_cost([(0.1, 3), (0.7, 1)])
    Fraction(1, 1)
    """
    return sum((as_written(epsilon) * times for epsilon, times in parts), Fraction(0))


def slots_cost(epsilon: float, slots: int) -> float:
    """What a change that touches so many slots costs at most.

    >>> slots_cost(0.1, 96)
    9.6
    """
    if slots < 0:
        raise ValueError(f"slots is {slots}; it must be at least 0")
    return float(as_written(epsilon) * slots)


def horizon_cost(epsilon: float, over: int, *, slot: int) -> float:
    """What all slots of a time cost together, in whole microseconds.

    >>> horizon_cost(0.1, DAY, slot=900_000_000)
    9.6
    """
    return slots_cost(epsilon, slots_in(over, slot))


def slots_in(duration: int, slot: int) -> int:
    """How many slots a time takes that starts on a slot's border, in whole microseconds.

    >>> slots_in(DAY, slot=900_000_000)
    96
    """
    if slot < 1:
        raise ValueError(f"slot is {slot}; it must be at least 1")
    return -(-duration // slot)


def slots_touched(duration: int, slot: int) -> int:
    """How many slots a time has a part of at most, if it may start inside one.

    >>> slots_touched(DAY, slot=900_000_000)
    97
    """
    return slots_in(duration, slot) + 1


def slots_paid(budget: float, epsilon: float) -> int:
    """How many slots a budget pays for, with both numbers read as written.

    >>> slots_paid(1.0, 0.1)
    10
    """
    if check_epsilon(epsilon) == 0:
        raise ValueError("epsilon is 0; slots that cost nothing never use a budget up")
    return as_written(budget) // as_written(epsilon)


def groups_by_shared_types(patterns: Mapping[str, Collection[str]]) -> tuple[frozenset[str], ...]:
    """The patterns that share types, directly or through others, group by group.

    >>> found = groups_by_shared_types({"p": ["a", "b"], "q": ["c"], "r": ["b", "d"]})
    >>> [sorted(names) for names in found]
    [['p', 'r'], ['q']]
    """
    groups: list[tuple[frozenset[str], frozenset[str]]] = []
    for name, types in patterns.items():
        names, reached = frozenset({name}), frozenset(types)
        apart = []
        for other_names, other_types in groups:
            # Groups share no type among themselves, so the pattern's own types decide.
            if other_types.isdisjoint(types):
                apart.append((other_names, other_types))
            else:
                names, reached = names | other_names, reached | other_types
        groups = [*apart, (names, reached)]
    order = list(patterns)
    return tuple(
        sorted((names for names, _ in groups), key=lambda group: min(map(order.index, group)))
    )


def decoy_cost(epsilons: Iterable[float]) -> float:
    """What one slot costs under decoys: patterns share one draw, with the smallest epsilon.

    >>> decoy_cost([2.0, 1.0])
    1.0
    """
    return min((check_epsilon(epsilon) for epsilon in epsilons), default=0.0)


def colluding_response(communities: Iterable[Mapping[str, float]]) -> float:
    """What communities learn together from nested `response` chains, one chain for each type.

    It is the largest community's epsilon only if the communities have one order for all types.

    >>> colluding_response([{"a": 1.0, "b": 0.5}, {"a": 0.25, "b": 0.75}])
    1.75
    """
    largest: dict[str, float] = {}
    for shares in communities:
        for name, epsilon in shares.items():
            largest[name] = max(check_epsilon(epsilon), largest.get(name, 0.0))
    return math.fsum(largest.values())


def colluding_nested(epsilons: Iterable[float]) -> float:
    """What communities learn together from one chain: a joint group, or decoys on equal patterns.

    >>> colluding_nested([2.0, 1.0, 0.5, 0.25])
    2.0
    """
    return max((check_epsilon(epsilon) for epsilon in epsilons), default=0.0)


def colluding_independent(epsilons: Iterable[float]) -> float:
    """What communities learn together from noise that is not nested, or of different mechanisms.

    >>> colluding_independent([2.0, 1.0, 0.5, 0.25])
    3.75
    """
    return math.fsum(check_epsilon(epsilon) for epsilon in epsilons)


def colluding_chains(chains: Iterable[Collection[float]]) -> float:
    """What communities learn together from several chains: the largest of each, in sum.

    >>> colluding_chains([[2.0, 1.0, 0.5], [0.25]])
    2.25
    """
    return math.fsum(colluding_nested(epsilons) for epsilons in chains)
