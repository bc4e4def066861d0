"""Where a secret comes from, and what is refused."""

from __future__ import annotations

import copy
import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from ppm.dp.secret import Secret, SecretRef, write_new_secret
from ppm.errors import SecretError

KEY = bytes(range(32))


def written(path: Path, text: str, mode: int = 0o600) -> SecretRef:
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return SecretRef.file(path)


def test_a_new_secret_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_new_secret(tmp_path / "one")
    finally:
        os.umask(before)
    write_new_secret(tmp_path / "other")
    assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600
    one, other = (SecretRef.file(tmp_path / name).resolve() for name in ("one", "other"))
    assert one.derive(b"a") != other.derive(b"a")


def test_a_secret_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    write_new_secret(path)
    text = path.read_text("ascii")
    with pytest.raises(SecretError, match="never overwritten"):
        write_new_secret(path)
    assert path.read_text("ascii") == text


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SecretError, match="exists"):
        write_new_secret(tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="cannot be written: No such file"):
        write_new_secret(tmp_path / "none" / "secret")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o777])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    ref = written(tmp_path / "secret", KEY.hex(), mode)
    with pytest.raises(SecretError, match=f"mode {mode:o}.*chmod 600"):
        ref.resolve()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_file_of_its_owner_is_read(tmp_path: Path, mode: int) -> None:
    ref = written(tmp_path / "secret", KEY.hex() + "\n", mode)
    assert ref.resolve().derive(b"a") == Secret(KEY).derive(b"a")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param("", "does not hold a secret", id="empty"),
        pytest.param("correct horse", "does not hold a secret", id="a password"),
        pytest.param(KEY.hex()[:-2], "does not hold a secret", id="too short"),
        pytest.param(KEY.hex() + "00", "does not hold a secret", id="too long"),
        pytest.param(KEY.hex() + "\n" * 200 + "00", None, id="blank space after it"),
        pytest.param("ø" * 64, "does not hold a secret", id="no digits"),
        pytest.param("00" * 32, "nobody drew at random", id="zeros"),
        pytest.param("deadbeef" * 8, "nobody drew at random", id="a word again and again"),
    ],
)
def test_only_a_secret_is_a_secret(tmp_path: Path, text: str, fault: str | None) -> None:
    ref = written(tmp_path / "secret", text)
    if fault is None:
        ref.resolve()
        return
    with pytest.raises(SecretError, match=fault) as refused:
        ref.resolve()
    assert not text or text not in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="cannot be read: No such file"):
        SecretRef.file(tmp_path / "none").resolve()
    with pytest.raises(SecretError, match="is not a file"):
        SecretRef.file(tmp_path).resolve()


def test_a_variable_must_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PPM_TEST_SECRET", KEY.hex())
    ref = SecretRef.variable("PPM_TEST_SECRET")
    assert ref.resolve().derive(b"a") == Secret(KEY).derive(b"a")
    monkeypatch.delenv("PPM_TEST_SECRET")
    with pytest.raises(SecretError, match=r"PPM_TEST_SECRET is not set.*no default"):
        ref.resolve()


def test_a_secret_shows_itself_nowhere() -> None:
    secret = Secret(KEY)
    for text in (repr(secret), str(secret), f"{secret}", f"{[secret]}"):
        assert "Secret(...)" in text
        assert "0001" not in text
    for copied in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not copied or pickled"):
            copied(secret)
    with pytest.raises(SecretError, match="has 32 bytes, not 3"):
        Secret(b"abc")


@pytest.mark.parametrize("name", [KEY.hex(), KEY.hex().upper(), f"secrets/{KEY.hex()}\n"])
def test_a_secret_in_place_of_its_name_is_refused_and_not_shown(name: str) -> None:
    for make in (SecretRef.file, SecretRef.variable):
        with pytest.raises(SecretError, match="looks like a secret itself") as refused:
            make(name)
        assert name.strip() not in str(refused.value)
        held = object.__new__(SecretRef)
        object.__setattr__(held, "kind", "file")
        object.__setattr__(held, "name", name)
        assert repr(held) == "SecretRef(kind='file', name=...)"


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes with names")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    found: list[str] = []

    def read() -> None:
        with pytest.raises(SecretError) as refused:
            SecretRef.file(tmp_path / "pipe").resolve()
        found.append(str(refused.value))

    waiting = threading.Thread(target=read, daemon=True)
    waiting.start()
    waiting.join(timeout=10)
    assert len(found) == 1
    assert found[0].endswith("is not a file")


@pytest.mark.skipif(os.name != "posix", reason="files have no owners")
def test_a_file_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = written(tmp_path / "secret", KEY.hex())
    owner = (tmp_path / "secret").stat().st_uid
    fstat = os.fstat

    def of_another(file: int) -> os.stat_result:
        fields = [*fstat(file)]
        fields[stat.ST_UID] = owner + 1
        return os.stat_result(fields)

    monkeypatch.setattr(os, "fstat", of_another)
    with pytest.raises(SecretError, match="belongs to another user"):
        ref.resolve()


def test_a_secret_that_could_not_be_written_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SecretError, match="cannot be written: No space left"):
        write_new_secret(tmp_path / "secret")
    assert not (tmp_path / "secret").exists()


def test_an_open_secret_is_not_inherited_by_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags: list[int] = []
    open_file = os.open

    def noted(path: str, how: int, mode: int = 0o777) -> int:
        flags.append(how)
        return open_file(path, how, mode)

    monkeypatch.setattr(os, "open", noted)
    write_new_secret(tmp_path / "secret")
    SecretRef.file(tmp_path / "secret").resolve()
    assert len(flags) == 2
    assert all(how & os.O_CLOEXEC for how in flags)
