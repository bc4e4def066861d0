"""Words that replay: pinned bytes, any batching, and separate keys for separate purposes."""

from __future__ import annotations

import hashlib
import hmac
import pickle
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from ppm.dp.mechanism import Values, Words
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.geo import GeoNoise, as_one_number
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.dp.nested.decoy import DecoyChain
from ppm.dp.nested.geo import GeoChain
from ppm.dp.nested.joint import JointChain
from ppm.dp.purpose import Purpose
from ppm.dp.secret import Secret, SecretRef
from ppm.dp.source import Seed, Source, open_source
from ppm.errors import SecretError

KEY = bytes(range(32))
PURPOSE = Purpose("follow-marvin", 3, "response", ("clinic",), "900 s", ("epsilon 1.0",))
GOLDEN = [
    ("marvin", 0, 0, 0x5462_27AC_16F8_3E78),
    ("marvin", 0, 1, 0x508A_4CF3_6F68_82CE),
    ("marvin", 1, 0, 0xF022_278E_04EF_889E),
    ("marvin", -1, -1, 0xA261_33FC_E0E9_8824),
    ("trillian", 0, 0, 0x4EBA_9719_C917_467B),
    ("Åse", 2**63 - 1, -(2**63), 0x5EE0_5DA5_4EC0_D869),
    (42, 0, 0, 0xDAC6_3276_91CD_E616),
    ("42", 0, 0, 0x283D_DE6B_2261_E828),
]
"""Subject, moment and value, with their first word: a change here breaks every running stream."""


def production() -> Source:
    return Source(Secret(KEY), mode="production")


def one_by_one(
    key: bytes, purpose: Purpose, subject: str | int, moment: int, value: int, count: int
) -> list[int]:
    """The same words by the text of the specification: HKDF, BLAKE2b and AES-CBC, byte by byte."""

    def derived(info: bytes) -> bytes:
        extracted = hmac.digest(b"ppm noise 1", key, "sha256")
        return hmac.digest(extracted, info + b"\x01", "sha256")

    def texts(*items: str) -> bytes:
        parts = [len(items).to_bytes(8, "little")]
        for item in items:
            parts += [len(item.encode()).to_bytes(8, "little"), item.encode()]
        return b"".join(parts)

    info = b"words" + b"".join(
        [
            texts(purpose.policy),
            texts(str(purpose.version)),
            texts(purpose.mechanism),
            texts(*purpose.names),
            texts(purpose.grid),
            texts(*purpose.stages),
        ]
    )
    kind = "i" if isinstance(subject, int) else "s"
    tag = hashlib.blake2b(f"{kind}{subject}".encode(), digest_size=12, key=derived(b"subject"))
    words: list[int] = []
    for pair in range(-(-count // 2)):
        message = tag.digest() + pair.to_bytes(4, "little")
        message += moment.to_bytes(8, "little", signed=True)
        message += value.to_bytes(8, "little", signed=True)
        chained = Cipher(AES(derived(info)), CBC(bytes(16))).encryptor().update(message)
        last = chained[-16:]
        words += [int.from_bytes(last[:8], "little"), int.from_bytes(last[8:], "little")]
    return words[:count]


@pytest.mark.parametrize(("subject", "moment", "value", "word"), GOLDEN)
def test_words_are_pinned(subject: str | int, moment: int, value: int, word: int) -> None:
    source = production()
    found = source.stream(PURPOSE).words(
        source.tags([subject]), np.array([moment]), np.array([value]), count=3
    )
    assert int(found[0, 0]) == word
    assert found[0].tolist() == one_by_one(KEY, PURPOSE, subject, moment, value, 3)


def test_noise_is_pinned() -> None:
    source = production()
    slots = np.arange(24)
    truth = slots % 2
    words = source.stream(PURPOSE).words(
        source.tags(["marvin"]), slots, truth, rows=np.zeros(24, np.intp)
    )
    shown = BinaryResponse(1.0).release(truth, words)
    assert "".join(map(str, shown)) == "010100100101111100010100"
    shown = KaryResponse(1.0, 5).release(truth, words)
    assert "".join(map(str, shown)) == "310330124131111132310122"
    shown = DiscreteLaplace(0.25, 64).release(truth + 30, words)
    assert shown.tolist() == [
        28,
        35,
        33,
        30,
        29,
        26,
        25,
        28,
        30,
        34,
        30,
        36,
        22,
        33,
        23,
        32,
        28,
        26,
        29,
        33,
        38,
        37,
        28,
        27,
    ]


def test_noise_of_several_words_and_stages_is_pinned() -> None:
    source = production()
    slots, rows = np.arange(4), np.zeros(4, np.intp)
    tags = source.tags(["marvin"])

    def draw(stage: int, truth: Values) -> Words:
        purpose = replace(PURPOSE, stages=tuple(f"stage {i}" for i in range(stage + 1)))
        value = as_one_number(truth) if truth.ndim == 2 else truth
        return source.stream(purpose).words(tags, slots, value, count=truth.ndim, rows=rows)

    cells = np.tile(np.array([[100, 200]]), (4, 1))
    noise = GeoNoise(0.00693, 25.0, columns=400, rows=400)
    assert noise.release(cells, draw(0, cells)).tolist() == [
        [97, 191],
        [113, 192],
        [100, 212],
        [99, 194],
    ]
    geo = GeoChain((0.02, 0.00693), 25.0, columns=400, rows=400).release(cells, draw)
    assert [told.tolist() for told in geo] == [
        [[99, 197], [105, 197], [100, 204], [100, 198]],
        [[94, 187], [109, 192], [106, 199], [117, 204]],
    ]
    vectors = JointChain((2.0, 1.0), types=((0, 1, 2), (1, 2))).release(np.full(4, 7), draw)
    assert [told.tolist() for told in vectors] == [[6, 0, 7, 5], [1, 0, 3, 2]]
    decoys = source.stream(Purpose.decoys("follow-marvin", 3, ["visit"]))
    withheld = DecoyChain((2.0, 0.5)).release(
        np.zeros(4, np.int64), decoys.words(tags, slots, rows=rows)
    )
    assert [told.tolist() for told in withheld] == [[0, 0, 0, 1], [0, 1, 1, 1]]


@pytest.fixture(scope="module")
def batch() -> tuple[Source, Sequence[str], Words]:
    source = Seed(1).open()
    random = np.random.default_rng(1)
    names = [f"subject {i}" for i in random.integers(0, 50, 40_000)]
    words = source.stream(PURPOSE).words(
        source.tags(names), np.arange(40_000) // 7, np.arange(40_000) % 3, count=3
    )
    return source, names, words


@pytest.mark.parametrize("size", [1, 16, 16_384, 16_385])
def test_words_do_not_depend_on_batches_or_order(
    batch: tuple[Source, Sequence[str], Words], size: int
) -> None:
    source, names, whole = batch
    order = np.random.default_rng(size).permutation(len(names))
    stream = Seed(1).open().stream(PURPOSE)
    for start in range(0, min(len(names), 20 * size), size):
        part = order[start : start + size]
        found = stream.words(source.tags(names[i] for i in part), part // 7, part % 3, count=3)
        assert (found == whole[part]).all()


def test_each_subject_need_be_hashed_only_once(batch: tuple[Source, Sequence[str], Words]) -> None:
    source, names, whole = batch
    distinct, rows = np.unique(names, return_inverse=True)
    places = np.arange(len(names))
    found = source.stream(PURPOSE).words(
        source.tags(distinct.tolist()), places // 7, places % 3, count=3, rows=rows
    )
    assert (found == whole).all()


def test_no_two_draws_and_no_two_counters_share_a_word(
    batch: tuple[Source, Sequence[str], Words],
) -> None:
    _, names, whole = batch
    different = {(name, i // 7, i % 3) for i, name in enumerate(names)}
    assert len(np.unique(whole)) == 3 * len(different)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(PURPOSE, policy="follow-marvi"), id="policy"),
        pytest.param(replace(PURPOSE, version=4), id="version"),
        pytest.param(replace(PURPOSE, mechanism="joint-response"), id="mechanism"),
        pytest.param(replace(PURPOSE, names=("clinic", "")), id="one name more"),
        pytest.param(replace(PURPOSE, names=("cli", "nic")), id="names cut elsewhere"),
        pytest.param(replace(PURPOSE, grid="901 s"), id="grid"),
        pytest.param(replace(PURPOSE, grid="", stages=("900 s", "epsilon 1.0")), id="moved field"),
        pytest.param(PURPOSE.then("epsilon 0.5"), id="a later stage"),
        pytest.param(replace(PURPOSE, stages=("epsilon 1.1",)), id="epsilon"),
    ],
)
def test_another_purpose_draws_other_words(other: Purpose) -> None:
    source = production()
    tags, slots = source.tags(["marvin"]), np.array([5])
    words = [source.stream(one).words(tags, slots)[0, 0] for one in (PURPOSE, other)]
    assert words[0] != words[1]


short = st.sampled_from(["", "a", "aa", "b", "1"])
purposes = st.builds(
    Purpose,
    short,
    st.integers(0, 2),
    short,
    st.lists(short, max_size=2).map(tuple),
    short,
    st.lists(short, max_size=2).map(tuple),
)


@given(purposes, purposes)
def test_different_purposes_have_different_bytes(one: Purpose, other: Purpose) -> None:
    assert (one == other) == (one.encoded() == other.encoded())


def test_decoys_share_a_word_only_where_they_hide_the_same_patterns() -> None:
    one = Purpose.decoys("p", 1, ["visit", "errand"])
    assert one == Purpose.decoys("p", 1, ["errand", "visit", "visit"])
    assert one.encoded() != Purpose.decoys("p", 1, ["visit"]).encoded()
    assert one.encoded() != Purpose.decoys("p", 1, ["errand visit"]).encoded()


def test_another_secret_draws_other_words_and_other_tags() -> None:
    one, other = production(), Source(Secret(KEY[::-1]), mode="production")
    assert (one.tags(["marvin"]) != other.tags(["marvin"])).any()
    tags = one.tags(["marvin"])
    slots = np.arange(3)
    rows = np.zeros(3, np.intp)
    words = [source.stream(PURPOSE).words(tags, slots, rows=rows) for source in (one, other)]
    assert (words[0] != words[1]).all()


def test_a_tag_has_96_bits() -> None:
    tags = production().tags(range(2000))
    assert len(np.unique(tags, axis=0)) == 2000
    assert int(tags[:, 1].max()) < 1 << 32
    assert int(np.bitwise_or.reduce(tags[:, 0])) == (1 << 64) - 1
    assert int(np.bitwise_or.reduce(tags[:, 1])) == (1 << 32) - 1


def test_numbers_of_numpy_are_the_same_subjects() -> None:
    source = production()
    assert (source.tags(np.arange(3)) == source.tags([0, 1, 2])).all()
    assert (source.tags([1]) != source.tags(["1"])).any()
    with pytest.raises(TypeError, match="a subject is float"):
        source.tags([1.5])  # type: ignore[list-item]


def test_what_is_no_subject_is_refused_without_being_told() -> None:
    source = production()
    with pytest.raises(ValueError, match="no valid text") as refused:
        source.tags(["marvin\ud800"])
    assert "marvin" not in str(refused.value)
    assert refused.value.__suppress_context__
    for one in (True, np.True_):
        with pytest.raises(TypeError, match="a subject is bool"):
            source.tags([one])  # type: ignore[list-item]


def test_the_mode_of_a_source_cannot_be_changed() -> None:
    source = Seed(1).open()
    with pytest.raises(AttributeError):
        source.mode = "production"  # type: ignore[misc]
    assert source.is_evaluation


def test_names_of_a_purpose_are_a_tuple_and_groups_have_one_order() -> None:
    with pytest.raises(TypeError, match="names"):
        Purpose("p", 1, "response", "clinic")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stages"):
        Purpose("p", 1, "response", ("clinic",), stages="epsilon 1.0")  # type: ignore[arg-type]
    one = Purpose.group("p", 1, "joint-response", ["shop", "clinic", "shop"])
    assert one == Purpose("p", 1, "joint-response", ("clinic", "shop"))
    with pytest.raises(TypeError, match="names"):
        Purpose.group("p", 1, "joint-response", "clinic")
    with pytest.raises(TypeError, match="names"):
        Purpose.decoys("p", 1, "visit")


def test_words_are_uniform_and_independent_of_each_other() -> None:
    """Both halves of a block, neighbouring slots and the low bits; false alarm 1e-6 each."""
    source = Seed(3).open()
    size = 1 << 18
    words = source.stream(PURPOSE).words(
        source.tags(["marvin"]), np.arange(size), count=2, rows=np.zeros(size, np.intp)
    )
    top, low = words[:, 0] >> np.uint64(58), words[:, 0] & np.uint64(63)
    second = words[:, 1] >> np.uint64(58)
    after = np.roll(top, 1)
    for one, other in [(top, low), (top, second), (top, after)]:
        seen = np.bincount((one * np.uint64(64) + other).astype(np.int64), minlength=4096)
        statistic = float(((seen - size / 4096) ** 2 / (size / 4096)).sum())
        assert chi2.ppf(1e-6, 4095) < statistic < chi2.isf(1e-6, 4095)


def test_lengths_that_do_not_agree_are_refused() -> None:
    source = production()
    stream, tags = source.stream(PURPOSE), source.tags(["a", "b"])
    with pytest.raises(ValueError, match="one length"):
        stream.words(tags, np.arange(3))
    with pytest.raises(ValueError, match="one length"):
        stream.words(tags, np.arange(2), np.arange(1))
    with pytest.raises(TypeError, match="float64"):
        stream.words(tags, np.zeros(2))  # type: ignore[arg-type]
    assert stream.words(tags[:0], np.arange(0)).shape == (0, 1)


@pytest.mark.parametrize("row", [-1, 2, -3])
def test_a_row_that_names_no_subject_is_refused(row: int) -> None:
    """-1 would draw the noise of the last subject."""
    source = production()
    with pytest.raises(ValueError, match=r"a row lies outside 0\.\.1"):
        source.stream(PURPOSE).words(
            source.tags(["a", "b"]), np.arange(3), rows=np.array([0, row, 1])
        )
    no_rows = np.zeros(0, np.intp)
    assert source.stream(PURPOSE).words(source.tags([]), no_rows, rows=no_rows).shape == (0, 1)


def test_evaluation_says_so_and_production_takes_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", KEY.hex())
    ref = SecretRef.variable("A_SECRET")
    assert open_source("production", secret=ref).mode == "production"
    evaluation = open_source("evaluation", seed=7)
    assert evaluation.is_evaluation
    assert repr(evaluation) == "Source(evaluation)"
    with pytest.raises(SecretError, match="a seed was given in production"):
        open_source("production", seed=7)
    with pytest.raises(SecretError, match="a seed was given in production"):
        open_source("production", secret=ref, seed=7)
    with pytest.raises(SecretError, match="no default"):
        open_source("production")
    with pytest.raises(SecretError, match="takes a seed and no secret"):
        open_source("evaluation", secret=ref, seed=7)
    with pytest.raises(SecretError, match="takes a seed"):
        open_source("evaluation")


def test_a_seed_and_a_reference_travel_but_sources_do_not() -> None:
    for one in (Seed(7), SecretRef.file("a")):
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    source = production()
    for held in (source, source.stream(PURPOSE), Secret(KEY)):
        with pytest.raises(TypeError, match="not copied or pickled"):
            pickle.dumps(held)
        assert KEY.hex() not in repr(held)
        assert not hasattr(held, "__dict__")
