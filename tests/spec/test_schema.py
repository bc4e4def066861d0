"""The schemas say of a file what the loader says, as far as its shape goes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ppm.errors import SpecError
from ppm.spec.base import Spec
from ppm.spec.document import read_document
from ppm.spec.faults import keys_of
from ppm.spec.load import FOLDERS, parse
from ppm.spec.schema import EXAMPLES, KINDS, descriptions_of, file_name, reachable, schema_of
from ppm.spec.write import to_yaml

ROOT = Path(__file__).parents[2]


def is_valid(kind: str, text: str) -> bool:
    values = read_document(text, "a.yaml").values
    return bool(Draft202012Validator(schema_of(kind)).is_valid(values))


def loads(kind: str, text: str) -> bool:
    try:
        parse(text, FOLDERS[folder_of(kind)], file="a.yaml")
    except SpecError:
        return False
    return True


def folder_of(kind: str) -> str:
    return next(folder for folder, model in FOLDERS.items() if model.noun == kind)


def body_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Where the keys of a model stand; a short form may stand beside them."""
    body: dict[str, Any] = schema if "properties" in schema else schema["anyOf"][-1]
    return body


def bodies() -> list[tuple[str, type[Spec], dict[str, Any]]]:
    found = []
    for kind, top in KINDS.items():
        schema = schema_of(kind)
        for model in reachable(top):
            place = schema if model is top else schema["$defs"][model.__name__]
            found.append((kind, model, body_of(place)))
    return found


BODIES = [pytest.param(m, b, id=f"{kind}: {m.noun}") for kind, m, b in bodies()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_valid_itself(kind: str) -> None:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == file_name(kind)
    assert schema["title"] == f"ppm {kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_committed_schemas_are_what_is_generated(kind: str) -> None:
    committed = json.loads((ROOT / "schemas" / file_name(kind)).read_text("utf-8"))
    assert committed == schema_of(kind), "run `ppm schema --out schemas`"


@pytest.mark.parametrize("kind", KINDS)
def test_examples_load(kind: str) -> None:
    assert schema_of(kind)["examples"] == [EXAMPLES[kind]]
    spec = KINDS[kind].model_validate(EXAMPLES[kind])
    assert is_valid(kind, to_yaml(spec))


def test_every_model_is_reached() -> None:
    def below(model: type[Spec]) -> set[type[Spec]]:
        return {model}.union(*(below(one) for one in model.__subclasses__()))

    declared = {
        one for one in below(Spec) if "noun" in one.__dict__ and one.__module__[:4] == "ppm."
    }
    assert declared == {model for _, model, _ in bodies()}


@pytest.mark.parametrize(("model", "body"), BODIES)
def test_a_schema_has_all_keys_of_a_model_and_no_others(
    model: type[Spec], body: dict[str, Any]
) -> None:
    assert sorted(body["properties"]) == sorted(keys_of(model))
    assert body["additionalProperties"] is False
    assert body["title"].removeprefix("ppm ") == model.noun
    assert body["description"]


@pytest.mark.parametrize(("model", "body"), BODIES)
def test_docstrings_are_what_an_editor_shows(model: type[Spec], body: dict[str, Any]) -> None:
    for key, said in descriptions_of(model).items():
        assert body["properties"][key]["description"] == said
        assert "\n" not in said


def test_a_key_that_is_written_differently_keeps_its_docstring() -> None:
    stream = schema_of("policy")["$defs"]["Stream"]["properties"]
    assert stream["from"]["description"].startswith("Where the first slot starts")


@pytest.mark.parametrize("folder", FOLDERS)
def test_shipped_files_are_valid(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.yaml"))
    assert files, f"{folder}/ ships nothing"
    validator = Draft202012Validator(schema_of(FOLDERS[folder].noun))
    for file in files:
        values = read_document(file.read_bytes(), file.name).values
        faults = [f"{file.name}: {fault.message}" for fault in validator.iter_errors(values)]
        assert not faults, "\n".join(faults)


PATTERN = "name: p\nevents: {a: x > 1, b: x < 0}\n"
POLICY = """\
name: p
version: 1
stream: {subject: s, time: t, slot: 1 h, from: 2026-01-01T00:00:00Z, lateness: 1 min}
"""
COMMUNITY = f"{POLICY}communities: {{c: {{}}}}\n"
CONSUMER = "name: c\npolicy: p\ncommunity: c\n"
PRIOR = """\
name: p
source: a survey
subjects: 2
from: 2026-01-01T00:00:00Z
until: 2026-01-02T00:00:00Z
slot: 1 h
of: [a, b]
together: [{types: [], slots: 9}, {types: [a, b], slots: 1}]
"""

GOOD = [
    pytest.param("pattern", f"{PATTERN}sequence: a -> b", id="a sequence"),
    pytest.param("pattern", f"{PATTERN}stages: [{{event: a}}, {{event: b}}]", id="stages"),
    pytest.param("pattern", f"{PATTERN}sequence: a\nwithin: 1.5 h", id="a duration"),
    pytest.param("pattern", f"{PATTERN}sequence: a\nwithin:", id="a key left empty"),
    pytest.param("pattern", "name: p\nevents: {a: true}\nsequence: a", id="a bare truth value"),
    pytest.param(
        "pattern",
        "name: p\nevents: {a: {where: x = 1, stand_in: {x: 1, y: no, z: 1.5}}}\nsequence: a",
        id="a stand-in",
    ),
    pytest.param(
        "pattern",
        f"{PATTERN}stages: [{{group: [{{event: a, times: 2..4}}, {{event: b}}], times: 1..}}]",
        id="a group",
    ),
    pytest.param(
        "pattern",
        f"{PATTERN}stages: [{{event: a}}, {{event: b, group: null, gap: {{max: 1 h}}}}]",
        id="a gap",
    ),
    pytest.param(
        "pattern",
        f"{PATTERN}sequence: a -> b\nwindow: {{kind: count, size: 4}}\nskip: skip_to_first(b)",
        id="a window",
    ),
    pytest.param("policy", COMMUNITY, id="the smallest policy"),
    pytest.param(
        "policy",
        POLICY.replace("}", ", zones: {h: {center: [1, 2.5], radius: 1 km}}}")
        + "communities: {c: {columns: [{rule: drop, column: x}]}}",
        id="a circle",
    ),
    pytest.param(
        "policy",
        POLICY.replace("}", ", zones: {h: {corners: [[1, 2], [3, 4], [5, 2]]}}}")
        + "communities: {c: {columns: [{rule: snap, column: x, grid: 0.5}]}}",
        id="a polygon",
    ),
    pytest.param(
        "policy",
        f"{COMMUNITY}prior: {{source: a diary, rates: {{a: 5 %, b: 0.5, c: 0}}}}",
        id="shares",
    ),
    pytest.param("policy", f"{COMMUNITY}prior: households", id="a prior by name"),
    pytest.param("prior", PRIOR, id="a prior"),
    pytest.param("policy", POLICY.replace("}", ", subjects: [a, b]}") + "communities: {c: {}}"),
    pytest.param("consumer", f"{CONSUMER}model: opaque", id="the smallest consumer"),
    pytest.param(
        "consumer",
        f"{CONSUMER}model: opaque\nqueries: [{{name: q, pattern: p, minimum: {{q: 90 %}}}}]",
        id="a query by name",
    ),
    pytest.param(
        "consumer",
        f"{CONSUMER}model: transparent\nqueries:\n"
        "  - {name: q, pattern: {name: p, events: {a: x > 1}, sequence: a}, ask: count, cap: 1}",
        id="a query written out",
    ),
]

BAD = [
    pytest.param("pattern", "[]", id="a list"),
    pytest.param("pattern", PATTERN, id="neither sequence nor stages"),
    pytest.param(
        "pattern", f"{PATTERN}sequence: a\nstages: [{{event: a}}]", id="both sequence and stages"
    ),
    pytest.param("pattern", f"{PATTERN}sequence: a\nwihtin: 1 h", id="a misspelt key"),
    pytest.param("pattern", f"{PATTERN}sequence: a\nwithin: 1 hour", id="a unit that is not known"),
    pytest.param("pattern", f"{PATTERN}sequence: a\nwithin: 60", id="a number without a unit"),
    pytest.param("pattern", f"{PATTERN}sequence: a\nskip: skip_to_first", id="a skip to nowhere"),
    pytest.param("pattern", f"{PATTERN}stages: [{{}}]", id="an empty stage"),
    pytest.param(
        "pattern", f"{PATTERN}stages: [{{event: a, group: [{{event: b}}]}}]", id="two bodies"
    ),
    pytest.param(
        "pattern", f"{PATTERN}stages: [{{event: a}}, {{event: b, gap: {{}}}}]", id="an empty gap"
    ),
    pytest.param("pattern", f"{PATTERN}stages: [{{event: a, times: 0}}]", id="no times"),
    pytest.param("pattern", "name: p\nevents: {}\nsequence: a", id="no events"),
    pytest.param("pattern", "name: p\nevents: {a: 1}\nsequence: a", id="a number as predicate"),
    pytest.param("pattern", "name: p\nevents: {1a: x > 1}\nsequence: a", id="a name of a type"),
    pytest.param("pattern", "name: P\nevents: {a: x > 1}\nsequence: a", id="a name in capitals"),
    pytest.param(
        "pattern", f"{PATTERN}sequence: a\nwindow: {{kind: tiem, size: 1 h}}", id="a window's kind"
    ),
    pytest.param(
        "pattern", f"{PATTERN}sequence: a\nwindow: {{kind: time, size: 4}}", id="a window's size"
    ),
    pytest.param("policy", POLICY, id="no communities"),
    pytest.param("policy", f"{POLICY}communities: {{}}", id="an empty list of communities"),
    pytest.param("policy", f"{POLICY}communities: {{A b: {{}}}}", id="a name with a blank"),
    pytest.param("policy", COMMUNITY.replace("Z", ""), id="a time without a zone"),
    pytest.param("policy", COMMUNITY.replace("version: 1", "version: 0"), id="version 0"),
    pytest.param(
        "policy",
        f"{POLICY}communities: {{c: {{protect: {{p: {{mechanism: respons}}}}}}}}",
        id="a misspelt mechanism",
    ),
    pytest.param(
        "policy",
        f"{POLICY}communities: {{c: {{protect: {{p: {{epsilon: 0}}}}}}}}",
        id="no budget",
    ),
    pytest.param(
        "policy",
        f"{POLICY}communities: {{c: {{columns: [{{rule: drop, columns: x}}]}}}}",
        id="a rule's key",
    ),
    pytest.param(
        "policy",
        POLICY.replace("}", ", zones: {h: {center: [1, 2]}}}") + "communities: {c: {}}",
        id="a circle without radius",
    ),
    pytest.param(
        "policy",
        f"{COMMUNITY}prior: {{source: a diary, rates: {{a: 5}}}}",
        id="a share above 1",
    ),
    pytest.param("policy", f"{COMMUNITY}prior: House holds", id="a prior's name"),
    pytest.param("policy", f"{COMMUNITY}prior: [a]", id="a list of priors"),
    pytest.param("prior", PRIOR.replace("subjects: 2", "subjects: 0"), id="nobody"),
    pytest.param("prior", PRIOR.replace("slots: 1}", "slots: -1}"), id="less than no slots"),
    pytest.param("prior", PRIOR.replace("of: [a, b]\n", ""), id="no types that were counted"),
    pytest.param("prior", PRIOR.replace("[a, b], slots", "[a b], slots"), id="a type's name"),
    pytest.param("consumer", CONSUMER, id="no model"),
    pytest.param("consumer", f"{CONSUMER}model: clear", id="a misspelt model"),
    pytest.param(
        "consumer",
        f"{CONSUMER}model: opaque\nqueries: [{{name: q, pattern: p, minimum: {{}}}}]",
        id="an empty minimum",
    ),
    pytest.param(
        "consumer",
        f"{CONSUMER}model: opaque\nqueries: [{{name: q, pattern: {{name: p}}}}]",
        id="half a pattern",
    ),
]


@pytest.mark.parametrize(("kind", "text"), GOOD)
def test_schema_and_loader_accept(kind: str, text: str) -> None:
    assert loads(kind, text)
    assert is_valid(kind, text)


@pytest.mark.parametrize(("kind", "text"), BAD)
def test_schema_and_loader_refuse(kind: str, text: str) -> None:
    assert not loads(kind, text)
    assert not is_valid(kind, text)
