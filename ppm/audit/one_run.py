"""Guesses about the canaries of one run, by what was learnt on a part of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ppm.audit.canaries import CanaryBound, guess, score_guesses
from ppm.audit.symbols import Outputs, spell
from ppm.audit.worlds import TRAINING

_SHARES = [sixteenths / 16 for sixteenths in range(1, 17)]
"""The shares of canaries about which a guess may be made."""


def one_run_bound(outputs: Outputs, planted: npt.ArrayLike, *, beta: float = 0.05) -> CanaryBound:
    """The epsilon that guesses about one run's canaries refute, wrong with chance beta.

    How much likelier each output is where a canary was planted, and about how many canaries it is
    best to guess, is learnt on 30 % of them. Guesses are made about the others only.

    >>> rng = np.random.default_rng(1)
    >>> planted = rng.random(2000) < 0.5
    >>> seen = planted ^ (rng.random(2000) < 1 / (1 + np.e))  # a response with epsilon 1
    >>> print(one_run_bound(seen, planted))
    epsilon >= 0.8768 (beta 0.05, delta 0): 954 of 1312 guesses about 1400 canaries were right
    """
    truth = np.asarray(planted, np.bool_)
    if len(outputs) != truth.size:
        raise ValueError(f"there are {len(outputs)} outputs of {truth.size} canaries")
    training = np.arange(truth.size) < TRAINING * truth.size
    alphabet = spell(outputs, training)
    counts = [
        np.bincount(alphabet.codes[training & side], minlength=alphabet.size) + 0.5
        for side in (truth, ~truth)
    ]
    scores = np.log(counts[0] / counts[0].sum() / (counts[1] / counts[1].sum()))[alphabet.codes]
    tested = int(np.count_nonzero(~training))
    number = _how_many(scores[training], truth[training], tested, beta)
    return score_guesses(truth[~training], guess(scores[~training], number), beta=beta)


def _how_many(
    scores: npt.NDArray[np.float64], truth: npt.NDArray[np.bool_], tested: int, beta: float
) -> int:
    """The number of guesses that promises the largest bound, by how they would do on these."""
    z = math.sqrt(-2 * math.log(beta))

    def promised(share: float) -> float:
        made = max(1, round(share * truth.size))
        right = np.count_nonzero(guess(scores, made) == np.where(truth, 1, -1)) / made
        # Scores look best on what they were learnt on, and most so on a few of them.
        right -= 0.5 / math.sqrt(made)
        return right - z * math.sqrt(max(right * (1 - right), 0.01) / (share * tested))

    return round(max(_SHARES, key=promised) * tested)
