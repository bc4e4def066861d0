"""Which events take part in a match, and what matches cover, without listing them."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ppm.cep.columnar.participate import any_reading, needs_listing, participates, touched_spans
from ppm.cep.match import Event, Match
from ppm.cep.reference import find
from ppm.spec.pattern import Pattern
from tests.cep.columnar_tables import COLUMNS, compiled, random_streams, table_of
from tests.cep.notation import MS, declare, events
from tests.cep.pattern_streams import core_patterns

seeds = st.integers(0, 2**32)
watermarks = st.none() | st.integers(-2, 20).map(lambda time: time * MS)


def matches(pattern: Pattern, stream: list[Event], watermark: int | None) -> list[Match]:
    return find(
        any_reading(pattern), stream, zones={}, timezone="UTC", types=COLUMNS, watermark=watermark
    )


def covered(pattern: Pattern, found: list[Match]) -> list[tuple[int, int]]:
    """The union of what matches cover, read off a list of them."""
    spans: list[tuple[int, int]] = []
    for match in sorted(found, key=lambda match: match.first.time):
        start, end = match.first.time, match.last.time
        if match.at > end:
            end = start + pattern.within.microseconds if pattern.within else match.at
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return spans


@settings(max_examples=150)
@given(core_patterns(), seeds, watermarks)
def test_both_agree_with_a_list_of_all_matches(
    pattern: Pattern, seed: int, watermark: int | None
) -> None:
    streams = random_streams(seed, count=12, most=8)
    table = table_of(streams)
    found = {one: matches(pattern, stream, watermark) for one, stream in streams.items()}

    flags = participates(compiled(pattern), table, watermark=watermark)
    rows = zip(table["subject"].to_pylist(), table["id"].to_pylist(), strict=True)
    inside = {(one, e.id) for one, told in found.items() for match in told for e in match.events}
    assert {row for row, flag in zip(rows, flags, strict=True) if flag} == inside

    spans = touched_spans(compiled(pattern), table, watermark=watermark)
    names = spans.subjects.to_pylist()
    told = [
        (names[subject], int(start), int(end))
        for subject, start, end in zip(spans.subject, spans.start, spans.end, strict=True)
    ]
    assert told == [(one, *span) for one in sorted(found) for span in covered(pattern, found[one])]


@st.composite
def plain_patterns(draw: st.DrawFn) -> Pattern:
    """Patterns that the two passes can answer, which random ones often are not."""
    pattern = draw(core_patterns(always_within=draw(st.booleans())))
    stages = [stage.model_copy(update={"gap": None, "where": None}) for stage in pattern.stages]
    plain = pattern.model_copy(update={"stages": tuple(stages)})
    assume(not needs_listing(compiled(any_reading(plain))))
    return plain


@settings(max_examples=150)
@given(plain_patterns(), seeds, watermarks)
def test_two_passes_find_what_a_list_of_all_matches_has(
    pattern: Pattern, seed: int, watermark: int | None
) -> None:
    test_both_agree_with_a_list_of_all_matches.hypothesis.inner_test(  # type: ignore[attr-defined]
        pattern, seed, watermark
    )


def test_a_long_stream_of_one_kind_needs_no_list() -> None:
    # a => a => a => a over 400 events has about a thousand million matches.
    pattern = declare("w:a => x:a => y:a => z:a")
    stream = events(" ".join(f"a{at}" for at in range(400)))
    assert participates(compiled(pattern), table_of({"one": stream})).all()


def test_a_trailing_absence_covers_its_whole_window() -> None:
    table = table_of({"one": events("a1@1 a2@3 x@9 a3@20 x2@21")})
    spans = touched_spans(compiled(declare("a !-> x within 5")), table)
    assert (spans.start.tolist(), spans.end.tolist()) == ([1 * MS], [8 * MS])
