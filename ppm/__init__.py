"""Privacy-preserving streaming middleware: private patterns stay private, the rest stays exact."""

from ppm.errors import BindingError, BudgetError, InternalError, PpmError, SpecError

__all__ = [
    "BindingError",
    "BudgetError",
    "InternalError",
    "PpmError",
    "SpecError",
]
