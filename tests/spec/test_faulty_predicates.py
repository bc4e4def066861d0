"""What is said of predicates that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.spec.load import parse
from ppm.spec.pattern import Pattern
from tests.spec.faulty import PATTERN, faults, spoilt


def test_the_document_that_is_spoilt_below_is_right() -> None:
    assert parse(PATTERN, Pattern, file="f.yaml").spec


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: place = = 'clinic'\n",
            [
                "3: events.clinic.where is not SQL near '='",
            ],
            id="a predicate that is no SQL",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: (place = 'clinic'\n",
            [
                "3: events.clinic.where is not SQL: it stops too early, or a bracket is missing",
            ],
            id="an open bracket",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: place = 'clinic\n",
            [
                "3: events.clinic.where is not SQL: a quote does not end, or a character is stray",
            ],
            id="an open quote",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: lowr(place) = 'clinic'\n",
            [
                "3: events.clinic.where calls lowr(), which is not known; did you mean lower?",
            ],
            id="an unknown function",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: lower(place, 1) = 'clinic'\n",
            [
                "3: events.clinic.where calls a function with too many arguments",
            ],
            id="a function with too many arguments",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: count(*) > 3\n",
            [
                "3: events.clinic.where calls count() on something else than a stage; it is "
                "count(a): how many events",
            ],
            id="an aggregate over rows",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: price > last(a.price)\n",
            [
                "3: events.clinic.where asks about other events (last(a.price)); it sees one "
                "row: put this into where of a stage",
            ],
            id="an aggregate of another event",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: place IN (SELECT x FROM y)\n",
            [
                "3: events.clinic.where has a query inside; a predicate looks at one row",
            ],
            id="a query inside",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: CAST(place AS INT) = 1\n",
            [
                "3: events.clinic.where has a CAST; predicates do not convert, declare the "
                "column's type instead",
            ],
            id="a cast",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: CASE WHEN place = 'clinic' THEN TRUE ELSE FALSE END\n",
            [
                "3: events.clinic.where has CASE, which predicates do not know; they know = <> "
                "< <= > >= + - * / AND OR NOT IN BETWEEN LIKE IS NULL and functions",
            ],
            id="a case expression",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: 1 + 2\n",
            [
                "3: events.clinic.where is a number; a predicate is needed, such as speed > 2.5",
            ],
            id="a number is no predicate",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: lower(place) > 3\n",
            [
                "3: events.clinic.where has lower(place) > 3, which compares text with a whole "
                "number",
            ],
            id="text compared with a number",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: place = NULL\n",
            [
                "3: events.clinic.where has NULL as a value; use IS NULL or IS NOT NULL",
            ],
            id="equal to NULL",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: in_zone(lat, lon, clinic)\n",
            [
                "3: events.clinic.where calls in_zone() without a zone's name in quotes",
            ],
            id="a zone without quotes",
        ),
        pytest.param(
            "  clinic: place = 'clinic'\n",
            "  clinic: __import__('os').system('true')\n",
            [
                "3: events.clinic.where has DOT, which predicates do not know; they know = <> < "
                "<= > >= + - * / AND OR NOT IN BETWEEN LIKE IS NULL and functions",
            ],
            id="code is not run",
        ),
    ],
)
def test_a_predicate_with_one_place_spoilt(old: str, new: str, said: list[str]) -> None:
    assert faults(spoilt(PATTERN, old, new), Pattern) == said
