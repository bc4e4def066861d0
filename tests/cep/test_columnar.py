"""The columnar engine finds what the reference interpreter finds, in the same order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ppm.spec.pattern import Pattern
from ppm.spec.stage import Skip
from tests.cep.columnar_tables import by_columns, by_reference, random_streams
from tests.cep.notation import MS, declare, events
from tests.cep.pattern_streams import core_patterns

STREAMS = 25
"""For each pattern; with 100 patterns and more, each run of the tests is thousands of cases."""

seeds = st.integers(0, 2**32)
presets = st.sampled_from(["all", "first", "non-overlapping"])
watermarks = st.none() | st.integers(-2, 20).map(lambda time: time * MS)


@settings(max_examples=150)
@given(core_patterns(), presets, seeds, watermarks)
def test_presets(pattern: Pattern, preset: str, seed: int, watermark: int | None) -> None:
    pattern = pattern.model_copy(update={"preset": preset})
    streams = random_streams(seed, count=STREAMS)
    expected = by_reference(pattern, streams, watermark=watermark)
    assert by_columns(pattern, streams, watermark=watermark) == expected


@settings(max_examples=100)
@given(core_patterns(), st.data(), seeds, watermarks)
def test_skips(pattern: Pattern, data: st.DataObject, seed: int, watermark: int | None) -> None:
    stages = [stage.label for stage in pattern.stages if not stage.is_absence]
    aimed = [f"{way}({stage})" for way in ("skip_to_first", "skip_to_last") for stage in stages]
    written = data.draw(st.sampled_from(["no_skip", "skip_to_next", "skip_past_last", *aimed]))
    pattern = pattern.model_copy(update={"skip": Skip.parse(written)})
    streams = random_streams(seed, count=STREAMS)
    expected = by_reference(pattern, streams, watermark=watermark)
    assert by_columns(pattern, streams, watermark=watermark) == expected


def test_an_absence_that_comes_along_past_an_optional_stage_is_decided_by_time() -> None:
    pattern = declare("a !-> b -> c? within 5")
    streams = {"one": events("a1@1 a2@3 b@7 a3@20")}
    expected = by_reference(pattern, streams)
    assert [taken for _, _, taken in expected] == [[("a", "a1")], [("a", "a3")]]
    assert by_columns(pattern, streams) == expected


def test_a_repetition_before_a_wait_goes_on_once_the_wait_is_over() -> None:
    pattern = declare("a{2,} !-> b", b={"lasting": "3 ms"})
    streams = {"one": events("a1@1 b@9 a2@10 a3@11")}
    expected = by_reference(pattern, streams)
    assert [len(taken) for _, _, taken in expected] == [2, 3, 2]
    assert by_columns(pattern, streams) == expected
