"""Consumers: which queries they may ask, and how good answers must be."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ppm.spec.consumer import Consumer
from ppm.spec.faults import faults_of
from ppm.spec.pattern import Pattern

INLINE = {"name": "rush", "events": {"fast": "speed > 5"}, "sequence": "fast{3}"}


def consumer(**declared: Any) -> Consumer:
    whole = {"name": "c", "policy": "p", "community": "all", "model": "opaque", **declared}
    return Consumer.model_validate(whole)


def asking(**query: Any) -> dict[str, Any]:
    return {"model": "transparent", "queries": [{"name": "q", "pattern": "rush", **query}]}


@pytest.mark.parametrize(
    ("declared", "messages"),
    [
        pytest.param(
            {"model": "transparent"},
            ["model is transparent, but there are no queries to know"],
            id="transparent without queries",
        ),
        pytest.param(
            {"model": "clear"},
            ["model is 'clear'; allowed are opaque, transparent"],
            id="an unknown model",
        ),
        pytest.param(
            asking() | {"queries": [{"name": "q", "pattern": "a"}, {"name": "q", "pattern": "b"}]},
            ["queries[1].name is q, like a query before"],
            id="two queries of one name",
        ),
        pytest.param(
            asking(ask="existence") | {"model": "opaque"},
            ["queries[0].ask is existence; only a transparent consumer can have answers"],
            id="answers for an opaque consumer",
        ),
        pytest.param(
            asking(ask="count"),
            ["queries[0] needs cap, because ask is count"],
            id="a count without cap",
        ),
        pytest.param(
            asking(cap=3),
            ["queries[0].cap is for ask: count only; ask is matches"],
            id="a cap without count",
        ),
        pytest.param(
            asking(ask="count", cap=0),
            ["queries[0].cap is 0; it must be at least 1"],
            id="a cap of nothing",
        ),
        pytest.param(
            asking(weight=0), ["queries[0].weight is 0; it must be greater than 0"], id="no weight"
        ),
        pytest.param(
            asking(weight=True),
            ["queries[0].weight is true; a number is needed"],
            id="a true weight",
        ),
        pytest.param(
            asking(preference="most"),
            ["queries[0].preference is 'most'; a share is needed, such as 90 % or 0.9"],
            id="a preference in words",
        ),
        pytest.param(
            asking(minimum={}),
            ["queries[0].minimum needs recall, precision or q"],
            id="a minimum of nothing",
        ),
        pytest.param(
            asking(minimum={"recal": 1}),
            ["queries[0].minimum.recal is not a key of a minimum; did you mean recall?"],
            id="a misspelled quality",
        ),
        pytest.param(
            asking(pattern="Rush"),
            [
                "queries[0].pattern is 'Rush'; a name is up to 64 small letters, digits, - "
                "and _, not starting with - or _"
            ],
            id="a pattern's name in capitals",
        ),
        pytest.param(
            asking(pattern=INLINE | {"sequence": "slow"}),
            [
                "queries[0].pattern.stages[0].event is slow, which events does not have; "
                "allowed are fast"
            ],
            id="a fault in a pattern written out",
        ),
    ],
)
def test_a_consumer_is_refused(declared: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        consumer(**declared)
    assert [str(fault) for fault in faults_of(refused.value, Consumer, None)] == messages


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("key", ["weight", "preference"])
def test_numbers_are_finite(key: str, number: float) -> None:
    with pytest.raises(ValidationError):
        consumer(**asking(**{key: number}))


def test_a_pattern_is_named_or_written_out() -> None:
    queries = [{"name": "a", "pattern": "rush"}, {"name": "b", "pattern": INLINE}]
    named, inline = consumer(queries=queries).queries
    assert named.pattern == "rush"
    assert inline.pattern == Pattern.model_validate(INLINE)


def test_a_share_may_be_written_in_percent() -> None:
    (query,) = consumer(**asking(minimum={"recall": "90 %"}, preference=1)).queries
    assert query.minimum is not None
    assert (query.minimum.recall, query.preference) == (0.9, 1.0)


def test_an_opaque_consumer_may_name_queries_for_predictions() -> None:
    assert len(consumer(queries=[{"name": "a", "pattern": "rush"}]).queries) == 1
