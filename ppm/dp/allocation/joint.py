"""What a joint group tells its consumers: the plain joint response, or a channel made for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ppm.dp.allocation.adaptive import NO_BETTER
from ppm.dp.allocation.linear import MOST_TYPES, linear_channel
from ppm.dp.allocation.need import Need, worth
from ppm.dp.mechanisms.channel import Channel
from ppm.dp.prior import Prior
from ppm.dp.utility import Joint, Tabled


def better_channel(
    types: Sequence[str], epsilon: float, needs: Sequence[Need], prior: Prior
) -> Channel | None:
    """The channel of the linear programme if it is worth more than the plain joint response.

    None if it is not, or if the group has too many types for one: the linear loss is near Q, and
    not the same, so that what is worth more is decided by Q itself.

    >>> half = Prior.independent(dict.fromkeys("abc", 0.5))
    >>> better_channel("abc", 1.0, [Need("all", frozenset("abc"))], half) is None
    False
    >>> better_channel("abcdef", 1.0, [Need("all", frozenset("abc"))], half) is None
    True
    """
    wanted = [need for need in needs if not need.types.isdisjoint(types)]
    if not wanted or not 1 < len(types) <= MOST_TYPES:
        return None  # of one type, the joint response is the best there is
    best, most = None, worth(wanted, [Joint(frozenset(types), epsilon)], prior)
    # Where all want precision only, to show nothing loses nothing; but Q has no use for that.
    balanced = [replace(need, alpha=0.5) for need in wanted]
    for tried in dict.fromkeys([tuple(wanted), tuple(balanced)]):
        try:
            channel = linear_channel(types, epsilon, tried, prior)
        except ArithmeticError:
            continue  # what the solver cannot do, the plain response can
        found = worth(wanted, [Tabled.of(types, channel)], prior)
        if found > most + NO_BETTER:
            best, most = channel, found
    return best
