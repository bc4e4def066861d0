"""A hard stop: which slots may still be released, decided before any data is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppm.dp.composition import slots_paid, slots_touched
from ppm.dp.mechanism import Values


@dataclass(frozen=True, slots=True)
class Filter:
    """The first slots of every horizon are open, as many as its budget pays for.

    It counts slots and nothing else: had it counted releases, the stop itself would tell what was
    released. A time that starts inside a slot touches one slot more than it is long, so the
    schedule repeats after that many: every stretch of that time, wherever it starts, touches no
    more open slots than the budget pays for.

    >>> four = Filter.of(epsilon=0.5, budget=1.0, over=4, slot=1)
    >>> four.is_open(np.arange(7))
    array([ True,  True, False, False, False,  True,  True])
    """

    paid: int
    """How many slots of each horizon are open."""
    period: int
    """After how many slots the schedule starts anew."""

    def __post_init__(self) -> None:
        if self.period < 1 or not 0 <= self.paid <= self.period:
            raise ValueError(
                f"{self.paid} of {self.period} slots are open; a horizon has at least one slot, "
                "and no more than all of them can be open"
            )

    @classmethod
    def of(cls, *, epsilon: float, budget: float, over: int, slot: int) -> Filter:
        """The filter for a budget over a time, in whole microseconds; a slot costs epsilon."""
        period = slots_touched(over, slot)
        return cls(period if epsilon == 0 else min(period, slots_paid(budget, epsilon)), period)

    def is_open(self, slots: Values) -> npt.NDArray[np.bool_]:
        """Which slots may be released; slot 0 is the first of a horizon."""
        return np.asarray(slots % self.period < self.paid)

    def open_within(self, slots: int) -> int:
        """The most open slots in any stretch of so many slots."""
        whole, rest = divmod(slots, self.period)
        return whole * self.paid + min(rest, self.paid)
