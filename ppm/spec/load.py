"""YAML files into specs: everything in the folders of a project, and every fault at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Generic, TypeVar

from pydantic import ValidationError

from ppm.errors import Fault, SpecError
from ppm.spec.base import Declaration
from ppm.spec.consumer import Consumer
from ppm.spec.document import MAX_BYTES, Document, Path, path_text, read_document
from ppm.spec.faults import fault_at, faults_of
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy
from ppm.spec.prior import Prior

Kind = TypeVar("Kind", bound=Declaration)
SUFFIXES = (".yaml", ".yml")

FOLDERS: Mapping[str, type[Declaration]] = {
    "patterns": Pattern,
    "policies": Policy,
    "consumers": Consumer,
    "priors": Prior,
}
"""The folders of a project, and what a file in each of them declares."""


@dataclass(frozen=True, slots=True)
class Declared(Generic[Kind]):
    """A spec, and the file that declares it."""

    spec: Kind
    document: Document

    def fault(self, path: Path, sentence: str, *, is_warning: bool = False) -> Fault:
        """A fault at a place of the file; the sentence goes on after the place."""
        place = path_text(path) or f"the {self.spec.noun}"
        return fault_at(path, f"{place} {sentence}", self.document, is_warning=is_warning)

    def nearest(self, *paths: Path) -> Path:
        """The first of these places that the file has; the last one if it has none of them."""
        return next((path for path in paths if self.document.has(path)), paths[-1])

    def warning(self, path: Path, sentence: str) -> Fault:
        """Something that may be meant, but should not go unseen."""
        return self.fault(path, sentence, is_warning=True)


@dataclass(frozen=True, slots=True)
class Project:
    """All that the files of a project declare, by name."""

    folder: str
    patterns: dict[str, Declared[Pattern]] = field(default_factory=dict)
    policies: dict[str, Declared[Policy]] = field(default_factory=dict)
    consumers: dict[str, Declared[Consumer]] = field(default_factory=dict)
    priors: dict[str, Declared[Prior]] = field(default_factory=dict)
    unread_patterns: frozenset[str] = frozenset()
    """Names of patterns that could not be read, which other files may name rightly."""
    unread_policies: frozenset[str] = frozenset()
    """Names of policies that could not be read."""
    unread_priors: frozenset[str] = frozenset()
    """Names of priors that could not be read."""

    @property
    def files(self) -> frozenset[str]:
        """The files that were read."""
        return frozenset(
            [
                *(one.document.file for one in self.patterns.values()),
                *(one.document.file for one in self.policies.values()),
                *(one.document.file for one in self.consumers.values()),
                *(one.document.file for one in self.priors.values()),
            ]
        )


def parse(text: bytes | str, model: type[Kind], *, file: str) -> Declared[Kind]:
    """Read one declaration, or raise a `SpecError` with every fault of the file.

    >>> declared = parse("name: p\\nevents: {a: x > 1}\\nsequence: a", Pattern, file="p.yaml")
    >>> declared.spec.text
    'a'
    """
    return validate(read_document(text, file), model)


def declare(model: type[Kind], values: Mapping[str, object]) -> Kind:
    """A declaration from plain values, or a `SpecError` with everything that is wrong with it.

    >>> declare(Prior, {"name": "x y"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ppm.errors.SpecError: the prior needs source, subjects, from, until, slot, of and together
    ...
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise SpecError(faults_of(error, model, None)) from None


def validate(document: Document, model: type[Kind]) -> Declared[Kind]:
    """The spec that a document holds, or a `SpecError` with every fault in it."""
    try:
        return Declared(model.model_validate(document.values), document)
    except ValidationError as error:
        raise SpecError(faults_of(error, model, document)) from None
    except RecursionError:
        raise SpecError([Fault("the file is nested too deeply", document.file, 1)]) from None


def read_project(folder: str | FilePath) -> tuple[Project, list[Fault]]:
    """What can be read of a project, and every fault in the rest."""
    root = FilePath(folder)
    if not (root / "policies").is_dir():
        said = f"there is no folder {root / 'policies'}; name a project's folder, or make one"
        return Project(str(root)), [Fault(f"{said} with ppm init")]
    patterns = _read_folder(root, "patterns", Pattern)
    policies = _read_folder(root, "policies", Policy)
    consumers = _read_folder(root, "consumers", Consumer)
    priors = _read_folder(root, "priors", Prior)
    faults = [*patterns.faults, *policies.faults, *consumers.faults, *priors.faults]
    if not policies.found and not policies.faults:
        said = "policies/ holds no policy; a policy is a file such as policies/town.yaml"
        faults.append(Fault(said))
    project = Project(
        str(root),
        patterns.found,
        policies.found,
        consumers.found,
        priors.found,
        frozenset(patterns.unread),
        frozenset(policies.unread),
        frozenset(priors.unread),
    )
    return project, faults


@dataclass(slots=True)
class _Folder(Generic[Kind]):
    found: dict[str, Declared[Kind]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)


def _read_folder(root: FilePath, name: str, model: type[Kind]) -> _Folder[Kind]:
    folder: _Folder[Kind] = _Folder()
    for path in _yaml_files(root / name):
        file = path.relative_to(root).as_posix()
        said = None
        try:
            document = read_document(_content(path, file), file)
            said = document.root.value.get("name") if document.has(("name",)) else None
            declared = validate(document, model)
        except SpecError as error:
            folder.faults += error.faults
            folder.unread |= {path.stem, str(said.value) if said else path.stem}
            continue
        other = folder.found.setdefault(declared.spec.name, declared)
        if other is not declared:
            sentence = f"is {declared.spec.name}, like the one in {other.document.file}"
            folder.faults.append(declared.fault(("name",), sentence))
    return folder


def _yaml_files(folder: FilePath) -> list[FilePath]:
    """The YAML files of a folder and of the folders in it, hidden ones left out."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


def _content(path: FilePath, file: str) -> bytes:
    if not path.is_file():
        raise SpecError([Fault("it is no file; only files can be read here", file)])
    try:
        with path.open("rb") as stream:
            # One byte more than allowed is enough to know that a file is too large.
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SpecError([Fault(f"the file cannot be read: {reason}", file)]) from None
