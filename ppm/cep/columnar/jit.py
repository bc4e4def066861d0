"""How kernels are compiled: once for all patterns, and kept on disk where that is possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """A function that numba compiles at its first call.

    Division by zero gives infinity or NaN instead of an exception. Callees must stand in the same
    file: numba drops a cached kernel when its own file changes, not when that of a callee does.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to write to, which numba says at import
        _warn_once()
        compiled = numba.njit(**options)(function)
    return compiled


@cache
def _warn_once() -> None:
    warnings.warn(
        "kernels are compiled anew in each process: no cache folder is writable; "
        "set NUMBA_CACHE_DIR to one that is",
        RuntimeWarning,
        stacklevel=3,
    )
