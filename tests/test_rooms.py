"""Which room may import what, and what importing ppm may do."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ppm

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "ppm").rglob("*.py"))

# A room sees every room in the rows below its own; rooms in one row never see each other.
ROWS = (
    {"__init__", "__main__"},
    {"cli"},
    {"run", "evaluate", "audit", "grow", "simulate"},
    {"spark"},
    {"protect"},
    {"cep", "dp"},
    {"spec"},
    {"errors"},
)

# Room -> packages it may import besides the standard library.
PACKAGES: dict[str, set[str]] = {
    "__init__": set(),
    "__main__": set(),
    "cli": {"rich", "typer"},
    "run": set(),
    "evaluate": {"diffprivlib", "matplotlib", "numpy"},
    "audit": {"numpy"},
    "grow": set(),
    "simulate": {"numpy"},
    "spark": {"numpy", "pandas", "pyarrow", "pyspark"},
    "protect": {"numpy", "pyarrow"},
    "cep": {"numba", "numpy", "pyarrow"},
    "dp": {"cryptography", "numpy", "scipy"},
    "spec": {"pydantic", "pydantic_core", "sqlglot", "yaml"},
    "errors": set(),
}


def room_of(parts: tuple[str, ...]) -> str:
    """`ppm/spec/load.py` is in `spec`, `ppm/errors.py` is a room of its own."""
    return parts[1].removesuffix(".py")


def rooms_right_of(room: str) -> set[str]:
    row = next(place for place, rooms in enumerate(ROWS) if room in rooms)
    return set[str]().union(*ROWS[row + 1 :])


def imported_modules(source: str, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Every import with its line, wherever it stands, as a full dotted name.

    >>> list(imported_modules("def f():\\n    from ..cep import automaton", ("ppm", "dp")))
    [(2, 'ppm.cep.automaton')]
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = list(package[: len(package) - level + 1]) if level else []
                base += module.split(".") if module else []
                yield from ((node.lineno, ".".join([*base, alias.name])) for alias in names)
            case ast.Call(func=ast.Name("import_module") | ast.Attribute(attr="import_module")):
                match node.args:
                    case [ast.Constant(str(name)), *_]:
                        yield node.lineno, name


def import_faults(path: str, source: str) -> list[str]:
    """What a file of the package imports although its room may not."""
    parts = Path(path).parts
    room = room_of(parts)
    if room not in PACKAGES:
        return [f"{path}: {room} is not a room; give it a row in tests/test_rooms.py"]
    rooms, packages = rooms_right_of(room), PACKAGES[room]
    faults = []
    for line, name in imported_modules(source, parts[:-1]):
        top, _, rest = name.partition(".")
        if top == "ppm":
            inner = rest.partition(".")[0]
            target = inner if inner in PACKAGES else "__init__"
            allowed = target == room or target in rooms or (room, target) == ("cli", "__init__")
            names = sorted(rooms)
        else:
            target, names = top, sorted(packages)
            allowed = top in packages or top in sys.stdlib_module_names
        if not allowed:
            may = ", ".join(names) or "nothing of that kind"
            faults.append(f"{path}:{line}: {room} imports {target}; it may import {may}")
    return faults


def execution_faults(path: str, source: str) -> list[str]:
    """Where a file turns data into code."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id="eval" | "exec" | "compile" | "__import__" as name):
                faults.append(f"{path}:{node.lineno}: {name}")
            case ast.Attribute(attr="eval" | "exec" | "__import__" as name):
                faults.append(f"{path}:{node.lineno}: {name}")
            case ast.Attribute(value=ast.Name("builtins"), attr="compile"):
                faults.append(f"{path}:{node.lineno}: compile")
    faults += [
        f"{path}:{line}: {name}"
        for line, name in imported_modules(source, Path(path).parts[:-1])
        if name.partition(".")[0] in {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    ]
    return faults


def in_a_fresh_python(program: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_imports_point_only_to_the_right() -> None:
    faults = [
        fault
        for path in SOURCES
        for fault in import_faults(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]
    assert not faults, "\n".join(faults)


def test_nothing_that_is_read_becomes_code() -> None:
    faults = [
        fault
        for path in SOURCES
        for fault in execution_faults(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]
    assert not faults, "\n".join(faults)


def test_every_room_stands_in_one_row() -> None:
    assert sorted(PACKAGES) == sorted(room for rooms in ROWS for room in rooms)


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        pytest.param(
            "ppm/dp/laplace.py",
            "from ppm.cep import automaton",
            "ppm/dp/laplace.py:1: dp imports cep; it may import errors, spec",
            id="dp looks at cep",
        ),
        pytest.param(
            "ppm/cep/match.py",
            "import os\nimport pyspark.sql as sql",
            "ppm/cep/match.py:2: cep imports pyspark; it may import numba, numpy, pyarrow",
            id="cep looks at Spark",
        ),
        pytest.param(
            "ppm/spec/load.py",
            "from ..protect.plan import link",
            "ppm/spec/load.py:1: spec imports protect; it may import errors",
            id="a relative import against the arrow",
        ),
        pytest.param(
            "ppm/cep/kernels/scan.py",
            "from ... import dp",
            "ppm/cep/kernels/scan.py:1: cep imports dp; it may import errors, spec",
            id="a relative import from a nested folder",
        ),
        pytest.param(
            "ppm/errors.py",
            "def f():\n    import ppm.spec",
            "ppm/errors.py:2: errors imports spec; it may import nothing of that kind",
            id="an import inside a function",
        ),
        pytest.param(
            "ppm/protect/step.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ppm.spark import Guard",
            "ppm/protect/step.py:3: protect imports spark; it may import cep, dp, errors, spec",
            id="an import for types only",
        ),
        pytest.param(
            "ppm/dp/noise.py",
            "from importlib import import_module\nimport_module('pyarrow.compute')",
            "ppm/dp/noise.py:2: dp imports pyarrow; it may import cryptography, numpy, scipy",
            id="an import by name",
        ),
        pytest.param(
            "ppm/dp/noise.py",
            "from ppm import load",
            "ppm/dp/noise.py:1: dp imports __init__; it may import errors, spec",
            id="a room goes round through the public front",
        ),
        pytest.param(
            "ppm/utils/misc.py",
            "",
            "ppm/utils/misc.py: utils is not a room; give it a row in tests/test_rooms.py",
            id="a new folder without a row",
        ),
    ],
)
def test_an_arrow_that_points_left_is_caught(path: str, source: str, fault: str) -> None:
    assert import_faults(path, source) == [fault]


@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param("ppm/cli/check.py", "import typer\nfrom ppm.spec import load", id="far right"),
        pytest.param("ppm/protect/step.py", "from ppm import cep, dp", id="where cep and dp meet"),
        pytest.param("ppm/spec/load.py", "from . import predicate", id="its own room"),
        pytest.param("ppm/spec/__init__.py", "from .load import load", id="its own room's front"),
        pytest.param("ppm/__init__.py", "from .spec import load", id="the public front"),
        pytest.param("ppm/cli/__init__.py", "from ppm import __version__", id="cli and the front"),
        pytest.param("ppm/dp/noise.py", "from __future__ import annotations", id="standard"),
    ],
)
def test_an_arrow_that_points_right_is_free(path: str, source: str) -> None:
    assert import_faults(path, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "eval('1')",
        "run = exec",
        "compile('1', '', 'eval')",
        "frame.eval('a + b')",
        "import builtins; builtins.compile('1', '', 'eval')",
        "__import__('os')",
        "import pickle; pickle.loads(blob)",
        "def f(blob):\n    from pickle import loads\n    return loads(blob)",
    ],
)
def test_code_made_from_data_is_caught(source: str) -> None:
    assert execution_faults("ppm/spec/load.py", source)


def test_a_compiled_regular_expression_is_no_code() -> None:
    assert execution_faults("ppm/spec/load.py", "import re; re.compile('a')") == []


def test_importing_ppm_does_not_import_pyspark() -> None:
    in_a_fresh_python("import sys, ppm; assert 'pyspark' not in sys.modules, 'pyspark is imported'")


def test_only_a_linear_programme_loads_a_solver() -> None:
    in_a_fresh_python(
        """
import sys
import ppm.cli.check, ppm.dp.allocation.joint, ppm.dp.allocation.optimal, ppm.protect.compile
import ppm.protect.step
assert not [name for name in sys.modules if name.startswith("scipy")], "scipy is imported"
"""
    )


def test_importing_ppm_leaves_warnings_and_logging_alone() -> None:
    in_a_fresh_python(
        """
import logging, warnings
import numpy, pandas, pyarrow, pydantic, rich, sqlglot, typer, yaml  # set filters of their own

def settings():
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [h for one in loggers for h in getattr(one, "handlers", ())]
    return list(warnings.filters), handlers, logging.root.level

before = settings()
import ppm
assert settings() == before, "importing ppm changed warnings filters or log handlers"
"""
    )


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    for name in ppm.__all__:
        assert getattr(ppm, name).__module__.startswith("ppm.")
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        getattr(ppm, "chek")  # noqa: B009


def test_the_public_names_are_exactly_those_listed() -> None:
    in_a_fresh_python(
        """
before = {*globals(), "before"}
from ppm import *
found = sorted(set(globals()) - before)
import ppm
assert found == sorted(ppm.__all__), f"{found} were imported, {sorted(ppm.__all__)} are listed"
"""
    )
