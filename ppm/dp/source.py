"""Random words that replay: a keyed function of who, when and what, and of nothing else.

A word is a part of AES_K(AES_K(B1) xor B2), where K belongs to one purpose and

    B1 = hash of the subject (96 bits) | number of the pair of words (32 bits)
    B2 = slot, event or epoch (64 bits) | true value (64 bits).

Two blocks, because hash, moment and value do not fit into one. This is CBC-MAC over messages of
exactly two blocks, which for a fixed length is a pseudo-random function if AES is one (Bellare,
Kilian, Rogaway 1994): q words are told from random ones with advantage of about (2q)^2/2^128. All
fields have fixed widths, so different draws are different messages; only the hash can collide, and
it is keyed, so that nobody can look for a subject that collides with another one (for 10^9 subjects
the probability that any two do is below 10^-11).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Literal, NoReturn

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from ppm.dp.mechanism import Values, Words
from ppm.dp.purpose import Purpose
from ppm.dp.secret import Secret, SecretRef
from ppm.errors import SecretError, did_you_mean

Tags = npt.NDArray[np.uint64]
"""Keyed hashes of subjects, one a row: 64 bits, then 32 bits."""
Mode = Literal["production", "evaluation"]

_TAG_BYTES = 12
_BLOCK = np.dtype("<u8")  # blocks are the same bytes on every machine
_CHUNK = 1 << 14
"""How many blocks are encrypted at a time: they stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A reference to noise that anybody can compute again: for experiments, never for people."""

    number: int

    def open(self) -> Source:
        """The source of this seed, which says of itself that it is not private."""
        key = hashlib.sha256(b"ppm evaluation " + str(self.number).encode()).digest()
        return Source(Secret(key), mode="evaluation")


class Source:
    """Where all random words come from, for one secret.

    >>> source = Seed(7).open()
    >>> source
    Source(evaluation)
    >>> bits = source.stream(Purpose("marvin", 1, "response", ("clinic",)))
    >>> tags = source.tags(["marvin", "trillian"])
    >>> bits.words(tags, np.array([1, 1]), np.array([0, 1])).shape
    (2, 1)
    """

    __slots__ = ("_mode", "_secret", "_tag_key")

    def __init__(self, secret: Secret, *, mode: Mode) -> None:
        self._secret = secret
        self._tag_key = secret.derive(b"subject")
        self._mode: Mode = mode

    @property
    def mode(self) -> Mode:
        """To be written on every output."""
        return self._mode

    @property
    def is_evaluation(self) -> bool:
        """Whether a seed stands in for the secret, so that nothing is private."""
        return self.mode == "evaluation"

    @property
    def fingerprint(self) -> str:
        """Tells secrets apart, and nothing else of them: a checkpoint knows its own by it."""
        return self._secret.derive(b"fingerprint")[:8].hex()

    def tags(self, subjects: Iterable[str | bytes | int]) -> Tags:
        """The keyed hashes of subjects, each given once; bytes are those of a text."""
        raw = b"".join(map(self._tag, subjects))
        found = np.zeros((len(raw) // _TAG_BYTES, 16), np.uint8)
        found[:, :_TAG_BYTES] = np.frombuffer(raw, np.uint8).reshape(-1, _TAG_BYTES)
        return found.view(_BLOCK).astype(np.uint64, copy=False)

    def stream(self, purpose: Purpose) -> Stream:
        """The words for one purpose."""
        return Stream(self._secret.derive(b"words" + purpose.encoded()))

    def _tag(self, subject: str | bytes | int) -> bytes:
        # The kind goes first: subject 1 and subject "1" are two subjects.
        if isinstance(subject, bytes):
            raw = b"s" + subject
        elif isinstance(subject, str):
            try:
                raw = f"s{subject}".encode()
            except UnicodeEncodeError:
                said = "a subject is no valid text: it holds half of a character"
                raise ValueError(said) from None
        elif isinstance(subject, Integral) and not isinstance(subject, bool):
            raw = f"i{int(subject)}".encode()  # numpy's integers are no `int`
        else:
            raise TypeError(f"a subject is {type(subject).__name__}; it must be a text or integer")
        return hashlib.blake2b(raw, digest_size=_TAG_BYTES, key=self._tag_key).digest()

    def __repr__(self) -> str:
        return f"Source({self.mode})"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a source is not copied or pickled; send its SecretRef or Seed instead")


class Stream:
    """The words of one purpose: equal for equal draws, however these are batched or ordered."""

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        self._cipher = Cipher(AES(key), ECB())  # single blocks of a CBC-MAC

    def words(
        self,
        tags: Tags,
        moments: Values,
        values: Values | None = None,
        *,
        count: int = 1,
        rows: npt.NDArray[np.intp] | None = None,
    ) -> Words:
        """So many words for each draw.

        A draw is a subject (its tag), a moment (slot, event or epoch) and the true value, 0 if left
        out; every stage of a chain has the value that the chain started from. With `rows`, draw i
        is of subject `tags[rows[i]]`, so that each subject is hashed and encrypted once.
        """
        size = len(moments)
        if len(tags if rows is None else rows) != size or (
            values is not None and len(values) != size
        ):
            raise ValueError("tags (or rows), moments and values must have one length")
        if rows is not None and size and not 0 <= int(rows.min()) <= int(rows.max()) < len(tags):
            raise ValueError(f"a row lies outside 0..{len(tags) - 1}")
        found = np.empty((size, count), np.uint64)
        for pair in range(-(-count // 2)):
            first = np.empty((len(tags), 2), _BLOCK)
            first[:, 0] = tags[:, 0]
            first[:, 1] = tags[:, 1] | np.uint64(pair << 32)
            heads = self._encrypt(first)
            for start in range(0, size, _CHUNK):
                part = slice(start, start + _CHUNK)
                blocks = heads[part] if rows is None else heads.take(rows[part], axis=0)
                blocks[:, 0] ^= _unsigned(moments[part])
                if values is not None:
                    blocks[:, 1] ^= _unsigned(values[part])
                wanted = found[part, 2 * pair : 2 * pair + 2]
                wanted[:] = self._encrypt(blocks)[:, : wanted.shape[1]]
        return found

    def _encrypt(self, blocks: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        encryptor = self._cipher.encryptor()
        flat = blocks.view(np.uint8).reshape(-1)
        found = np.empty(flat.size + 15, np.uint8)  # AES asks for room for one block more
        for start in range(0, flat.size, 16 * _CHUNK):
            part = flat[start : start + 16 * _CHUNK]
            encryptor.update_into(part.data, found[start:].data)
        return found[: flat.size].view(_BLOCK).reshape(-1, 2)

    def __repr__(self) -> str:
        return "Stream(...)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a stream of words is not copied or pickled; derive it where it is used")


def open_source(mode: Mode, *, secret: SecretRef | None = None, seed: int | None = None) -> Source:
    """The source for a mode: production takes a secret and no seed, evaluation a seed alone."""
    return source_of(reference(mode, secret=secret, seed=seed))


def reference(
    mode: Mode, *, secret: SecretRef | None = None, seed: int | None = None
) -> SecretRef | Seed:
    """Where the words of a mode come from, as it may stand in a plan."""
    if mode == "evaluation":
        if seed is None or secret is not None:
            raise SecretError("mode: evaluation takes a seed and no secret")
        return Seed(seed)
    if mode != "production":
        raise SecretError(f"mode is {mode}{did_you_mean(mode, ['production', 'evaluation'])}")
    if seed is not None:
        raise SecretError(
            "a seed was given in production: noise that anybody can compute again hides nothing; "
            "give a secret, or say mode: evaluation"
        )
    if secret is None:
        raise SecretError(
            "no secret was given, and there is no default; make one with: ppm secret new FILE"
        )
    return secret


@lru_cache(maxsize=16)
def source_of(noise: SecretRef | Seed) -> Source:
    """The source behind a reference, read once in each process that needs it."""
    if isinstance(noise, Seed):
        return noise.open()
    return Source(noise.resolve(), mode="production")


def _unsigned(numbers: Values) -> npt.NDArray[np.uint64]:
    if not np.issubdtype(numbers.dtype, np.signedinteger):
        raise TypeError(
            f"moments and values are {numbers.dtype}; they must be signed whole numbers"
        )
    return numbers.astype(np.int64, copy=False).view(np.uint64)
