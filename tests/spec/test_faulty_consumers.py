"""What is said of consumers that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.spec.consumer import Consumer
from ppm.spec.load import parse
from tests.spec.faulty import CONSUMER, faults, spoilt


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert parse(CONSUMER, Consumer, file="f.yaml").spec


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "model: transparent\n",
            "model: translucent\n",
            [
                "4: model is 'translucent'; did you mean transparent?",
            ],
            id="an unknown model",
        ),
        pytest.param(
            "queries:\n  - name: visits\n    pattern: visit\n",
            "",
            [
                "4: model is transparent, but there are no queries to know",
            ],
            id="a transparent consumer without queries",
        ),
        pytest.param(
            "model: transparent\nqueries:\n  - name: visits\n    pattern: visit\n",
            "model: opaque\nqueries:\n  - name: visits\n    pattern: visit\n    ask: existence\n",
            [
                "8: queries[0].ask is existence; only a transparent consumer can have answers",
            ],
            id="an opaque consumer that wants answers",
        ),
        pytest.param(
            "",
            "    ask: count\n",
            [
                "6: queries[0] needs cap, because ask is count",
            ],
            id="a count without cap",
        ),
        pytest.param(
            "",
            "    cap: 3\n",
            [
                "8: queries[0].cap is for ask: count only; ask is matches",
            ],
            id="a cap without count",
        ),
        pytest.param(
            "",
            "    preference: 120 %\n",
            [
                "8: queries[0].preference is '120 %'; a share between 0 % and 100 % is needed, "
                "such as 90 % or 0.9",
            ],
            id="a preference above all",
        ),
        pytest.param(
            "",
            "    minimum: {}\n",
            [
                "8: queries[0].minimum needs recall, precision or q",
            ],
            id="a minimum of nothing",
        ),
        pytest.param(
            "",
            "  - name: visits\n    pattern: visit\n",
            [
                "8: queries[1].name is visits, like a query before",
            ],
            id="two queries of one name",
        ),
        pytest.param(
            "    pattern: visit\n",
            "    pattern: {name: x, events: {a: x = 1}, sequence: b}\n",
            [
                "7: queries[0].pattern.stages[0].event is b, which events does not have; allowed "
                "are a",
            ],
            id="an inline pattern with a fault",
        ),
        pytest.param(
            "    pattern: visit\n",
            "    pattern: 3\n",
            [
                "7: queries[0].pattern is the number 3; a mapping is needed",
            ],
            id="a pattern that is a number",
        ),
        pytest.param(
            "",
            "    weight: 0\n",
            [
                "8: queries[0].weight is 0; it must be greater than 0",
            ],
            id="a weight of zero",
        ),
    ],
)
def test_a_consumer_with_one_place_spoilt(old: str, new: str, said: list[str]) -> None:
    assert faults(spoilt(CONSUMER, old, new), Consumer) == said
