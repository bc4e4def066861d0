"""What every declaration has in common: frozen, strict, and unknown keys are refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ppm.spec.values import Name

Item = TypeVar("Item")
Many = Annotated[tuple[Item, ...], Field(strict=False)]
"""A list in YAML, which is immutable once read."""

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class FrozenDict(dict[Key, Entry]):
    """A mapping that cannot be changed, so that whoever holds a declaration can rely on it.

    >>> FrozenDict(a=1)["a"]
    1
    >>> FrozenDict(a=1).update(b=2)
    Traceback (most recent call last):
    TypeError: declarations cannot be changed; make a new one
    """

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("declarations cannot be changed; make a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type[FrozenDict[Key, Entry]], tuple[dict[Key, Entry]]]:
        return FrozenDict, (dict(self),)


FROZEN = AfterValidator(FrozenDict)
Table = Annotated[dict[Key, Entry], FROZEN]
"""A mapping in YAML, which is immutable once read."""

Text = Annotated[str, Field(max_length=4_000)]


class Spec(BaseModel):
    """A declaration. The type that a user configures is not the type that runs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    noun: ClassVar[str]
    """What messages call it."""
    short_forms: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Keys that may be written in place of another, and are expanded before anything is checked."""

    @classmethod
    def short_forms_of(cls, key: str) -> list[str]:
        """What may be written in place of a key."""
        return [short for short, long in cls.short_forms.items() if long == key]

    def as_plain(self) -> dict[str, Any]:
        """What a YAML file that declares this would hold: plain values, defaults left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class Declaration(Spec):
    """A spec that is a file of its own."""

    name: Name
    """What other files call it."""


class Refusal(ValueError):
    """Declarations that are well formed but make no sense; each with the place inside the model.

    The sentence goes on after the place: `Refusal.at(("stages", 2), "is optional; ...")`.
    """

    def __init__(self, faults: list[tuple[tuple[str | int, ...], str]]) -> None:
        self.faults = faults
        super().__init__("; ".join(sentence for _, sentence in faults))

    @classmethod
    def at(cls, path: tuple[str | int, ...], sentence: str) -> Refusal:
        """One fault at one place."""
        return cls([(path, sentence)])
