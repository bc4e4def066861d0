"""What is said of documents that are wrong in one place: the line, and the exact words."""

from __future__ import annotations

import pytest

from ppm.errors import SpecError
from ppm.spec.base import Declaration
from ppm.spec.consumer import Consumer
from ppm.spec.load import parse
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy

PATTERN = """\
name: visit
events:
  clinic: place = 'clinic'
  pharmacy: place = 'pharmacy'
sequence: clinic -> pharmacy
within: 2 h
"""
POLICY = """\
name: town
version: 1
stream:
  subject: person
  time: ts
  slot: 15 min
  from: 2026-03-01T00:00:00+01:00
  lateness: 2 min
communities:
  friends:
    protect:
      visit: {mechanism: response, epsilon: 1}
"""
CONSUMER = """\
name: app
policy: town
community: friends
model: transparent
queries:
  - name: visits
    pattern: visit
"""
STAGES = """\
name: visit
events: {a: x = 1, b: x = 2, c: x = 3}
stages:
"""
MODELS: dict[str, type[Declaration]] = {PATTERN: Pattern, POLICY: Policy, CONSUMER: Consumer}


def faults(text: str, model: type[Declaration]) -> list[str]:
    with pytest.raises(SpecError) as refused:
        parse(text, model, file="f.yaml")
    return [str(fault).removeprefix("f.yaml:") for fault in refused.value.faults]


@pytest.mark.parametrize("text", MODELS, ids=["pattern", "policy", "consumer"])
def test_the_documents_that_are_spoilt_below_are_right(text: str) -> None:
    assert parse(text, MODELS[text], file="f.yaml").spec


NO_DOCUMENTS = [
    pytest.param(
        "",
        [
            "1: the file is empty",
        ],
        id="an empty file",
    ),
    pytest.param(
        "# nothing\n",
        [
            "1: the file is empty",
        ],
        id="only a comment",
    ),
    pytest.param(
        "- a\n- b\n",
        [
            "1: the pattern is a list; a mapping is needed",
        ],
        id="a list in place of a mapping",
    ),
    pytest.param(
        "visit\n",
        [
            "1: the pattern is 'visit'; a mapping is needed",
        ],
        id="plain text",
    ),
    pytest.param(
        "name: [visit\n",
        [
            "2: not YAML: expected ',' or ']', but got '<stream end>'",
        ],
        id="broken YAML",
    ),
    pytest.param(
        "events:\n\tclinic: x = 1\n",
        [
            "2: not YAML: found character '\\t' that cannot start any token; "
            "indent with spaces, not with tabs",
        ],
        id="a tab for indentation",
    ),
    pytest.param(
        "base: &b {name: visit}\n<<: *b\n",
        [
            "2: << is not supported; use extends, or repeat the keys",
        ],
        id="a merge key",
    ),
    pytest.param(
        "name: &n [*n]\n",
        [
            "1: the alias *n stands inside its own anchor",
        ],
        id="a recursive alias",
    ),
    pytest.param(
        "doc: nothing else\n",
        [
            "1: the pattern needs name, events and stages or sequence",
        ],
        id="several missing keys",
    ),
]


@pytest.mark.parametrize(("text", "said"), NO_DOCUMENTS)
def test_what_is_no_pattern_at_all(text: str, said: list[str]) -> None:
    assert faults(text, Pattern) == said


SPOILT = [
    pytest.param(
        PATTERN,
        "",
        "within: 3 h\n",
        [
            "7: the key within stands twice (first in line 6)",
        ],
        id="a key twice",
    ),
    pytest.param(
        PATTERN,
        "",
        "---\nname: other\n",
        [
            "7: a second document starts here; one file is one document",
        ],
        id="a second document",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: !!str 2 h\n",
        [
            "6: the tag !!str is not used here; remove it",
        ],
        id="a tag",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: *limit\n",
        [
            "6: the alias *limit has no anchor &limit before it",
        ],
        id="an alias without anchor",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  12: place = 'clinic'\n",
        [
            "3: the key 12 reads as the number 12; write it in quotes",
        ],
        id="a key that is a number",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "witin: 2 h\n",
        [
            "6: witin is not a key of a pattern; did you mean within?",
        ],
        id="an unknown key",
    ),
    pytest.param(
        PATTERN,
        "",
        "zebra: 1\n",
        [
            "7: zebra is not a key of a pattern; allowed are doc, events, max_matches, "
            "name, preset, sequence, skip, stages, window, within",
        ],
        id="a key far from any",
    ),
    pytest.param(
        PATTERN,
        "name: visit\n",
        "",
        [
            "1: the pattern needs name",
        ],
        id="a missing name",
    ),
    pytest.param(
        PATTERN,
        "name: visit\n",
        "name: Visit\n",
        [
            "1: name is 'Visit'; a name is up to 64 small letters, digits, - and _, not "
            "starting with - or _",
        ],
        id="a capital name",
    ),
    pytest.param(
        PATTERN,
        "name: visit\n",
        "name: 12\n",
        [
            "1: name is the number 12; text is needed; write it in quotes",
        ],
        id="a name that is a number",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: 2\n",
        [
            "6: within is the number 2; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
        ],
        id="a duration without unit",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: 02:00\n",
        [
            "6: within is '02:00'; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
        ],
        id="a clock time is no duration",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: 0 h\n",
        [
            "6: within is '0 h'; a duration must be more than 0 and at most 100 years of "
            "365.25 days",
        ],
        id="a duration of nothing",
    ),
    pytest.param(
        PATTERN,
        "within: 2 h\n",
        "within: 2 hours\n",
        [
            "6: within is '2 hours'; a duration is needed, such as 30 s, 15 min, 2 h or 30 d",
        ],
        id="an unknown unit",
    ),
    pytest.param(
        PATTERN,
        "events:\n  clinic: place = 'clinic'\n  pharmacy: place = 'pharmacy'\n",
        "events: [clinic, pharmacy]\n",
        [
            "2: events is a list; a mapping is needed",
        ],
        id="events as a list",
    ),
    pytest.param(
        PATTERN,
        "events:\n  clinic: place = 'clinic'\n  pharmacy: place = 'pharmacy'\n",
        "events: {}\n",
        [
            "2: events has 0 entries; at least 1 must be",
        ],
        id="no events",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: place = = 'clinic'\n",
        [
            "3: events.clinic.where is not SQL near '='",
        ],
        id="a predicate that is no SQL",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: (place = 'clinic'\n",
        [
            "3: events.clinic.where is not SQL: it stops too early, or a bracket is missing",
        ],
        id="an open bracket",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: place = 'clinic\n",
        [
            "3: events.clinic.where is not SQL: a quote does not end, or a character is stray",
        ],
        id="an open quote",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: lowr(place) = 'clinic'\n",
        [
            "3: events.clinic.where calls lowr(), which is not known; did you mean lower?",
        ],
        id="an unknown function",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: lower(place, 1) = 'clinic'\n",
        [
            "3: events.clinic.where calls a function with too many arguments",
        ],
        id="a function with too many arguments",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: count(*) > 3\n",
        [
            "3: events.clinic.where calls count() on something else than a stage; it is "
            "count(a): how many events",
        ],
        id="an aggregate over rows",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: price > last(a.price)\n",
        [
            "3: events.clinic.where asks about other events (last(a.price)); it sees one "
            "row: put this into where of a stage",
        ],
        id="an aggregate of another event",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: place IN (SELECT x FROM y)\n",
        [
            "3: events.clinic.where has a query inside; a predicate looks at one row",
        ],
        id="a query inside",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: CAST(place AS INT) = 1\n",
        [
            "3: events.clinic.where has a CAST; predicates do not convert, declare the "
            "column's type instead",
        ],
        id="a cast",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: CASE WHEN place = 'clinic' THEN TRUE ELSE FALSE END\n",
        [
            "3: events.clinic.where has CASE, which predicates do not know; they know = <> "
            "< <= > >= + - * / AND OR NOT IN BETWEEN LIKE IS NULL and functions",
        ],
        id="a case expression",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: 1 + 2\n",
        [
            "3: events.clinic.where is a number; a predicate is needed, such as speed > 2.5",
        ],
        id="a number is no predicate",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: lower(place) > 3\n",
        [
            "3: events.clinic.where has lower(place) > 3, which compares text with a whole number",
        ],
        id="text compared with a number",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: place = NULL\n",
        [
            "3: events.clinic.where has NULL as a value; use IS NULL or IS NOT NULL",
        ],
        id="equal to NULL",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: in_zone(lat, lon, clinic)\n",
        [
            "3: events.clinic.where calls in_zone() without a zone's name in quotes",
        ],
        id="a zone without quotes",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: __import__('os').system('true')\n",
        [
            "3: events.clinic.where has DOT, which predicates do not know; they know = <> < "
            "<= > >= + - * / AND OR NOT IN BETWEEN LIKE IS NULL and functions",
        ],
        id="code is not run",
    ),
    pytest.param(
        PATTERN,
        "sequence: clinic -> pharmacy\n",
        "sequence: clinic -> farmacy\n",
        [
            "5: stages[1].event is farmacy, which events does not have; did you mean pharmacy?",
        ],
        id="a sequence with an unknown event",
    ),
    pytest.param(
        PATTERN,
        "sequence: clinic -> pharmacy\n",
        "sequence: clinic => => pharmacy\n",
        [
            "5: sequence cannot be read: '=> pharmacy' stands where an event type is "
            "expected; groups and the like are written as stages",
        ],
        id="a sequence with a wrong arrow",
    ),
    pytest.param(
        PATTERN,
        "sequence: clinic -> pharmacy\n",
        "sequence: clinic ->\n",
        [
            "5: sequence cannot be read: it ends where an event type is expected; groups "
            "and the like are written as stages",
        ],
        id="a sequence that ends early",
    ),
    pytest.param(
        PATTERN,
        "",
        "stages: [{event: clinic}]\n",
        [
            "5: sequence and stages say the same thing; keep one of them",
        ],
        id="sequence and stages",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: {where: x = 1, stand_in: {}}\n",
        [
            "3: events.clinic.stand_in has 0 entries; at least 1 must be",
        ],
        id="a stand-in without values",
    ),
    pytest.param(
        PATTERN,
        "  clinic: place = 'clinic'\n",
        "  clinic: {where: x = 1, stand_in: {x: [1]}}\n",
        [
            "3: events.clinic.stand_in.x is a list; a plain value is needed: text, a "
            "number, true or false",
        ],
        id="a stand-in with a list",
    ),
    pytest.param(
        PATTERN,
        "",
        "skip: skip_all\n",
        [
            "7: skip is 'skip_all'; allowed are no_skip, skip_to_next, skip_past_last, "
            "skip_to_first(stage), skip_to_last(stage)",
        ],
        id="an unknown skip",
    ),
    pytest.param(
        PATTERN,
        "",
        "skip: skip_to_first(hospital)\n",
        [
            "7: skip names hospital, which is not a stage; allowed are clinic, pharmacy",
        ],
        id="a skip to no stage",
    ),
    pytest.param(
        PATTERN,
        "",
        "skip: no_skip\npreset: first\n",
        [
            "8: preset and skip say the same thing; keep one of them",
        ],
        id="skip and preset",
    ),
    pytest.param(
        PATTERN,
        "",
        "preset: longst\n",
        [
            "7: preset is 'longst'; did you mean longest?",
        ],
        id="an unknown preset",
    ),
    pytest.param(
        PATTERN,
        "",
        "window: {size: 4}\n",
        [
            "7: window needs kind",
        ],
        id="a window without kind",
    ),
    pytest.param(
        PATTERN,
        "",
        "window: {kind: count, size: 4, slide: 5}\n",
        [
            "7: window.slide is 5; it must not exceed size, or rows fall between",
        ],
        id="a window that slides too far",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: response, epsilon: 0}\n",
        [
            "12: communities.friends.protect.visit.epsilon is 0; it must be greater than 0",
        ],
        id="an epsilon of zero",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: response, epsilon: .inf}\n",
        [
            "12: communities.friends.protect.visit.epsilon is '.inf'; a number is needed",
        ],
        id="an infinite epsilon",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: response, epsilon: 1e400}\n",
        [
            "12: 1e400 is too large a number",
        ],
        id="an epsilon too large to be one",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: response, epsilon: one}\n",
        [
            "12: communities.friends.protect.visit.epsilon is 'one'; a number is needed",
        ],
        id="an epsilon in words",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: response, epsilom: 1}\n",
        [
            "12: communities.friends.protect.visit.epsilom is not a key of a protection; "
            "did you mean epsilon?",
        ],
        id="a misspelt epsilon",
    ),
    pytest.param(
        POLICY,
        "      visit: {mechanism: response, epsilon: 1}\n",
        "      visit: {mechanism: randomised-response, epsilon: 1}\n",
        [
            "12: communities.friends.protect.visit.mechanism is 'randomised-response'; did "
            "you mean joint-response?",
        ],
        id="an unknown mechanism",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  latness: 2 min\n",
        [
            "3: stream needs lateness",
            "8: stream.latness is not a key of a stream; did you mean lateness?",
        ],
        id="an unknown key of the stream",
    ),
    pytest.param(
        POLICY,
        "  from: 2026-03-01T00:00:00+01:00\n",
        "  from: 2026-03-01T00:00:00\n",
        [
            "7: stream.from is '2026-03-01T00:00:00'; a time with its offset is needed, "
            "such as 2026-03-01T08:00:00+01:00",
        ],
        id="a time without zone",
    ),
    pytest.param(
        POLICY,
        "  from: 2026-03-01T00:00:00+01:00\n",
        "  from: 2026-02-30T00:00:00+01:00\n",
        [
            "7: stream.from is '2026-02-30T00:00:00+01:00'; a time with its offset is "
            "needed, such as 2026-03-01T08:00:00+01:00",
        ],
        id="a date that does not exist",
    ),
    pytest.param(
        POLICY,
        "version: 1\n",
        "version: 1.0\n",
        [
            "2: version is the number 1.0; a whole number is needed",
        ],
        id="a version with a point",
    ),
    pytest.param(
        POLICY,
        "communities:\n  friends:\n    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "communities: {}\n",
        [
            "9: communities has 0 entries; at least 1 must be",
        ],
        id="no community",
    ),
    pytest.param(
        POLICY,
        "  friends:\n",
        "  my friends:\n",
        [
            "10: communities.my friends has a name that cannot be; a name is up to 64 small "
            "letters, digits, - and _, not starting with - or _",
        ],
        id="a community's name with a blank",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  timezone: Europe/Olso\n",
        [
            "9: stream.timezone is 'Europe/Olso'; a time zone is needed, such as "
            "Europe/Oslo or UTC",
        ],
        id="a time zone that is none",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  subjects: [1, 2]\n",
        [
            "9: stream.subjects is a list; seen is needed, or a list of subjects (numbers "
            "in quotes)",
        ],
        id="subjects that are numbers",
    ),
    pytest.param(
        POLICY,
        "  time: ts\n",
        "  time: person\n",
        [
            "3: stream uses one column for two of subject, time and event_id",
        ],
        id="one column for two roles",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  columns: {person: string, t: timestamp}\n",
        [
            "5: stream.time is ts, which columns does not have; did you mean t?",
        ],
        id="a time that columns does not have",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  columns: {person: string, ts: string}\n",
        [
            "5: stream.time is ts, which is string; a timestamp is needed",
        ],
        id="a time that is text",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  zones: {home: {center: [59.9, 10.7]}}\n",
        [
            "9: stream.zones.home needs center and radius (a circle), or corners (a polygon)",
        ],
        id="a zone without radius",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  zones: {home: {center: [159.9, 10.7], radius: 100 m}}\n",
        [
            "9: stream.zones.home.center[0] is 159.9; it must be at most 85",
        ],
        id="a zone beyond the pole",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  zones: {home: {corners: [[59.9, 10.7], [59.8, 10.7]]}}\n",
        [
            "9: stream.zones.home.corners has fewer than 3 different corners",
        ],
        id="a zone of two corners",
    ),
    pytest.param(
        POLICY,
        "  lateness: 2 min\n",
        "  lateness: 2 min\n  zones: {home: {center: [59.9, 10.7], radius: 100}}\n",
        [
            "9: stream.zones.home.radius is the number 100; a distance is needed, such as "
            "200 m or 1.5 km",
        ],
        id="a radius without unit",
    ),
    pytest.param(
        POLICY,
        "",
        "    horizon: {over: 1 d, epsilon: 10}\n",
        [
            "13: communities.friends.horizon needs then",
        ],
        id="a horizon without fallback",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n      - {rule: blur, column: lat}\n",
        [
            "12: communities.friends.columns[0].rule is 'blur'; allowed are category, drop, "
            "geo, laplace, snap",
        ],
        id="an unknown column rule",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n      - {rule: laplace, column: age, epsilon: 1}\n",
        [
            "12: communities.friends.columns[0] needs lower, upper and missing",
        ],
        id="a laplace rule without bounds",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n"
        "      - {rule: laplace, column: age, epsilon: 1, lower: 9, upper: 1, missing: 5}\n",
        [
            "12: communities.friends.columns[0].lower is 9.0; it must be less than upper, 1.0",
        ],
        id="bounds upside down",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n"
        "      - {rule: laplace, column: age, epsilon: 1, lower: 1, upper: 9, missing: 0}\n",
        [
            "12: communities.friends.columns[0].missing is 0.0; it must lie between 1.0 and 9.0",
        ],
        id="a missing value outside the bounds",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n      - {rule: category, column: k, epsilon: 1, values: [a, a], other: b}\n",
        [
            "12: communities.friends.columns[0].values names a value twice",
        ],
        id="a category twice",
    ),
    pytest.param(
        POLICY,
        "    protect:\n      visit: {mechanism: response, epsilon: 1}\n",
        "    columns:\n"
        "      - {rule: geo, latitude: lat, longitude: lon, level: 1, radius: 200 m, grid: 10 m,\n"
        "         epoch: 1 d, missing: [59.5, 10.5], lower: 1,\n"
        "         area: {south: 59, west: 10, north: 60, east: 11}}\n",
        [
            "13: communities.friends.columns[0].lower is not a key of a geo rule; did you "
            "mean where?",
        ],
        id="a geo rule with a key of laplace",
    ),
    pytest.param(
        CONSUMER,
        "model: transparent\n",
        "model: translucent\n",
        [
            "4: model is 'translucent'; did you mean transparent?",
        ],
        id="an unknown model",
    ),
    pytest.param(
        CONSUMER,
        "queries:\n  - name: visits\n    pattern: visit\n",
        "",
        [
            "4: model is transparent, but there are no queries to know",
        ],
        id="a transparent consumer without queries",
    ),
    pytest.param(
        CONSUMER,
        "model: transparent\nqueries:\n  - name: visits\n    pattern: visit\n",
        "model: opaque\nqueries:\n  - name: visits\n    pattern: visit\n    ask: existence\n",
        [
            "8: queries[0].ask is existence; only a transparent consumer can have answers",
        ],
        id="an opaque consumer that wants answers",
    ),
    pytest.param(
        CONSUMER,
        "",
        "    ask: count\n",
        [
            "6: queries[0] needs cap, because ask is count",
        ],
        id="a count without cap",
    ),
    pytest.param(
        CONSUMER,
        "",
        "    cap: 3\n",
        [
            "8: queries[0].cap is for ask: count only; ask is matches",
        ],
        id="a cap without count",
    ),
    pytest.param(
        CONSUMER,
        "",
        "    preference: 120 %\n",
        [
            "8: queries[0].preference is '120 %'; a share between 0 % and 100 % is needed, "
            "such as 90 % or 0.9",
        ],
        id="a preference above all",
    ),
    pytest.param(
        CONSUMER,
        "",
        "    minimum: {}\n",
        [
            "8: queries[0].minimum needs recall, precision or q",
        ],
        id="a minimum of nothing",
    ),
    pytest.param(
        CONSUMER,
        "",
        "  - name: visits\n    pattern: visit\n",
        [
            "8: queries[1].name is visits, like a query before",
        ],
        id="two queries of one name",
    ),
    pytest.param(
        CONSUMER,
        "    pattern: visit\n",
        "    pattern: {name: x, events: {a: x = 1}, sequence: b}\n",
        [
            "7: queries[0].pattern.stages[0].event is b, which events does not have; allowed are a",
        ],
        id="an inline pattern with a fault",
    ),
    pytest.param(
        CONSUMER,
        "    pattern: visit\n",
        "    pattern: 3\n",
        [
            "7: queries[0].pattern is the number 3; a mapping is needed",
        ],
        id="a pattern that is a number",
    ),
    pytest.param(
        CONSUMER,
        "",
        "    weight: 0\n",
        [
            "8: queries[0].weight is 0; it must be greater than 0",
        ],
        id="a weight of zero",
    ),
]


@pytest.mark.parametrize(("document", "old", "new", "said"), SPOILT)
def test_a_document_with_one_place_spoilt(
    document: str, old: str, new: str, said: list[str]
) -> None:
    spoilt = document.replace(old, new, 1) if old else document + new
    assert faults(spoilt, MODELS[document]) == said


STAGES_THAT_MEAN_NOTHING = [
    pytest.param(
        "  - {name: z}\n",
        [
            "4: stages[0] needs exactly one of event, group, any_of, all_of",
        ],
        id="a stage without body",
    ),
    pytest.param(
        "  - {event: a, group: [{event: b}]}\n",
        [
            "4: stages[0] needs exactly one of event, group, any_of, all_of",
        ],
        id="a stage with two bodies",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: a}\n",
        [
            "5: stages[1] is called a like a stage before; give it a name of its own",
        ],
        id="a stage name twice",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: b, contiguity: not_next, times: 2}\n  - {event: c}\n",
        [
            "5: stages[1].times stands on not_next; what does not occur has no times",
        ],
        id="an absence with a quantifier",
    ),
    pytest.param(
        "  - {event: a}\n"
        "  - {event: b, optional: true}\n"
        "  - {event: c, contiguity: not_followed_by}\n"
        "within: 1 h\n",
        [
            "6: stages[2] is not_followed_by right after an optional stage; put a stage between",
        ],
        id="an absence after an optional stage",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: b, contiguity: not_followed_by}\n",
        [
            "5: stages[1] ends the pattern with not_followed_by; within or lasting must say "
            "for how long",
        ],
        id="a trailing absence without window",
    ),
    pytest.param(
        "  - {event: a, times: 2..3, until: x = 2}\n  - {event: b}\n",
        [
            "4: stages[0].until needs a repetition without end, such as times: 1..",
        ],
        id="until on a bounded loop",
    ),
    pytest.param(
        "  - {event: a, greedy: true}\n  - {event: b}\n",
        [
            "4: stages[0].greedy needs a repetition that can vary, such as times: 1.. or "
            "times: 2..4",
        ],
        id="greedy on a single event",
    ),
    pytest.param(
        "  - {event: a, times: 1.., greedy: true, loop: combinations}\n  - {event: b}\n",
        [
            "4: stages[0].greedy and loop: combinations exclude each other",
        ],
        id="greedy combinations",
    ),
    pytest.param(
        "  - {event: a, times: 1.., greedy: true}\n"
        "  - {event: b, optional: true}\n"
        "  - {event: c}\n",
        [
            "5: stages[1] is optional right after a greedy stage; make one of them plain",
        ],
        id="optional after greedy",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: b, gap: {max: 3 h}}\nwithin: 2 h\n",
        [
            "5: stages[1].gap.max is 3 h, longer than within, 2 h",
        ],
        id="a gap longer than within",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: b, gap: {min: 3 min, max: 2 min}}\n",
        [
            "5: stages[1].gap.min is 3 min; it must be less than max, 2 min",
        ],
        id="a gap that ends before it starts",
    ),
    pytest.param(
        "  - {event: a, times: 0}\n",
        [
            "4: stages[0].times is the number 0; it must start at 1 or more and not end "
            "before it starts",
        ],
        id="times zero",
    ),
    pytest.param(
        "  - {event: a, times: 3..2}\n",
        [
            "4: stages[0].times is '3..2'; it must start at 1 or more and not end before it starts",
        ],
        id="times backwards",
    ),
    pytest.param(
        "  - {event: a, optional: true}\n",
        [
            "3: stages can all be left out; at least one stage must occur",
        ],
        id="optional everything",
    ),
    pytest.param(
        "  - {event: a}\n  - {event: b, contiguity: followed-by}\n",
        [
            "5: stages[1].contiguity is 'followed-by'; did you mean followed_by?",
        ],
        id="an unknown contiguity",
    ),
    pytest.param(
        "  - {event: a, optional: yes}\n  - {event: b}\n",
        [
            "4: stages[0].optional is 'yes'; true or false is needed",
        ],
        id="yes is no boolean",
    ),
    pytest.param(
        "  - {event: a, where: x > last(b.x)}\n  - {event: b}\n",
        [
            "4: stages[0].where asks last(b.x), but no stage before it is called b; allowed are a",
        ],
        id="a condition on a later stage",
    ),
]


@pytest.mark.parametrize(("stages", "said"), STAGES_THAT_MEAN_NOTHING)
def test_stages_that_mean_nothing(stages: str, said: list[str]) -> None:
    assert faults(STAGES + stages, Pattern) == said


def test_there_are_enough_of_them() -> None:
    assert len(NO_DOCUMENTS) + len(SPOILT) + len(STAGES_THAT_MEAN_NOTHING) >= 60
