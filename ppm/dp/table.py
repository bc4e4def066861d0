"""From a random word to an outcome, by counts out of 2^64 and without any float."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from ppm.dp.exact import WORD
from ppm.dp.mechanism import Values

_GUIDE_BITS = 14
_GUIDE_FROM = 64
"""Below so many outcomes a binary search is as fast as a guide."""


class Table:
    """Outcomes 0, 1, and so on, each chosen by so many of the 2^64 words.

    >>> fair = Table([1 << 63, 1 << 63])
    >>> fair.choose(np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64))
    array([0, 0, 1, 1])
    """

    __slots__ = ("_edges", "_guide")

    def __init__(self, counts: Sequence[int]) -> None:
        if min(counts) < 0 or sum(counts) != WORD:
            raise ValueError("counts must not be negative, and must add to 2^64")
        # An outcome starts where the words of those before it end. Edges at 2^64, beyond the last
        # word, belong to outcomes without words.
        edges = [edge for edge in accumulate(counts) if edge < WORD]
        self._edges = np.array(edges, np.uint64)
        self._edges.flags.writeable = False
        self._guide = self._guided() if len(counts) > _GUIDE_FROM else None

    def choose(self, words: npt.NDArray[np.uint64]) -> Values:
        """The outcome of each word."""
        if self._guide is None:
            return self._search(words)
        found: Values = self._guide[words >> np.uint64(64 - _GUIDE_BITS)]
        unsure = np.flatnonzero(found < 0)
        found[unsure] = self._search(words[unsure])
        return found

    def _search(self, words: npt.NDArray[np.uint64]) -> Values:
        return np.searchsorted(self._edges, words, side="right").astype(np.int64, copy=False)

    def _guided(self) -> Values:
        """For the leading bits of a word its outcome, or -1 where the other bits decide."""
        low = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - _GUIDE_BITS)
        first = self._search(low)
        last = self._search(low | np.uint64((1 << (64 - _GUIDE_BITS)) - 1))
        return np.where(first == last, first, np.int64(-1))

    def __repr__(self) -> str:
        return f"Table({len(self._edges) + 1} outcomes)"
