"""A query that some private row can change is charged or refused, and never answered exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.errors import PpmError, SpecError
from ppm.protect.compile_answers import asked_by
from ppm.protect.questions import Asked
from tests.protect.asking import (
    ERRAND_ANSWERED,
    STROLLED,
    VISIT_ANSWERED,
    VISITED,
    asks,
    town_questions,
)
from tests.protect.running import town_plan
from tests.protect.town import CONSUMER, Edit, query


def asking_for(pattern: str, ask: str = "existence") -> Edit:
    return asks(f"name: q\npattern: {pattern}\nask: {ask}")


def only(root: Path, *edits: Edit) -> Asked:
    [asked] = town_questions(town_plan(root, VISIT_ANSWERED, *edits)).asked
    return asked


OWN = "events: {park: place = 'park', home: place = 'home'}"
SHARED = "events: {park: place = 'park', clinic: place = 'clinic'}"
CHARGED = {
    "shared type": f"{{name: q, {SHARED}, sequence: clinic -> park, within: 20 min}}",
    "shared type that must stay away": f"{{name: q, {SHARED}, stages: [{{event: park}}, "
    "{event: clinic, name: none, contiguity: not_followed_by}], within: 20 min}",
    "same rows under another name": "{name: q, events: {doctor: place LIKE 'c%'}, "
    "sequence: doctor}",
    "rows that cannot be told apart": "{name: q, events: {old: age > 80}, sequence: old}",
    "strict contiguity": f"{{name: q, {OWN}, sequence: park >> home, within: 20 min}}",
    "must not be next": "{name: q, events: {park: place = 'park', home: place = 'home', "
    "post2: place = 'post 2'}, sequence: park !>> home -> post2, within: 20 min}",
    "consecutive repetition": f"{{name: q, {OWN}, stages: [{{event: park, times: 2, "
    "loop: consecutive}], within: 20 min}",
    "wildcard": "{name: q, events: {any: true}, sequence: any}",
    "wildcard in the middle": "{name: q, events: {park: place = 'park', any: true}, "
    "sequence: park -> any, within: 20 min}",
}


@pytest.mark.parametrize("pattern", CHARGED.values(), ids=CHARGED.keys())
@pytest.mark.parametrize("ask", ["existence", "count\ncap: 2"])
def test_what_a_private_row_can_change_is_charged(tmp_path: Path, pattern: str, ask: str) -> None:
    asked = only(tmp_path, ERRAND_ANSWERED, asking_for(pattern, ask))
    assert asked.epsilon is not None
    assert asked.epsilon > 0
    assert asked.noise is not None
    assert asked.noise.certificate().holds
    assert asked.purpose is not None


ONE_ROW = "a window under which one row can change every later answer"
REFUSED = {
    "count window": (
        f"{{name: q, {OWN}, sequence: park -> home, window: {{kind: count, size: 3}}}}",
        ONE_ROW,
    ),
    "session window": (
        f"{{name: q, {OWN}, sequence: park -> home, window: {{kind: session, gap: 10 min}}}}",
        ONE_ROW,
    ),
    "until": (
        f"{{name: q, {OWN}, stages: [{{event: park, times: 1.., until: last(park.age) > 3}}], "
        "within: 20 min}",
        "fixed numbers",
    ),
    "skip over a shared type": (
        f"{{name: q, {SHARED}, sequence: clinic -> park, within: 20 min, preset: first}}",
        "an answer that pays needs skip: no_skip",
    ),
    "combinations": (
        f"{{name: q, {SHARED}, stages: [{{event: clinic, times: 2.., loop: combinations}}], "
        "within: 20 min}",
        "a private row too many would stop the stream",
    ),
    "any number": (
        f"{{name: q, {SHARED}, stages: [{{event: clinic, times: 1..}}, {{event: park}}], "
        "within: 20 min}",
        "fixed numbers",
    ),
    "every pair": (
        f"{{name: q, {SHARED}, sequence: clinic => park, within: 20 min}}",
        "followed_by_any",
    ),
    "no within": (f"{{name: q, {SHARED}, sequence: clinic -> park}}", "needs within"),
    "choice that the engine does not know": (
        f"{{name: q, {OWN}, stages: [{{any_of: [{{event: park}}, {{event: home}}]}}], "
        "within: 20 min}",
        "the engine takes single event types only",
    ),
}


@pytest.mark.parametrize(("pattern", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_charged_is_refused_with_its_line(
    tmp_path: Path, pattern: str, said: str
) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        only(tmp_path, ERRAND_ANSWERED, asking_for(pattern))
    assert {fault.file for fault in refused.value.faults} == {CONSUMER}
    assert all(fault.line for fault in refused.value.faults)


def test_a_shared_type_under_a_mechanism_that_releases_rows_is_refused(tmp_path: Path) -> None:
    visit = "name: q\npattern: visit\nask: existence"
    with pytest.raises(SpecError, match="tells about visit, which friends protects by response"):
        town_questions(town_plan(tmp_path, asks(visit)))


def test_what_no_private_row_can_change_is_exact(tmp_path: Path) -> None:
    asked = only(tmp_path, asks(STROLLED))
    assert (asked.epsilon, asked.purpose, asked.stop) == (None, None, None)


def test_other_patterns_epsilons_and_names_draw_other_words(tmp_path: Path) -> None:
    longer = VISITED.replace("pattern: visit", "pattern: {name: v, events: "
                             "{clinic: place = 'clinic'}, sequence: clinic}")  # fmt: skip
    again = VISITED.replace("visited", "again")
    budget = ("policies/town.yaml", "answers, epsilon: 4}", "answers, epsilon: 3}")
    first = only(tmp_path / "first", asks(VISITED)).purpose
    others = [
        only(tmp_path / "longer", asks(longer)).purpose,
        only(tmp_path / "again", asks(again)).purpose,
        only(tmp_path / "budget", asks(VISITED), budget).purpose,
        only(tmp_path / "count", asks(VISITED.replace("existence", "count\ncap: 2"))).purpose,
    ]
    assert len({first, *others}) == 5
    assert only(tmp_path / "same", asks(VISITED)).purpose == first


def test_only_transparent_consumers_are_answered(tmp_path: Path) -> None:
    opaque = (CONSUMER, "model: transparent", "model: opaque")
    with pytest.raises(SpecError, match="opaque; ppm answers the queries of transparent"):
        asked_by(town_plan(tmp_path, opaque), "app")
    with pytest.raises(
        PpmError, match="ap is not a consumer with queries to town; did you mean app"
    ):
        asked_by(town_plan(tmp_path), "ap")


def test_what_a_query_of_the_released_stream_needs_must_run(tmp_path: Path) -> None:
    decoys = (
        "policies/town.yaml",
        "visit: {mechanism: response",
        "visit: {mechanism: decoy-windows",
    )
    with pytest.raises(SpecError, match="is protected by decoy-windows, which this version checks"):
        asked_by(town_plan(tmp_path, decoys), "app")


def test_answers_need_no_rows_to_be_released(tmp_path: Path) -> None:
    withheld: tuple[Edit, ...] = (
        ("policies/town.yaml", "  friends:\n", "  friends:\n    rows: withheld\n"),
        ("policies/town.yaml", "errand: {mechanism: response", "errand: {mechanism: answers"),
    )
    assert only(tmp_path, *withheld, asks(VISITED)).epsilon is not None


def test_a_number_that_would_stop_the_engine_is_refused_with_its_column(tmp_path: Path) -> None:
    older = (
        "name: q\npattern: {name: q, events: {clinic: place = 'clinic', pharmacy: place = "
        "'pharmacy'}, stages: [{event: clinic}, {event: pharmacy, where: 'age >= "
        "coalesce(last(clinic.age), 0)'}], within: 15 min}\nask: existence"
    )
    with pytest.raises(PpmError, match=r"the query q: it calculates with age, .* cast them"):
        only(tmp_path, asks(older))
    free = older.replace("clinic", "park").replace("pharmacy", "home")
    assert only(tmp_path, asks(free)).epsilon is None


def test_a_query_that_does_not_fit_the_columns_is_refused_by_its_name(tmp_path: Path) -> None:
    unknown = query("pattern: {name: q, events: {old: weight > 3}, sequence: old}")
    undeclared = ("policies/town.yaml",
                  "  columns: {person: string, ts: timestamp, place: string, age: integer, "
                  "lat: double, lon: double}\n", "")  # fmt: skip
    with pytest.raises(PpmError, match=r"the query visits: .*weight"):
        only(tmp_path, unknown, undeclared)
