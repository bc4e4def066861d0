"""The public parameters of a community: all that its readers need, exact, and nothing secret."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import ppm
from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import TableLaw
from ppm.dp.exact import WORD
from ppm.dp.filter import Filter
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.nested.response import ResponseChain, SwapLaw
from ppm.dp.source import Seed
from ppm.errors import PpmError, SpecError
from ppm.protect.estimation import asked_of
from ppm.protect.parameters import Parameters, UnitParameters
from ppm.protect.plan import Plan
from ppm.protect.published import published
from tests.protect.running import JOINT, NEIGHBOURS, SEEN, town_plan
from tests.protect.town import (
    SHARED_CLINIC,
    Edit,
    another_community,
    in_friends,
    mechanism,
    query,
)

DECLARED: Edit = ("policies/town.yaml", "subjects: [ada, bo]", "subjects: [ada, bo, cy]")


def town_parameters(root: Path, *edits: Edit, community: str = "friends") -> Parameters:
    return published(town_plan(root, *edits), community, noise=Seed(7))


def test_parameters_say_how_types_are_told(tmp_path: Path) -> None:
    found = town_parameters(tmp_path, DECLARED)
    assert (found.policy, found.version, found.community) == ("town", 1, "friends")
    assert (found.mode, found.subject, found.time) == ("evaluation", "person", "ts")
    assert (found.slot, found.subjects) == (900_000_000, 3)
    assert sorted(found.types) == ["clinic", "pharmacy", "post", "shop"]
    law = SwapLaw(2, Fraction(BinaryResponse(0.5).flips, WORD))
    assert {(one.mechanism, one.epsilon, one.law) for one in found.units} == {
        ("response", 0.5, law)
    }
    assert found.stand_ins["clinic"] == {"place": "clinic"}


def test_a_later_release_of_a_chain_has_the_law_of_all_stages(tmp_path: Path) -> None:
    found = {unit.types: unit for unit in town_parameters(tmp_path, NEIGHBOURS).units}
    # Neighbours know better of errands (epsilon 1 a type), so friends are told by a second stage.
    chain = ResponseChain((1.0, 0.5))
    assert found["shop",].law == chain.laws[1]
    assert found["shop",].law != ResponseChain((0.5,)).laws[0]
    assert found["clinic",].law == ResponseChain((0.5,)).laws[0]


def test_types_of_a_joint_draw_are_in_the_order_of_its_bits(tmp_path: Path) -> None:
    more = another_community("doctors", "protect: {visit: {mechanism: joint-response, epsilon: 3}}")
    plan = town_plan(tmp_path, *JOINT, more)
    told = {unit.types: unit for unit in published(plan, "friends", noise=Seed(7)).units}
    assert told.keys() == {("clinic", "pharmacy"), ("post", "shop")}
    unit = told["clinic", "pharmacy"]
    assert (unit.mechanism, unit.epsilon, unit.law.values) == ("joint-response", 1.0, 4)


def test_a_joint_draw_on_fewer_types_names_these(tmp_path: Path) -> None:
    all_types = another_community(
        "doctors", "protect: {visit: {mechanism: joint-response, epsilon: 4}, "
        "errand: {mechanism: joint-response, epsilon: 4}}",
    )  # fmt: skip
    only_visits: Edit = (
        "policies/town.yaml",
        "      errand: {mechanism: joint-response, epsilon: 1}\n",
        "",
    )
    plan = town_plan(tmp_path, *JOINT, *SHARED_CLINIC, only_visits, all_types)
    (unit,) = published(plan, "friends", noise=Seed(7)).units
    assert unit.types == ("clinic", "pharmacy")
    (whole,) = published(plan, "doctors", noise=Seed(7)).units
    assert whole.types == ("clinic", "pharmacy", "post")


def test_a_horizon_says_which_slots_are_open(tmp_path: Path) -> None:
    horizon = in_friends("horizon: {over: 2 h, epsilon: 3, then: withhold}")
    assert {unit.open for unit in town_parameters(tmp_path, horizon).units} == {Filter(3, 9)}


def test_subjects_are_counted_or_seen(tmp_path: Path) -> None:
    assert town_parameters(tmp_path).subjects == 2
    assert town_parameters(tmp_path, SEEN).subjects == "seen"


def test_a_rule_that_blurs_what_a_type_is_known_by_is_told(tmp_path: Path) -> None:
    aged: Edit = (
        "patterns/visit.yaml",
        "{where: place = 'clinic', stand_in: {place: clinic}}",
        "{where: place = 'clinic' AND age > 60, stand_in: {place: clinic, age: 70}}",
    )
    rules = in_friends("columns:", "  - {rule: drop, column: age}")
    found = town_parameters(tmp_path, aged, rules).stand_ins
    assert found["clinic"] is None
    assert found["pharmacy"] == {"place": "pharmacy"}
    assert town_parameters(tmp_path, aged).stand_ins["clinic"] == {"age": 70, "place": "clinic"}
    with pytest.raises(PpmError, match="stand-ins of clinic cannot be told from other rows"):
        asked_of(town_parameters(tmp_path, aged, rules), ["clinic"])


def test_columns_that_a_type_is_known_by_are_null_where_its_stand_in_is(tmp_path: Path) -> None:
    aged: Edit = (
        "patterns/visit.yaml",
        "{where: place = 'clinic', stand_in: {place: clinic}}",
        "{where: place = 'clinic' AND age IS NULL, stand_in: {place: clinic}}",
    )
    assert town_parameters(tmp_path, aged).stand_ins["clinic"] == {"age": None, "place": "clinic"}


ANSWERED: tuple[Edit, ...] = (
    mechanism("visit", "answers"),
    query("pattern: visit\n    ask: existence"),
)


def test_answers_have_their_laws(tmp_path: Path) -> None:
    (edit, ask) = ANSWERED
    parts = "{name: parts, events: {clinic: place = 'clinic'}, sequence: clinic}"
    count: Edit = (ask[0], ask[1], f"pattern: {parts}\n    ask: count\n    cap: 2")
    (answer,) = town_parameters(tmp_path, edit, count).answers
    assert (answer.query, answer.ask, answer.epsilon, answer.cap) == ("visits", "count", 1.0, 2)
    assert isinstance(answer.law, CountLaw)
    assert answer.law.cells == 5
    assert float(answer.law.step) == pytest.approx(0.5)


def test_an_exact_answer_has_no_law(tmp_path: Path) -> None:
    parks = "{name: parks, events: {park: place = 'park'}, sequence: park}"
    exact: Edit = query(f"pattern: {parks}\n    ask: existence")
    (answer,) = town_parameters(tmp_path, mechanism("visit", "answers"), exact).answers
    assert (answer.epsilon, answer.law) == (0.0, None)


def test_a_community_without_rows_has_answers_alone(tmp_path: Path) -> None:
    (edit, _) = ANSWERED
    errand = mechanism("errand", "answers")
    parts = "{name: parts, events: {clinic: place = 'clinic'}, sequence: clinic}"
    asked: Edit = query(f"pattern: {parts}\n    ask: existence")
    found = town_parameters(tmp_path, in_friends("rows: withheld"), edit, errand, asked)
    assert found.units == ()
    assert [one.query for one in found.answers] == ["visits"]
    with pytest.raises(PpmError, match="clinic is no private type that friends is told of"):
        asked_of(found, ["clinic"])


def every_kind(root: Path) -> Parameters:
    """Parameters with something of everything."""
    (edit, _) = ANSWERED
    parts = "{name: parts, events: {clinic: place = 'clinic'}, sequence: clinic}"
    asked: Edit = query(
        f"pattern: {parts}\n    ask: existence\n"
        f"  - name: often\n    pattern: {parts}\n    ask: count\n    cap: 2"
    )
    horizon = in_friends("horizon: {over: 2 h, epsilon: 3, then: withhold}")
    found = town_parameters(root, edit, asked, horizon, NEIGHBOURS)
    table = TableLaw(((3, 1, 0, 0), (1, 3, 0, 0), (0, 0, 3, 1), (0, 0, 1, 3)))
    unit = UnitParameters("channel", 0.1, ("left", "right"), table, None)
    known = {"left": {"side": True, "n": 3}, "right": {"side": None, "n": 0.1}}
    values = {**found.__dict__, "units": (*found.units, unit)}
    return Parameters(**{**values, "stand_ins": {**found.stand_ins, **known}})


def test_text_and_back_is_the_same_to_the_last_digit(tmp_path: Path) -> None:
    whole = every_kind(tmp_path)
    assert Parameters.from_json(whole.to_json()) == whole
    whole.write(tmp_path / "parameters.json")
    assert ppm.read_parameters(tmp_path / "parameters.json") == whole


def test_the_text_is_small_and_says_numbers_twice(tmp_path: Path) -> None:
    text = town_parameters(tmp_path).to_json()
    assert len(text) < 1_600
    law = json.loads(text)["units"][0]["law"]
    assert law == {"values": 2, "swapped": law["swapped"], "about": pytest.approx(0.3775, abs=1e-4)}
    assert Fraction(law["swapped"]).denominator <= WORD


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        pytest.param(lambda p: p.pop("units"), "'units' is missing", id="a key is missing"),
        pytest.param(
            lambda p: p.update(more=1), "unexpected keyword argument 'more'", id="unknown"
        ),
        pytest.param(
            lambda p: p.update(format=2), "format is 2, and this version reads 1", id="new"
        ),
        pytest.param(lambda p: p.update(slot=0.5), "version, slot and start must be", id="slot"),
        pytest.param(
            lambda p: p.update(subjects="x"), "subjects must be their number", id="subjects"
        ),
        pytest.param(
            lambda p: p["units"][0]["law"].update(swapped=0.25),
            "an exact number is needed",
            id="float",
        ),
        pytest.param(
            lambda p: p["units"][0]["law"].update(swapped="3/4"),
            "shows the truth no less",
            id="law",
        ),
        pytest.param(
            lambda p: p["units"][0]["law"].update(values=4, swapped="1/8"),
            "is not of 1 bits",
            id="another size",
        ),
        pytest.param(
            lambda p: p["stand_ins"].clear(), "stand-ins of clinic, pharmacy", id="no row"
        ),
    ],
)
def test_what_is_no_text_of_parameters_is_refused(
    tmp_path: Path, spoil: object, sentence: str
) -> None:
    values = json.loads(town_parameters(tmp_path).to_json())
    assert callable(spoil)
    spoil(values)
    path = tmp_path / "spoilt.json"
    path.write_text(json.dumps(values))
    with pytest.raises(PpmError, match=f"spoilt.json: these are not the parameters .*{sentence}"):
        ppm.read_parameters(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PpmError, match=r"nothing\.json cannot be read: it must be a file of"):
        ppm.read_parameters(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    ("types", "sentence"),
    [
        pytest.param(["clinik"], "clinik is no private type that friends is told of; did you mean "
                     "clinic", id="misspelt"),
        pytest.param([], "no types are asked for", id="none"),
        pytest.param("clinic", "types is clinic, one text; give a list", id="a text"),
        pytest.param(["shop", "shop"], "types names one twice", id="twice"),
        pytest.param(["park"], "allowed are clinic, pharmacy, post, shop", id="a public row"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_be_answered_says_why(
    tmp_path: Path, types: list[str], sentence: str
) -> None:
    with pytest.raises(PpmError, match=sentence):
        asked_of(town_parameters(tmp_path), types)


def test_stand_ins_that_look_alike_are_refused(tmp_path: Path) -> None:
    found = town_parameters(tmp_path)
    same = {**found.stand_ins, "shop": {"place": "clinic"}}
    with pytest.raises(PpmError, match="stand-ins of clinic look like those of 1 other type, shop"):
        asked_of(Parameters(**{**found.__dict__, "stand_ins": same}), ["clinic"])


def test_an_epsilon_of_0_is_refused(tmp_path: Path) -> None:
    found = town_parameters(tmp_path)
    coin = UnitParameters("response", 0.0, ("clinic",), SwapLaw(2, Fraction(1, 2)), None)
    with pytest.raises(PpmError, match="clinic cannot be estimated: epsilon is 0"):
        asked_of(Parameters(**{**found.__dict__, "units": (coin,)}), ["clinic"])


def test_what_does_not_run_has_no_parameters(tmp_path: Path) -> None:
    plan: Plan = town_plan(tmp_path, mechanism("visit", "decoy-windows"))
    with pytest.raises(SpecError, match="decoy-windows, which this version checks and explains"):
        published(plan, "friends", noise=Seed(7))
    with pytest.raises(PpmError, match="frends is not a community of town; did you mean friends"):
        published(plan, "frends", noise=Seed(7))


def test_a_question_reads_only_the_bits_that_say_something(tmp_path: Path) -> None:
    asked = asked_of(town_parameters(tmp_path, *JOINT), ["pharmacy", "shop"])
    assert asked.types == ("pharmacy", "shop")
    whole = asked_of(every_kind(tmp_path / "b"), ["right", "shop"])
    assert whole.types == ("post", "shop", "left", "right")[1:]


def test_a_table_needs_all_types_that_it_ties_together(tmp_path: Path) -> None:
    whole = every_kind(tmp_path)
    blurred = Parameters(**{**whole.__dict__, "stand_ins": {**whole.stand_ins, "left": None}})
    with pytest.raises(PpmError, match="stand-ins of left cannot be told from other rows"):
        asked_of(blurred, ["right"])
    assert asked_of(whole, ["right"]).types == ("left", "right")


def test_queries_of_one_name_are_told_apart_by_their_consumers(tmp_path: Path) -> None:
    other = "name: other\npolicy: town\ncommunity: friends\nmodel: transparent\nqueries:\n"
    (tmp_path / "consumers").mkdir()
    asked = "  - {name: visits, pattern: visit, ask: existence}\n"
    (tmp_path / "consumers" / "other.yaml").write_text(other + asked, "utf-8")
    found = town_parameters(
        tmp_path,
        mechanism("visit", "answers"),
        query("pattern: visit\n    ask: count\n    cap: 2"),
    )
    assert found.answer("visits", "other").ask == "existence"
    assert found.answer("visits", "app").cap == 2
    with pytest.raises(PpmError, match="visits is a query of app and other; name one as consumer"):
        found.answer("visits")
    with pytest.raises(PpmError, match="visit is no query that app is answered on the"):
        found.answer("visit", "app")
