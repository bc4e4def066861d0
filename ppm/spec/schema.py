"""Every kind of file as JSON Schema, so that an editor completes and checks them.

A schema knows the shape of a file. What a shape cannot say (names that must exist, predicates,
coherence of stages) is left to `ppm check`: a schema never refuses what the loader accepts.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, get_args

from pydantic.json_schema import GenerateJsonSchema

from ppm.spec.base import Spec
from ppm.spec.consumer import Quality
from ppm.spec.load import FOLDERS
from ppm.spec.stage import Gap, Stage
from ppm.spec.zone import Zone

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
KINDS: Mapping[str, type[Spec]] = {model.noun: model for model in FOLDERS.values()}
"""What a file can declare: a pattern, a policy, a consumer or a prior."""

EXAMPLES: Mapping[str, Schema] = {
    "pattern": {
        "name": "house-empty",
        "events": {
            "leave": {"where": "kind = 'locked'", "stand_in": {"kind": "locked"}},
            "arm": {"where": "kind = 'armed'", "stand_in": {"kind": "armed"}},
        },
        "sequence": "leave -> arm",
        "within": "10 min",
    },
    "policy": {
        "name": "smart-door",
        "version": 1,
        "stream": {
            "subject": "door",
            "time": "at",
            "slot": "1 h",
            "from": "2026-01-01T00:00:00Z",
            "lateness": "5 min",
        },
        "communities": {
            "services": {"protect": {"house-empty": {"mechanism": "response", "epsilon": 2}}}
        },
    },
    "consumer": {
        "name": "heating",
        "policy": "smart-door",
        "community": "services",
        "model": "transparent",
        "queries": [{"name": "empty", "pattern": "house-empty", "minimum": {"recall": "50 %"}}],
    },
    "prior": {
        "name": "makers",
        "source": "four weeks of the makers' own doors, with consent",
        "subjects": 25,
        "from": "2025-12-01T00:00:00Z",
        "until": "2025-12-29T00:00:00Z",
        "slot": "1 h",
        "of": ["leave", "arm"],
        "together": [
            {"types": [], "slots": 13_900},
            {"types": ["leave"], "slots": 900},
            {"types": ["leave", "arm"], "slots": 2_000},
        ],
    },
}
"""One small file of each kind, as an editor may offer it."""


def file_name(kind: str) -> str:
    """What the schema of a kind is called, on disk and by itself.

    >>> file_name("pattern")
    'pattern.schema.json'
    """
    return f"{kind}.schema.json"


def schema_of(kind: str) -> Schema:
    """The JSON Schema of one kind of file.

    >>> schema_of("consumer")["required"]
    ['name', 'policy', 'community', 'model']
    """
    model = KINDS[kind]
    schema = model.model_json_schema(schema_generator=_Generator)
    models = {one.__name__: one for one in reachable(model)}
    for name, definition in schema["$defs"].items():
        _complete(definition, models[name])
    _complete(schema, model)
    # The name is relative, so that it is the file's own address wherever the file lies.
    head = {"$schema": DIALECT, "$id": file_name(kind), "title": f"ppm {kind}"}
    return {**head, **_tidy(schema), "title": head["title"], "examples": [EXAMPLES[kind]]}


def reachable(model: type[Spec]) -> Iterator[type[Spec]]:
    """A model and every model that can stand somewhere inside it."""
    found: dict[type[Spec], None] = {}
    ahead: list[Any] = [model]
    while ahead:
        one = ahead.pop()
        if isinstance(one, type) and issubclass(one, Spec):
            if one not in found:
                found[one] = None
                ahead += [field.annotation for field in one.model_fields.values()]
        else:
            ahead += get_args(one)
    return iter(found)


class _Generator(GenerateJsonSchema):
    """Keys have no titles: a title would only be the key again, with a capital."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def _complete(schema: Schema, model: type[Spec]) -> None:
    """Add what pydantic does not know: what a person reads, and which keys need each other."""
    # Where a short form may be written, the model itself comes last.
    body = schema if "properties" in schema else schema["anyOf"][-1]
    body["title"] = model.noun
    for key, description in descriptions_of(model).items():
        body["properties"][key]["description"] = description
    body |= _SHAPES.get(model, {})


def descriptions_of(model: type[Spec]) -> dict[str, str]:
    """The docstring of every key that has one.

    Read from the source and only here: pydantic would read it at each import, in each worker.

    >>> descriptions_of(Gap)
    {'min': 'At least this much later.', 'max': 'Less than this much later.'}
    """
    found: dict[str, str] = {}
    for source in reversed([one for one in model.__mro__ if issubclass(one, Spec)]):
        [body] = ast.parse(textwrap.dedent(inspect.getsource(source))).body
        assert isinstance(body, ast.ClassDef), "the source of a class is a class"
        for first, second in pairwise(body.body):
            match first, second:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    found[name] = " ".join(text.split())
    fields = model.model_fields
    return {fields[name].alias or name: text for name, text in found.items() if name in fields}


def _given(*keys: str) -> Schema:
    """These keys are there, and hold something."""
    return {"required": [*keys], "properties": {key: {"not": {"type": "null"}} for key in keys}}


_SHAPES: Mapping[type[Spec], Schema] = {
    Stage: {"oneOf": [_given(body) for body in ("event", "group", "any_of", "all_of")]},
    Gap: {"anyOf": [_given("min"), _given("max")]},
    Quality: {"anyOf": [_given("recall"), _given("precision"), _given("q")]},
    Zone: {"oneOf": [_given("center", "radius"), _given("corners")]},
}


def _tidy(schema: Any) -> Any:
    """Close mappings whose keys follow a pattern, and drop what only OpenAPI or nobody reads."""
    if isinstance(schema, list):
        return [_tidy(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _tidy(value) for key, value in schema.items() if key != "discriminator"}
    if isinstance(kept.get("default", 0), dict | list | None) or kept.get("default") == "":
        # An editor would write it out when it completes the key.
        del kept["default"]
    if "patternProperties" in kept:
        kept["additionalProperties"] = False
    return kept
