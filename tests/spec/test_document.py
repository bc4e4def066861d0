"""The strict half of reading YAML: what a word means, what is refused, and on which line."""

from __future__ import annotations

import time

import pytest

from ppm.errors import SpecError
from ppm.spec.document import MAX_BYTES, MAX_DEPTH, MAX_VALUES, kind_of, path_text, read_document


def refusal(text: bytes | str) -> str:
    with pytest.raises(SpecError) as refused:
        read_document(text, "x.yaml")
    return str(refused.value)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        ("0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("12345678901234567890", 12345678901234567890),
        ("1.5", 1.5),
        ("-0.0", -0.0),
        ("1e-07", 1e-07),
        ("5e-324", 5e-324),
        ("1.7976931348623157e+308", 1.7976931348623157e308),
    ],
)
def test_a_word_that_is_no_text(word: str, value: object) -> None:
    read = read_document(f"a: {word}", "x.yaml").values["a"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    "word",
    [
        *("NO", "no", "yes", "on", "off", "y", "n", "True", "TRUE", "False", "Null", "NULL"),
        *("0o17", "017", "0x1F", "0b1", "12:30", "12:30:45", "2026-03-01", "1_000", "1,000"),
        *("2026-03-01T08:00:00Z", ".5", "5.", ".inf", "-.inf", ".nan", "nan", "inf", "1e9999"),
        *("1..", "2..4", "90 %", "15 min", "=", "-a", "9" * 32),
    ],
)
def test_a_word_that_stays_text(word: str) -> None:
    assert read_document(f"a: {word}", "x.yaml").values == {"a": word}


@pytest.mark.parametrize("word", ["true", "null", "7", "1.5", "", "~", "<<"])
def test_a_word_in_quotes_is_text(word: str) -> None:
    assert read_document(f"{{'{word}': \"{word}\"}}", "x.yaml").values == {word: word}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "a: 1\nb: 2\na: 3",
            "x.yaml:3: the key a stands twice (first in line 1)",
            id="a key stands twice",
        ),
        pytest.param(
            "a: 1\n'a': 2",
            "x.yaml:2: the key a stands twice (first in line 1)",
            id="a key stands twice, once in quotes",
        ),
        pytest.param(
            "b:\n  - {a: 1, a: 2}",
            "x.yaml:2: the key a stands twice (first in line 2)",
            id="a key stands twice further in",
        ),
        pytest.param(
            "12: 1",
            "x.yaml:1: the key 12 reads as the number 12; write it in quotes",
            id="a number as a key",
        ),
        pytest.param(
            "true: 1",
            "x.yaml:1: the key true reads as true; write it in quotes",
            id="true as a key",
        ),
        pytest.param(
            "~: 1", "x.yaml:1: the key ~ reads as nothing; write it in quotes", id="null as a key"
        ),
        pytest.param("[a]: 1", "x.yaml:1: a key must be a plain word", id="a list as a key"),
        pytest.param(
            "a: &a 1\n*a : 2", "x.yaml:2: a key must be a plain word", id="an alias as a key"
        ),
        pytest.param(
            "a: &a {b: 1}\nc:\n  <<: *a",
            "x.yaml:3: << is not supported; use extends, or repeat the keys",
            id="a merge key",
        ),
        pytest.param(
            "a: !!str 1",
            "x.yaml:1: the tag !!str is not used here; remove it",
            id="a tag",
        ),
        pytest.param(
            "a: !!python/name:os.system x",
            "x.yaml:1: the tag !!python/name:os.system is not used here; remove it",
            id="a tag that would run a program",
        ),
        pytest.param(
            "a: ! '12'", "x.yaml:1: the tag ! is not used here; remove it", id="the empty tag"
        ),
        pytest.param(
            "a: 1\n---\nb: 2",
            "x.yaml:2: a second document starts here; one file is one document",
            id="a second document",
        ),
        pytest.param(
            "a: &a [*a]",
            "x.yaml:1: the alias *a stands inside its own anchor",
            id="a recursive alias",
        ),
        pytest.param(
            "a: *b", "x.yaml:1: the alias *b has no anchor &b before it", id="an alias of nothing"
        ),
        pytest.param(
            "a: &a 1\nb: &a 2",
            "x.yaml:2: the anchor &a is given twice",
            id="an anchor stands twice",
        ),
        pytest.param("", "x.yaml:1: the file is empty", id="an empty file"),
        pytest.param(
            "# only a comment\n", "x.yaml:1: the file is empty", id="nothing but a comment"
        ),
        pytest.param(
            "a: 1e999", "x.yaml:1: 1e999 is too large a number", id="a number beyond all numbers"
        ),
        pytest.param(
            b"a: 1\nb: \xff", "x.yaml:2: the file is not UTF-8; save it as UTF-8", id="not UTF-8"
        ),
        pytest.param(
            "a: 1".encode("utf-16"),
            "x.yaml:1: the file is not UTF-8; save it as UTF-8",
            id="UTF-16",
        ),
        pytest.param(
            "a: 1\nb: \0",
            "x.yaml:2: not YAML: it has a character that YAML does not allow",
            id="a zero byte",
        ),
        pytest.param(
            "a: \x1b[31m",
            "x.yaml:1: not YAML: it has a character that YAML does not allow",
            id="a control character",
        ),
        pytest.param(
            'a: "\\ud83d\\ude00"',
            "x.yaml:1: half of a surrogate pair is not a character",
            id="escaped surrogates",
        ),
        pytest.param(
            'a: "\\UFFFFFFFF"',
            "x.yaml:1: not YAML: it has an escape or a directive that means nothing",
            id="an escape beyond Unicode",
        ),
        pytest.param(
            "a: 1\n\tb: 2",
            "x.yaml:2: not YAML: found character '\\t' that cannot start any token; "
            "indent with spaces, not with tabs",
            id="a tab as indent",
        ),
        pytest.param(
            "a: [1",
            "x.yaml:1: not YAML: expected ',' or ']', but got '<stream end>'",
            id="an open bracket",
        ),
        pytest.param(
            "a: b: c",
            "x.yaml:1: not YAML: mapping values are not allowed here; "
            "a text with a colon and a blank in it needs quotes",
            id="two colons",
        ),
        pytest.param(
            "a: @b",
            "x.yaml:1: not YAML: found character '@' that cannot start any token",
            id="a reserved character",
        ),
    ],
)
def test_a_document_is_refused(text: bytes | str, message: str) -> None:
    assert refusal(text) == message


def test_anchors_and_aliases_repeat_a_value() -> None:
    text = "a: &slot 15 min\nb: *slot\nc: [&x {d: 1}, *x]"
    assert read_document(text, "x.yaml").values == {
        "a": "15 min",
        "b": "15 min",
        "c": [{"d": 1}, {"d": 1}],
    }


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read_document(b"\xef\xbb\xbfa: 1", "x.yaml").values == {"a": 1}


def test_an_escaped_control_character_is_text() -> None:
    assert read_document('a: "\\0\\e"', "x.yaml").values == {"a": "\0\x1b"}


def test_windows_line_ends_count_as_lines() -> None:
    assert read_document(b"a: 1\r\nb:\r\n  c: 2\r\n", "x.yaml").line(("b", "c")) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            b"a" * 10_000_000,
            f"x.yaml:1: the file is larger than {MAX_BYTES // 1024} KiB; split it",
            id="ten megabytes",
        ),
        pytest.param(
            "é" * (MAX_BYTES - 1),
            f"x.yaml:1: the file is larger than {MAX_BYTES // 1024} KiB; split it",
            id="few characters, many bytes",
        ),
        pytest.param(
            "a0: &a0 [x, x]\n"
            + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
            f"x.yaml:13: the document holds more than {MAX_VALUES} values, aliases included",
            id="an alias bomb",
        ),
        pytest.param(
            "[" * 200_000,
            f"x.yaml:1: nested deeper than {MAX_DEPTH} levels",
            id="open brackets without end",
        ),
        pytest.param(
            "\n".join(" " * depth + "a:" for depth in range(500)),
            f"x.yaml:{MAX_DEPTH + 1}: nested deeper than {MAX_DEPTH} levels",
            id="deep nesting by indent",
        ),
        pytest.param(
            "- " * 100_000, f"x.yaml:1: nested deeper than {MAX_DEPTH} levels", id="dashes"
        ),
    ],
)
def test_a_hostile_file_is_refused_at_once(text: bytes | str, message: str) -> None:
    start = time.perf_counter()
    assert refusal(text) == message
    assert time.perf_counter() - start < 1.0


def test_ten_megabytes_are_refused_before_they_are_read() -> None:
    text = b"a: [" + b"1, " * 3_300_000
    start = time.perf_counter()
    assert "larger than" in refusal(text)
    assert time.perf_counter() - start < 0.2


def test_many_values_are_refused_with_their_line() -> None:
    text = "- a\n" * (MAX_VALUES + 1)
    assert refusal(text).startswith(f"x.yaml:{MAX_VALUES}: the document holds more than")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param((), 1, id="the document"),
        pytest.param(("name",), 1, id="a key"),
        pytest.param(("stages",), 3, id="a key with a list"),
        pytest.param(("stages", 0), 4, id="the first item"),
        pytest.param(("stages", 0, "times"), 5, id="a key of an item"),
        pytest.param(("stages", 1, "event"), 6, id="a key of the second item"),
        pytest.param(("stages", 7), 3, id="an item that is not there"),
        pytest.param(("stages", 0, "Stage", "times"), 5, id="a branch that nobody wrote"),
        pytest.param(("stages", 0, "where"), 4, id="a key that is missing"),
        pytest.param(("zones", 7, "radius"), 8, id="a key that is a number in quotes"),
    ],
)
def test_the_line_of_a_place(path: tuple[str | int, ...], line: int) -> None:
    text = (
        "name: p\n# why\nstages:\n  - event: a\n    times: 2\n  - event: b\nzones:\n"
        "  '7': {radius: 1 m}\n"
    )
    assert read_document(text, "x.yaml").line(path) == line


def test_an_alias_has_the_line_of_its_anchor() -> None:
    document = read_document("a: &a\n  b: 1\nc: *a", "x.yaml")
    assert document.line(("c", "b")) == 2


def test_an_error_does_not_repeat_a_long_value() -> None:
    assert kind_of("x" * 1_000) == f"'{'x' * 37}...'"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "nothing"),
        (False, "false"),
        (3, "the number 3"),
        (1.5, "the number 1.5"),
        ("NO", "'NO'"),
        ({}, "a mapping"),
        ([], "a list"),
    ],
)
def test_a_value_is_called_what_a_person_calls_it(value: object, words: str) -> None:
    assert kind_of(value) == words


def test_a_path_is_written_as_a_person_would() -> None:
    assert path_text(("stages", 1, "any_of", 0, "event")) == "stages[1].any_of[0].event"
