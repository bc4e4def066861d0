"""What a random word is drawn for: whatever differs here draws from another key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Purpose:
    """The public facts that a key is derived from, besides the secret.

    >>> visit = Purpose("marvin", 1, "response", ("clinic",), stages=("epsilon 2.0",))
    >>> visit.then("epsilon 1.0").stages
    ('epsilon 2.0', 'epsilon 1.0')
    """

    policy: str
    version: int
    mechanism: str
    names: tuple[str, ...]
    """The column, type, query, or group of types that is noised."""
    grid: str = ""
    """The grid that its numbers lie on, if they are numbers."""
    stages: tuple[str, ...] = ()
    """The parameters of every stage of the chain so far, this one included."""

    def __post_init__(self) -> None:
        for field in ("names", "stages"):
            texts = getattr(self, field)
            if not isinstance(texts, tuple) or not all(isinstance(one, str) for one in texts):
                # A text alone would be read as its letters.
                raise TypeError(f"{field} of a purpose are {type(texts).__name__}, not texts")

    @classmethod
    def group(cls, policy: str, version: int, mechanism: str, names: Iterable[str]) -> Purpose:
        """The draw for several names together, whatever order they are given in."""
        if isinstance(names, str):
            raise TypeError("names of a purpose are one text; give a list of texts")
        return cls(policy, version, mechanism, tuple(sorted(set(names))))

    @classmethod
    def decoys(cls, policy: str, version: int, patterns: Iterable[str]) -> Purpose:
        """The draw that all communities share which hide these patterns behind decoys.

        It names no epsilon: one uniform, compared with each community's own threshold, costs
        colluding communities the largest of their epsilons. It does name the patterns: under one
        uniform for two sets of patterns, a slot that only one community withholds would prove a
        match of the other's patterns.
        """
        return cls.group(policy, version, "decoy", patterns)

    def then(self, stage: str) -> Purpose:
        """The purpose of the next stage of a chain."""
        return replace(self, stages=(*self.stages, stage))

    def encoded(self) -> bytes:
        """All fields as bytes; different purposes never give the same.

        Every text has its length before it and every list its number of texts, so that
        ("ab", "c") and ("a", "bc") differ.
        """
        fields = (
            (self.policy,),
            (str(self.version),),
            (self.mechanism,),
            self.names,
            (self.grid,),
            self.stages,
        )
        return b"".join(_list(field) for field in fields)


def _list(texts: tuple[str, ...]) -> bytes:
    return _length(len(texts)) + b"".join(
        _length(len(raw)) + raw for raw in (text.encode() for text in texts)
    )


def _length(number: int) -> bytes:
    return number.to_bytes(8, "little")
