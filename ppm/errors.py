"""What can go wrong, told so that a person can mend it: where, what was found, what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, or looks wrong, in what somebody declared.

    >>> print(Fault("epsilon is -1; it must be greater than 0", "policies/a.yaml", 5))
    policies/a.yaml:5: epsilon is -1; it must be greater than 0
    """

    message: str
    file: str | None = None
    line: int | None = None
    is_warning: bool = False

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        text = f"warning: {self.message}" if self.is_warning else self.message
        return f"{place}: {text}" if place else text


class PpmError(Exception):
    """Anything that a user of ppm can mend."""


class SpecError(PpmError):
    """A declaration is wrong. Carries every fault that was found, not only the first."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: tuple[Fault, ...] = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class BindingError(PpmError):
    """A declaration is right by itself, but does not fit the data it is used on."""


class BudgetError(PpmError):
    """More would have to be told than the budget allows."""


class CheckpointError(PpmError):
    """A stream's checkpoint belongs to something else, and cannot be gone on from."""


class SecretError(PpmError):
    """The secret that keys the noise is missing, unsafe or not a secret."""


class InternalError(Exception):
    """A fault of ppm itself, never of its user; please report it."""


def choices(allowed: Iterable[str], *, most: int = 30) -> str:
    """Name what is allowed, in a fixed order, without flooding the line.

    >>> choices(["b", "a"])
    'a, b'
    """
    names = sorted(allowed)
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def did_you_mean(found: str, allowed: Sequence[str]) -> str:
    """The tail of a message about a name that is not known.

    >>> did_you_mean("epsilom", ["epsilon", "mechanism"])
    '; did you mean epsilon?'
    >>> did_you_mean("x", ["epsilon", "mechanism"])
    '; allowed are epsilon, mechanism'
    """
    near = difflib.get_close_matches(found, allowed, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; allowed are {choices(allowed)}" if allowed else ""


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "fault"), counted(2, "fault")
    ('1 fault', '2 faults')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Sequence[str], before_last: str = "and") -> str:
    """Words as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], "or")
    ('a', 'a and b', 'a, b or c')
    """
    parts = [", ".join(words[:-1]), words[-1]] if len(words) > 1 else words
    return f" {before_last} ".join(parts)
