"""The secret that keys all noise: where it lies, how it is read, and that it is never shown."""

from __future__ import annotations

import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, Self

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ppm.errors import SecretError

BYTES = 32
"""The length of a secret; it is written as twice as many hexadecimal digits."""
_DIFFERENT = 12
"""How many different bytes a secret has at least; a random one has fewer once in 10^24 times."""

_KEPT = getattr(os, "O_CLOEXEC", 0)
"""No program that we start inherits the open file."""


class Secret:
    """Key material. It shows itself nowhere, and goes to no other process.

    >>> Secret(bytes(range(32)))
    Secret(...)
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) != BYTES:
            raise SecretError(f"a secret has {BYTES} bytes, not {len(key)}")
        self._key = key

    def derive(self, info: bytes) -> bytes:
        """A key for one purpose, from which neither the secret nor other keys can be found."""
        return HKDF(SHA256(), BYTES, salt=b"ppm noise 1", info=info).derive(self._key)

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret is not copied or pickled; send its SecretRef instead")


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret is found. It holds no key material, so it may stand in a plan.

    >>> SecretRef.variable("PPM_SECRET")
    SecretRef(kind='variable', name='PPM_SECRET')
    """

    kind: Literal["file", "variable"]
    name: str

    def __post_init__(self) -> None:
        if _looks_like_a_secret(self.name):
            raise SecretError(
                f"a {self.kind} was named by what looks like a secret itself; give the place where "
                "the secret lies, and take a new secret, because this one may have been logged"
            )

    def __repr__(self) -> str:
        shown = "..." if _looks_like_a_secret(self.name) else repr(self.name)
        return f"SecretRef(kind={self.kind!r}, name={shown})"

    @classmethod
    def file(cls, path: Path | str) -> Self:
        """A file that only its owner can read, as `ppm secret new` makes it."""
        return cls("file", str(path))

    @classmethod
    def variable(cls, name: str) -> Self:
        """An environment variable."""
        return cls("variable", name)

    def resolve(self) -> Secret:
        """Read the secret, in the process that needs it."""
        text = _read_file(self.name) if self.kind == "file" else _read_variable(self.name)
        where = self.name if self.kind == "file" else f"the variable {self.name}"
        try:
            key = bytes.fromhex(text.strip())
        except ValueError:
            key = b""
        if len(key) != BYTES:
            raise SecretError(
                f"{where} does not hold a secret, which is {2 * BYTES} hexadecimal digits; "
                "make one with: ppm secret new FILE"
            ) from None
        if len(set(key)) < _DIFFERENT:
            raise SecretError(
                f"{where} holds a secret that nobody drew at random; "
                "make one with: ppm secret new FILE"
            )
        return Secret(key)


def _looks_like_a_secret(name: str) -> bool:
    return re.search(rf"[0-9a-fA-F]{{{2 * BYTES}}}", name) is not None


def write_new_secret(path: Path) -> None:
    """Draw a secret into a new file that only its owner can read; it is never overwritten."""
    try:
        # O_EXCL also refuses a symbolic link, wherever it points.
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _KEPT, 0o600)
    except FileExistsError:
        raise SecretError(
            f"{path} exists; a secret is never overwritten, because what was released under it "
            "could not be replayed"
        ) from None
    except OSError as error:
        raise SecretError(f"{path} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(file, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(BYTES) + "\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        # Half a secret would stand in the way of a new one.
        path.unlink(missing_ok=True)
        raise SecretError(f"{path} cannot be written: {error.strerror}") from None


def _read_variable(name: str) -> str:
    text = os.environ.get(name)
    if text is None:
        raise SecretError(
            f"the variable {name} is not set; it must hold a secret, and there is no default"
        )
    return text


def _read_file(name: str) -> str:
    try:
        # A pipe without a writer would keep us waiting for ever.
        file = os.open(name, os.O_RDONLY | _KEPT | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise SecretError(
            f"{name} cannot be read: {error.strerror}; make a secret with: ppm secret new FILE"
        ) from None
    try:
        # Of the open file, not of its name, which may point elsewhere by now.
        found = os.fstat(file)
        mode = found.st_mode
        if not stat.S_ISREG(mode):
            raise SecretError(f"{name} is not a file")
        if os.name == "posix" and found.st_uid not in (0, os.geteuid()):
            raise SecretError(
                f"{name} belongs to another user, who can read it; take a file of your own"
            )
        if os.name == "posix" and mode & 0o077:
            raise SecretError(
                f"{name} can be used by others (mode {stat.S_IMODE(mode):03o}); "
                f"take that away with: chmod 600 {name}"
            )
        return os.read(file, 4 * BYTES).decode("ascii", errors="replace")
    finally:
        os.close(file)
