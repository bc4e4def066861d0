"""Privacy-preserving streaming middleware: private patterns stay private, the rest stays exact."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ppm.errors import (
    BindingError,
    BudgetError,
    CheckpointError,
    InternalError,
    PpmError,
    SecretError,
    SpecError,
)

if TYPE_CHECKING:
    from ppm.protect.check import check_project as check
    from ppm.protect.explain import explain
    from ppm.protect.parameters import Parameters, read_parameters
    from ppm.spark.detect import detect
    from ppm.spark.estimate import estimate
    from ppm.spark.estimate_answers import estimate_answers
    from ppm.spark.guard import Guard, load
    from ppm.spark.parameters import parameters_of
    from ppm.spec.build import all_of, any_of, gap, pattern, stage, steps
    from ppm.spec.consumer import Consumer
    from ppm.spec.pattern import Pattern
    from ppm.spec.policy import Policy
    from ppm.spec.write import to_yaml

__version__ = "0.1.0"

__all__ = [
    "BindingError",
    "BudgetError",
    "CheckpointError",
    "Consumer",
    "Guard",
    "InternalError",
    "Parameters",
    "Pattern",
    "Policy",
    "PpmError",
    "SecretError",
    "SpecError",
    "all_of",
    "any_of",
    "check",
    "detect",
    "estimate",
    "estimate_answers",
    "explain",
    "gap",
    "load",
    "parameters_of",
    "pattern",
    "read_parameters",
    "stage",
    "steps",
    "to_yaml",
]

_HOMES = {
    "Consumer": "ppm.spec.consumer:Consumer",
    "Guard": "ppm.spark.guard:Guard",
    "Parameters": "ppm.protect.parameters:Parameters",
    "Pattern": "ppm.spec.pattern:Pattern",
    "Policy": "ppm.spec.policy:Policy",
    "all_of": "ppm.spec.build:all_of",
    "any_of": "ppm.spec.build:any_of",
    "check": "ppm.protect.check:check_project",
    "detect": "ppm.spark.detect:detect",
    "estimate": "ppm.spark.estimate:estimate",
    "estimate_answers": "ppm.spark.estimate_answers:estimate_answers",
    "explain": "ppm.protect.explain:explain",
    "gap": "ppm.spec.build:gap",
    "load": "ppm.spark.guard:load",
    "parameters_of": "ppm.spark.parameters:parameters_of",
    "pattern": "ppm.spec.build:pattern",
    "read_parameters": "ppm.protect.parameters:read_parameters",
    "stage": "ppm.spec.build:stage",
    "steps": "ppm.spec.build:steps",
    "to_yaml": "ppm.spec.write:to_yaml",
}


if not TYPE_CHECKING:  # a type checker would take every misspelt name for found

    def __getattr__(name: str) -> object:
        # Names are found when first used, so that `import ppm` and the command line are quick.
        if name not in _HOMES:
            raise AttributeError(f"module 'ppm' has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        globals()[name] = value = getattr(import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
