"""Points in time as people write them: never without a zone."""

from __future__ import annotations

import re
from datetime import datetime

_INSTANT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})", re.ASCII
)
INSTANT_PATTERN = _INSTANT.pattern


def parse_instant(text: str) -> datetime:
    """A date and time with its offset from UTC.

    >>> parse_instant("2026-03-01T08:00:00+01:00").isoformat()
    '2026-03-01T08:00:00+01:00'
    """
    needed = "a time with its offset is needed, such as 2026-03-01T08:00:00+01:00"
    if not _INSTANT.fullmatch(text):
        raise ValueError(needed)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(needed) from None
