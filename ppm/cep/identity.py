"""The name of a match: 128 bits over what it consists of, the same whenever a stream is replayed.

Pattern, subject, stages, and the times and ids of the events go into it, and no other value. The
mixing is splitmix64 (Steele et al. 2014), which columns can do at memory speed. It spreads names
well, and hides nothing: who knows the parts can compute the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Lanes: TypeAlias = tuple[int, int]
"""Two independent halves."""

WORD = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
TEXT_SEEDS: Lanes = (0x8AED2A6ABF715880, 0x243F6A8885A308D3)
NUMBER_SEEDS: Lanes = (0x13198A2E03707344, 0xA4093822299F31D0)


def mixed(word: int) -> int:
    """One round: every bit of the result depends on every bit of the word."""
    word = (word + GOLDEN) & WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & WORD
    return word ^ (word >> 31)


def digest(value: int | str) -> Lanes:
    """A text or a whole number as two words; 1 and '1' differ.

    >>> digest(1) == digest("1")
    False
    """
    if isinstance(value, int):
        one, two = (mixed((value & WORD) ^ seed) for seed in NUMBER_SEEDS)
        return one, two
    data = value.encode()
    one, two = (mixed(len(data) ^ seed) for seed in TEXT_SEEDS)
    for start in range(0, len(data), 8):
        word = int.from_bytes(data[start : start + 8], "little")
        one, two = mixed(one ^ word), mixed(two ^ word)
    return one, two


def match_name(
    pattern: str, subject: int | str, events: Iterable[tuple[str, int, int | str, int]]
) -> str:
    """The name of a match; an event is its stage, time, id, and number among equal rows.

    >>> match_name("p", "", [("a", 0, 1, 0)])
    'bc3ebed3ebeb7ce0b59cba56271dcc7c'
    """
    lanes = digest(pattern)
    parts = [digest(subject)]
    for stage, time, event, twin in events:
        parts += [digest(stage), (time & WORD,) * 2, digest(event), (twin, twin)]
    for part in parts:
        lanes = mixed(lanes[0] ^ part[0]), mixed(lanes[1] ^ part[1])
    return "".join(f"{lane:016x}" for lane in lanes)
