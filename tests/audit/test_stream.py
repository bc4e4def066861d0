"""The protected stream under audit, end to end: claims hold, and planted bugs are caught.

These runs are in this process, by the step that Spark calls; test_stream_on_spark.py holds the two
equal. All seeds are fixed. At alpha 1e-6 and two tests a claim, all claims here that must hold are
blamed wrongly with a chance below 4e-4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial

import numpy as np
import pytest

from ppm.audit.observation import Observer, Received, together
from ppm.audit.planting import Planting
from ppm.audit.stream import audit_stream
from ppm.audit.stream_bounds import Measured, bounds
from ppm.dp.source import Seed
from ppm.protect.plan import Plan
from tests.audit import broken
from tests.audit.broken import as_a, one_word, times, to_types, with_bugs
from tests.audit.tampered import TAMPERED
from tests.audit.village import audited, blamed, in_process, village

Job = Callable[[int], list[Measured]]

DOCTORS, FRIENDS, PRESS = ("doctors",), ("friends",), ("press",)
"""Those who read the village, each alone."""


def of(measured: Iterable[Measured], communities: tuple[str, ...], pattern: str) -> Measured:
    return next(o for o in measured if (o.communities, o.pattern) == (communities, pattern))


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """The village, where friends get shares and the press a table made for their queries."""
    root = tmp_path_factory.mktemp("guided")
    (root / "consumers").mkdir()
    for community in ("doctors", "friends", "press"):
        text = f"name: app-{community}\npolicy: village\ncommunity: {community}\n{APP}"
        (root / f"consumers/app-{community}.yaml").write_text(text, "utf-8")
    edits = [
        (f"{how}, epsilon: {epsilon}}}", f"{how}, allocation: optimal, epsilon: {epsilon}}}")
        for how, epsilon in (
            ("visit: {mechanism: response", 2),
            ("visit: {mechanism: joint-response", 1),
            ("visit: {mechanism: response", 1),
            ("call: {mechanism: response", 1),
            ("call: {mechanism: response", 0.9),
        )
    ]
    history = "prior: {source: a survey, rates: {clinic: 5 %, pharmacy: 20 %}}\ncommunities:\n"
    return village(root, ("communities:\n", history), *edits)


APP = "model: transparent\nqueries:\n  - {name: visits, pattern: visit}\n"


class TestARightPipeline:
    def test_keeps_every_claim_and_the_bounds_come_near(
        self, plan: Plan, planting: Planting, received: list[Received]
    ) -> None:
        found = audited(plan, planting, received)
        assert len(found) == 7 * 2
        assert blamed(found) == set()
        for one in found:
            assert one.claim is not None
            assert one.worlds is not None
            assert one.one_run is not None
            assert one.one_run.epsilon >= 0.4 * one.claim
            assert one.worlds.epsilon > 0.25 * one.claim or one.claim == 0

    def test_in_one_run_of_2000_canaries_an_epsilon_of_1_shows(
        self, plan: Plan, planting: Planting, received: list[Received]
    ) -> None:
        call = of(audited(plan, planting, received, alpha=0.05), DOCTORS, "call")
        assert call.claim == 1
        assert call.one_run is not None
        assert 0.8 < call.one_run.epsilon < 1

    @pytest.mark.parametrize("number", [1, 2])
    def test_keeps_them_where_queries_guide_the_budget(self, guided: Plan, number: int) -> None:
        audit = audit_stream(guided, canaries=500, seed=number, run=in_process)
        assert audit.holds
        press = of(audit.measured, PRESS, "visit")
        assert press.claim == 1
        assert press.one_run is not None
        assert press.one_run.epsilon > 0.15
        assert not any(one.claim for one in audit.measured if one.pattern == "call")

    def test_keeps_them_whatever_the_seed(self, plan: Plan) -> None:
        for seed in range(8):
            assert audit_stream(plan, canaries=200, seed=seed, run=in_process).holds

    def test_an_audit_is_repeated_by_its_seed(self, plan: Plan) -> None:
        first, again, other = (
            audit_stream(plan, canaries=100, seed=seed, alpha=0.05, run=in_process)
            for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other

    def test_tells_the_same_again_when_a_batch_is_replayed(
        self, plan: Plan, planting: Planting, received: list[Received]
    ) -> None:
        again = in_process(plan, [*plan.terms], planting, Seed(7))
        assert not exceeds(plan, planting, received, again)

    def test_and_is_blamed_if_it_draws_anew(
        self, plan: Plan, planting: Planting, received: list[Received]
    ) -> None:
        """The bug: noise that a crash between writing and committing redraws."""
        anew = in_process(plan, [*plan.terms], planting, Seed(8))
        assert exceeds(plan, planting, received, anew)


def exceeds(
    plan: Plan, planting: Planting, first: Iterable[Received], again: Iterable[Received]
) -> bool:
    """Whether a reader who keeps both versions of a batch learns more than the claim."""
    views = [Observer(plan, planting, one).seen("doctors", "call") for one in (first, again)]
    coins = np.array([canary.is_planted for canary in planting.canaries["call"]])
    found = bounds(together(views), coins, alpha=1e-6)
    return max(one.epsilon for one in found) > 1


VISIT = ("clinic", "pharmacy")
JOBS = {
    1: with_bugs(
        {
            **to_types(times(2), VISIT),  # each type with the epsilon of the whole pattern
            ("call",): as_a(broken.ApartForEach),
            VISIT: as_a(broken.OnlyMatches),
        }
    ),
    2: with_bugs(
        {
            **to_types(one_word, VISIT),
            ("call",): times(2),
            VISIT: as_a(broken.OncePrefix),
        }
    ),
    3: with_bugs(
        {
            **to_types(as_a(broken.EmptyLeftAlone), VISIT),
            ("call",): as_a(broken.FirstForAll),
            VISIT: times(3),
        }
    ),
    4: with_bugs({**to_types(as_a(broken.FirstForAll), VISIT)}),
}
"""Programs with several bugs each, in units that do not touch each other."""


@pytest.fixture(scope="module")
def job(plan: Plan, planting: Planting) -> Job:
    """What an audit of each program measures; every program is run once."""

    @cache
    def run(number: int) -> list[Measured]:
        told = in_process(plan, [*plan.terms], planting, Seed(7), JOBS[number])
        return audited(plan, planting, told)

    return run


class TestAPlantedBug:
    def test_in_a_table_made_for_queries_is_caught(self, guided: Plan) -> None:
        sharper = partial(in_process, alter=with_bugs({VISIT: times(3)}))
        audit = audit_stream(guided, ["press"], canaries=2_000, seed=7, run=sharper)
        assert blamed(audit.measured) == {(PRESS, "visit")}

    @pytest.mark.parametrize(
        ("number", "who", "pattern"),
        [
            pytest.param(1, DOCTORS, "visit", id="a budget not split over types"),
            pytest.param(1, PRESS, "visit", id="noise where the match completed"),
            pytest.param(1, DOCTORS + FRIENDS, "call", id="noise apart for each community"),
            pytest.param(2, DOCTORS + FRIENDS, "visit", id="one word for two stages"),
            pytest.param(2, DOCTORS, "call", id="half the noise"),
            pytest.param(2, PRESS, "visit", id="noise once a prefix was seen"),
            pytest.param(3, DOCTORS, "visit", id="empty slots left alone"),
            pytest.param(3, PRESS, "visit", id="a third of the noise on a vector"),
            pytest.param(4, FRIENDS, "visit", id="all get what the best informed may know"),
        ],
    )
    def test_is_caught(self, job: Job, number: int, who: tuple[str, ...], pattern: str) -> None:
        assert (who, pattern) in blamed(job(number))

    @pytest.mark.parametrize(
        ("number", "pattern", "who"),
        [
            pytest.param(1, "call", [DOCTORS, FRIENDS, PRESS], id="noise apart for each community"),
            pytest.param(4, "visit", [DOCTORS, PRESS, DOCTORS + FRIENDS], id="the first for all"),
        ],
    )
    def test_is_not_blamed_on_those_who_learn_no_more(
        self, job: Job, number: int, pattern: str, who: list[tuple[str, ...]]
    ) -> None:
        assert not {(one, pattern) for one in who} & blamed(job(number))

    @pytest.mark.parametrize(
        ("what", "pattern", "feature"),
        [
            ("a payload", "visit", "value"),
            ("a number", "visit", "value"),
            ("an exact time", "visit", "value"),
            ("a mark", "visit", "value"),
            ("another order", "visit", "rows of all types"),
            ("a delay", "visit", "delay"),
            ("the slot after", "call", "slots before and after"),
            ("public rows that are gone", "visit", "public rows"),
        ],
    )
    def test_that_hands_out_more_is_caught_by_what_it_hands_out(
        self,
        plan: Plan,
        planting: Planting,
        received: list[Received],
        what: str,
        pattern: str,
        feature: str,
    ) -> None:
        own = [one for one in received if one[0] == "doctors"]
        found = of(
            audited(plan, planting, TAMPERED[what](own, planting), DOCTORS), DOCTORS, pattern
        )
        assert not found.holds
        assert found.worlds is not None
        assert found.worlds.feature == feature
