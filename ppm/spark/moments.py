"""Points in time as callers give them."""

from __future__ import annotations

from datetime import datetime

from ppm.errors import BindingError
from ppm.spec.instant import microseconds_since_1970, parse_instant


def microseconds(moment: str | datetime, name: str) -> int:
    """A point in time as streams count it; errors call it by the name of the argument."""
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            raise BindingError(f"{name} is a time without a zone; give it one")
        return microseconds_since_1970(moment)
    try:
        return microseconds_since_1970(parse_instant(moment))
    except ValueError as error:
        raise BindingError(f"{name} is {moment}; {error}") from None
