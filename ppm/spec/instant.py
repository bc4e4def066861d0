"""Points in time as people write them: never without a zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime

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
