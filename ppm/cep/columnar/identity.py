"""The names of matches (`ppm.cep.identity`), whole columns at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppm.cep.columnar.conditions import Ints
from ppm.cep.columnar.jit import kernel
from ppm.cep.identity import GOLDEN, NUMBER_SEEDS, TEXT_SEEDS, digest

Lanes = npt.NDArray[np.uint64]
"""One row for each value, two columns."""

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _8 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(8)
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


@kernel
def mix(word: np.uint64) -> np.uint64:
    """One round of splitmix64."""
    word = word + _GOLDEN
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@kernel
def number_digests(values: Lanes, seeds: Lanes) -> Lanes:
    """Of whole numbers, given as their 64 bits."""
    lanes = np.empty((values.size, 2), np.uint64)
    for at in range(values.size):
        for lane in range(2):
            lanes[at, lane] = mix(values[at] ^ seeds[lane])
    return lanes


@kernel
def text_digests(starts: Ints, data: npt.NDArray[np.uint8], seeds: Lanes) -> Lanes:
    """Of texts, given as where each starts among all bytes."""
    lanes = np.empty((starts.size - 1, 2), np.uint64)
    for at in range(starts.size - 1):
        start, end = starts[at], starts[at + 1]
        for lane in range(2):
            state = mix(np.uint64(end - start) ^ seeds[lane])
            for begin in range(start, end, 8):
                word = np.uint64(0)
                for place in range(min(begin + 8, end) - 1, begin - 1, -1):
                    word = (word << _8) | np.uint64(data[place])
                state = mix(state ^ word)
            lanes[at, lane] = state
    return lanes


@kernel
def match_lanes(
    start: Lanes,
    subjects: Lanes,
    subject: Ints,
    match: Ints,
    stages: Lanes,
    stage: Ints,
    times: Ints,
    events: Lanes,
    twins: Ints,
) -> Lanes:
    """Of matches, whose events stand one after the other."""
    lanes = np.empty((subject.size, 2), np.uint64)
    for lane in range(2):
        for at in range(subject.size):
            lanes[at, lane] = mix(start[lane] ^ subjects[subject[at], lane])
        for at in range(match.size):
            state = mix(lanes[match[at], lane] ^ stages[stage[at], lane])
            state = mix(state ^ np.uint64(times[at]))
            state = mix(state ^ events[at, lane])
            lanes[match[at], lane] = mix(state ^ np.uint64(twins[at]))
    return lanes


def digests(values: pa.Array) -> Lanes:
    """Of texts or whole numbers, none of them null."""
    if pa.types.is_integer(values.type):
        words = pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False).view(np.uint64)
        return number_digests(np.ascontiguousarray(words), np.array(NUMBER_SEEDS, np.uint64))
    texts = pc.cast(values, pa.large_string())
    _, starts, data = texts.buffers()
    offsets = np.frombuffer(starts, np.int64, len(texts) + 1, texts.offset * 8)
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return text_digests(offsets, held, np.array(TEXT_SEEDS, np.uint64))


def match_names(
    pattern: str,
    stages: tuple[str, ...],
    *,
    subjects: pa.Array,
    subject: Ints,
    match: Ints,
    stage: Ints,
    times: Ints,
    events: pa.Array,
    twins: Ints,
) -> pa.Array:
    """The names of matches as texts; from `match` on, arguments have one entry for each event."""
    lanes = match_lanes(
        np.array(digest(pattern), np.uint64),
        digests(subjects),
        subject,
        match,
        np.array([digest(name) for name in stages], np.uint64).reshape(-1, 2),
        stage,
        times,
        digests(events),
        twins,
    )
    return _as_hex(lanes)


def _as_hex(lanes: Lanes) -> pa.Array:
    data = lanes.astype(">u8").view(np.uint8).reshape(len(lanes), 16)
    text = np.empty((len(lanes), 32), np.uint8)
    text[:, 0::2], text[:, 1::2] = _HEX[data >> 4], _HEX[data & 15]
    starts = np.arange(0, 32 * (len(lanes) + 1), 32, dtype=np.int64)
    buffers = [None, pa.py_buffer(starts.tobytes()), pa.py_buffer(text.tobytes())]
    wide = pa.Array.from_buffers(pa.large_string(), len(lanes), buffers)
    return pc.cast(wide, pa.string())
