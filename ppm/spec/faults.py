"""What pydantic found wrong, in a person's words: the place, what was found, what is allowed."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ppm.errors import Fault, did_you_mean, listed
from ppm.spec.base import Refusal, Spec
from ppm.spec.document import Document, Path, kind_of, path_text
from ppm.spec.expression.kinds import ExpressionError

_NEEDED = {
    "bool_type": "true or false is needed",
    "dict_type": "a mapping is needed",
    "float_type": "a number is needed",
    "int_from_float": "a whole number is needed",
    "int_type": "a whole number is needed",
    "list_type": "a list is needed",
    "model_attributes_type": "a mapping is needed",
    "model_type": "a mapping is needed",
    "string_type": "text is needed",
    "tuple_type": "a list is needed",
}
_LIMITS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def faults_of(error: ValidationError, model: type[Spec], document: Document | None) -> list[Fault]:
    """Every fault of a document, each with its line; without a document, with its place only."""
    details = error.errors(include_url=False)
    found = [*_missing_keys(details, model)]
    found += [one for detail in details for one in _sentences(detail, model)]
    faults = []
    for path, sentence in found:
        place = _as_written(path, document)
        message = f"{path_text(place) or f'the {model.noun}'} {sentence}"
        faults.append(fault_at(place, message, document))
    return sorted(faults, key=lambda fault: fault.line or 0)


def fault_at(
    path: Path, message: str, document: Document | None, *, is_warning: bool = False
) -> Fault:
    """A fault at a place of a document."""
    if document is None:
        return Fault(message, is_warning=is_warning)
    return Fault(
        message, document.file, document.line(_where_it_stands(path, document)), is_warning
    )


def _where_it_stands(path: Path, document: Document) -> Path:
    """Stages that were written in short stand in the line of `sequence`."""
    for position, part in enumerate(path):
        short = (*path[:position], "sequence")
        if part == "stages" and not document.has(path[: position + 1]) and document.has(short):
            return short
    return path


def _sentences(detail: Mapping[str, Any], model: type[Spec]) -> Iterator[tuple[Path, str]]:
    path: Path = detail["loc"]
    found, context = detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            yield path, _unknown_key(str(path[-1]), _models_at(model, path[:-1]))
        case "missing" if isinstance(path[-1], int):
            yield path[:-1], "needs two numbers, latitude and longitude"
        case "missing":
            return  # told by _missing_keys, all of one place in one sentence
        case "value_error" if path[-1:] == ("[key]",):
            yield path[:-1], f"has a name that cannot be; {context['error']}"
        case "value_error":
            yield from _refused(path, found, context["error"])
        case "literal_error":
            hint = did_you_mean(str(found), _words(context["expected"]))
            yield path, f"is {kind_of(found)}{hint}"
        case "union_tag_invalid":
            key = context["discriminator"].strip("'")
            hint = did_you_mean(str(context["tag"]), _words(context["expected_tags"]))
            yield (*path, key), f"is {kind_of(context['tag'])}{hint}"
        case "union_tag_not_found":
            yield path, f"needs {context['discriminator'].strip(chr(39))}"
        case "too_short" if len(found) >= context["min_length"]:
            return  # its entries are wrong, and pydantic counts only the right ones
        case "too_short":
            yield path, f"has {_entries(len(found))}; at least {context['min_length']} must be"
        case "too_long":
            yield path, f"has {_entries(len(found))}; at most {context['max_length']} can be"
        case "string_too_short":
            yield path, "is empty; text is needed"
        case "string_too_long":
            yield path, f"is longer than {context['max_length']} characters"
        case kind if kind in _LIMITS:
            key, words = _LIMITS[kind]
            yield path, f"is {found}; it must be {words} {context[key]:g}"
        case kind if kind in _NEEDED:
            hint = "; write it in quotes" if _looks_like_text(kind, found) else ""
            yield path, f"is {kind_of(found)}; {_NEEDED[kind]}{hint}"
        case _:
            yield path, f"is {kind_of(found)}; {detail['msg'][:1].lower()}{detail['msg'][1:]}"


def _missing_keys(
    details: Sequence[Mapping[str, Any]], model: type[Spec]
) -> Iterator[tuple[Path, str]]:
    missing: dict[Path, list[str]] = {}
    for detail in details:
        *place, key = detail["loc"] or ("",)
        if detail["type"] == "missing" and isinstance(key, str):
            short = [s for m in _models_at(model, tuple(place)) for s in m.short_forms_of(str(key))]
            missing.setdefault(tuple(place), []).append(" or ".join([str(key), *short]))
    for path, keys in missing.items():
        yield path, f"needs {listed(keys)}"


def _refused(path: Path, found: object, error: Exception) -> Iterator[tuple[Path, str]]:
    if isinstance(error, Refusal):
        for below, sentence in error.faults:
            yield (*path, *below), sentence
    elif isinstance(error, ExpressionError):
        yield path, str(error)
    else:
        yield path, f"is {kind_of(found)}; {error}"


def _unknown_key(key: str, models: list[type[Spec]]) -> str:
    allowed = sorted({name for model in models for name in keys_of(model)})
    noun = models[0].noun if models else "mapping"
    article = "an" if noun[0] in "aeiou" else "a"
    return f"is not a key of {article} {noun}{did_you_mean(key, allowed)}"


def keys_of(model: type[Spec]) -> list[str]:
    """The keys of a model as YAML writes them, its short forms included."""
    return [
        *(field.alias or name for name, field in model.model_fields.items()),
        *model.short_forms,
    ]


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number} entries"


def _looks_like_text(kind: str, found: object) -> bool:
    return kind == "string_type" and isinstance(found, bool | int | float)


def _words(expected: str) -> list[str]:
    """The plain words in pydantic's list of what is allowed: `'a', 'b' or 'c'`."""
    return sorted(word.strip().strip("'") for word in expected.replace(" or ", ", ").split(", "))


def _as_written(path: Path, document: Document | None) -> Path:
    """A path without the branches of unions, which pydantic names but nobody wrote."""
    kept: list[str | int] = []
    for part in path:
        stands_there = document is not None and document.has((*kept, part))
        before = kept[-1] if kept else ""
        # After an index, only column rules are a union.
        branches = _RULES if isinstance(before, int) else _BRANCHES.get(before, ())
        if part not in branches or stands_there:
            kept.append(part)
    return tuple(kept)


_RULES = ("drop", "snap", "laplace", "category", "geo")
_BRANCHES = {
    "window": ("time", "count", "session", "delta", "punctuation"),
    "pattern": ("name", "pattern"),
    "prior": ("name", "independent"),
}
"""What pydantic puts into a path after a key to name a union's branch."""


def _models_at(model: type[Spec], path: Path) -> list[type[Spec]]:
    """The models that may stand at a place, found by walking the annotations."""
    places: list[Any] = [model]
    for part in path:
        places = [below for place in places for below in _below(place, part)]
    return [one for place in places for one in _specs(place)]


def _below(annotation: Any, part: str | int) -> Iterator[Any]:
    for one in _plain_types(annotation):
        if isinstance(one, type) and issubclass(one, Spec):
            fields = {field.alias or name: field for name, field in one.model_fields.items()}
            if part in fields:
                yield fields[str(part)].annotation
            elif not _other_branch(part, fields):
                yield one
        elif get_origin(one) is tuple and isinstance(part, int):
            yield get_args(one)[0]
        elif get_origin(one) is dict:
            yield get_args(one)[1]


def _other_branch(part: str | int, fields: Mapping[str, FieldInfo]) -> bool:
    """Whether a part of a path names a branch of a union, and not this one."""
    kinds = [get_args(fields[key].annotation) for key in ("rule", "kind") if key in fields]
    return any(part not in words for words in kinds)


def _specs(annotation: Any) -> list[type[Spec]]:
    return [
        one for one in _plain_types(annotation) if isinstance(one, type) and issubclass(one, Spec)
    ]


def _plain_types(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from _plain_types(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            yield from _plain_types(member)
    else:
        yield annotation
