"""Points in time as people write them: never without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

INSTANT_PATTERN = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)


def parse_instant(text: str) -> datetime:
    """A date and time with its offset from UTC.

    >>> parse_instant("2026-03-01T08:00:00+01:00").isoformat()
    '2026-03-01T08:00:00+01:00'
    """
    needed = "a time with its offset is needed, such as 2026-03-01T08:00:00+01:00"
    if not re.fullmatch(INSTANT_PATTERN, text):
        raise ValueError(needed)
    try:
        moment = datetime.fromisoformat(text)
        moment.astimezone(UTC)  # fails in the first and the last hours that Python can count
    except (ValueError, OverflowError):
        raise ValueError(needed) from None
    return moment


def microseconds_since_1970(moment: datetime) -> int:
    """A point in time as streams count it, without rounding.

    >>> microseconds_since_1970(parse_instant("1970-01-01T01:00:00.000001+01:00"))
    1
    """
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
