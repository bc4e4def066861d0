"""Mechanisms with a known bug, each with its right twin: the auditor must tell them apart.

Worlds are what happened to one subject: bits of one slot, or one text of events for each slot.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ppm.audit import Outputs, Sample

Rng = np.random.Generator
Bits = npt.NDArray[np.int64]
Stream = tuple[str, ...]

EPSILON = 1.0
"""What every mechanism here claims for one change, unless its row says otherwise."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A bug, the worlds that show it, and the same mechanism without it."""

    name: str
    worlds: tuple[Any, Any]
    broken: Sample[Any]
    right: Sample[Any]
    claim: float = EPSILON
    one_sided: bool = False
    runs: int = 2_000


def flip_probability(epsilon: float) -> float:
    return 1 / (1 + math.exp(epsilon))


def many(world: Any, runs: int) -> Bits:
    """The bits of a world, once for each run."""
    return np.tile(np.atleast_1d(np.asarray(world)), (runs, 1))


def response(epsilon: float) -> Sample[Any]:
    """Each bit flips by a draw of its own."""

    def sample(world: Any, runs: int, rng: Rng) -> Bits:
        bits = many(world, runs)
        return bits ^ (rng.random(bits.shape) < flip_probability(epsilon))

    return sample


def only_if(is_noised: Callable[[Any], bool], epsilon: float) -> Sample[Any]:
    """Response on some worlds, the truth in the others: whether there is noise tells."""

    def sample(world: Any, runs: int, rng: Rng) -> Outputs:
        return response(epsilon)(world, runs, rng) if is_noised(world) else many(world, runs)

    return sample


def windows(number: int, *, is_redrawn: bool) -> Sample[Any]:
    """The bit of a slot as each of the sliding windows over it shows it."""

    def sample(world: Any, runs: int, rng: Rng) -> Bits:
        draws = rng.random((runs, number if is_redrawn else 1))
        return many([world] * number, runs) ^ (draws < flip_probability(EPSILON))

    return sample


def rows(*, real_payload: bool) -> Sample[Any]:
    """A released row carries the stand-in's payload, or, wrongly, the real one where there is."""

    def sample(world: Any, runs: int, rng: Rng) -> list[tuple[tuple[str, float], ...]]:
        shown = [bool(bit) for bit in np.asarray(response(EPSILON)(world, runs, rng))]
        payloads = rng.normal(70, 10, runs) if real_payload and world else np.zeros(runs)
        return [
            (("medicine", float(payload)),) if bit else ()
            for bit, payload in zip(shown, payloads, strict=True)
        ]

    return sample


def two_columns(*, words: int) -> Sample[Any]:
    """Two columns of a row, with a noise word each or one for both."""

    def sample(world: Any, runs: int, rng: Rng) -> Bits:
        return many(world, runs) ^ (rng.random((runs, words)) < flip_probability(EPSILON))

    return sample


def any_match(slots: Stream, *, reach: int = 2) -> set[int]:
    """The slots that some match of `a -> b` touches, over all matches."""
    return {
        slot
        for first, one in enumerate(slots)
        for last in range(first + 1, min(first + reach, len(slots) - 1) + 1)
        if "a" in one and "b" in slots[last]
        for slot in range(first, last + 1)
    }


def next_match(slots: Stream) -> set[int]:
    """The slots that a match touches if each `a` takes the next `b` only, and then starts anew."""
    touched: set[int] = set()
    begun: int | None = None
    for slot, events in enumerate(slots):
        if begun is None and "a" in events:
            begun = slot
        elif begun is not None and "b" in events:
            touched |= set(range(begun, slot + 1))
            begun = None
    return touched


def decoys(touched_by: Callable[[Stream], set[int]]) -> Sample[Any]:
    """Slots that a match touches are withheld, others by chance; what is shown is true."""

    def sample(world: Stream, runs: int, rng: Rng) -> Bits:
        contents = {"": 1, "a": 2, "b": 3}
        withheld = rng.random((runs, len(world))) < math.exp(-EPSILON)
        withheld[:, sorted(touched_by(world))] = True
        return np.where(withheld, 0, [contents[events] for events in world])

    return sample


def float_laplace(world: float, runs: int, rng: Rng) -> npt.NDArray[np.float64]:
    return world + rng.laplace(0, 1 / EPSILON, runs)


def grid_laplace(world: float, runs: int, rng: Rng) -> npt.NDArray[np.float64]:
    """Discrete Laplace noise on multiples of 2^-10."""
    step = 2.0**-10
    stop = -math.expm1(-EPSILON * step)
    noise = rng.geometric(stop, runs) - rng.geometric(stop, runs)
    return np.asarray(world + step * noise, np.float64)


def decoys_of_communities(*, is_shared: bool) -> Sample[Any]:
    """Whether a slot is withheld from each of two communities, with epsilons 1 and 0.5."""

    def sample(world: Any, runs: int, rng: Rng) -> Bits:
        draws = rng.random((runs, 1 if is_shared else 2))
        return np.asarray(world | (draws < np.exp([-1.0, -0.5])), np.int64)

    return sample


def communities(*, is_nested: bool) -> Sample[Any]:
    """One bit for two communities that compare notes, with epsilons 1 and 0.5."""

    def sample(world: Any, runs: int, rng: Rng) -> Bits:
        fine, coarse = flip_probability(1.0), flip_probability(0.5)
        draws = rng.random((2, runs))
        first = many(world, runs)[:, 0] ^ (draws[0] < fine)
        extra = (coarse - fine) / (1 - 2 * fine)
        second = first ^ (draws[1] < extra) if is_nested else world ^ (draws[1] < coarse)
        return np.stack([first, second], axis=1)

    return sample


PLANTED = [
    Planted(
        "noise on completed matches only",
        worlds=((1, 1, 1), (0, 1, 1)),
        broken=only_if(all, EPSILON / 3),
        right=response(EPSILON / 3),
    ),
    Planted(
        "noise once a prefix was seen",
        worlds=((1, 0, 0), (0, 0, 0)),
        broken=only_if(lambda bits: bits[0] == 1, EPSILON / 3),
        right=response(EPSILON / 3),
    ),
    Planted(
        "empty slots left alone",
        worlds=((1, 1, 1), (0, 0, 0)),
        broken=only_if(any, EPSILON / 3),
        right=response(EPSILON / 3),
    ),
    Planted(
        "noise redrawn for each sliding window",
        worlds=(1, 0),
        broken=windows(4, is_redrawn=True),
        right=windows(4, is_redrawn=False),
    ),
    Planted(
        "the real payload passed through",
        worlds=(1, 0),
        broken=rows(real_payload=True),
        right=rows(real_payload=False),
    ),
    Planted(
        "fresh noise when a batch is replayed",
        worlds=(1, 0),
        broken=windows(2, is_redrawn=True),
        right=windows(2, is_redrawn=False),
    ),
    Planted(
        "the budget not split over types",
        worlds=((1, 1, 1), (0, 0, 0)),
        broken=response(EPSILON),
        right=response(EPSILON / 3),
    ),
    Planted("half the noise", worlds=(1, 0), broken=response(2 * EPSILON), right=response(EPSILON)),
    Planted(
        "one word for two columns",
        worlds=((0, 0), (0, 1)),
        broken=two_columns(words=1),
        right=two_columns(words=2),
    ),
    Planted(
        "decoys by skip-till-next, and a match that re-forms",
        worlds=(("a", "b", "b"), ("a", "", "b")),
        broken=decoys(next_match),
        right=decoys(any_match),
        one_sided=True,
    ),
    Planted("float noise", worlds=(0.0, 1.0), broken=float_laplace, right=grid_laplace, runs=5_000),
    Planted(
        "a decoy draw for each community",
        worlds=(1, 0),
        broken=decoys_of_communities(is_shared=False),
        right=decoys_of_communities(is_shared=True),
        one_sided=True,
    ),
    Planted(
        "independent noise for communities that collude",
        worlds=(1, 0),
        broken=communities(is_nested=False),
        right=communities(is_nested=True),
        runs=10_000,
    ),
]
