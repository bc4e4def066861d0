"""How kernels are compiled: once for all patterns, and kept on disk where that is possible."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
"""Division by zero gives infinity or NaN instead of an exception."""
_LEAN = _OPTIONS | {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Function) -> Function:
    """A function that numba compiles at its first call.

    Callees must stand in the same file: numba drops a cached kernel when its own file changes, not
    when that of a callee does.
    """
    # Said aloud, because a lean kernel would hand its own setting on.
    options = _OPTIONS | {"_nrt": True}
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to write to, which numba says at import
        _warn_once()
        compiled = numba.njit(**options)(function)
    return compiled


def lean_kernel(function: Function) -> Function:
    """A kernel that only kernels call, and that makes no array: it counts no references.

    Others count each array that they read out of a tuple, at each turn of a loop that is too long
    for numba to see that it need not be. It is kept on disk as a part of its caller.
    """
    compiled: Function = numba.njit(**_LEAN)(function)
    return compiled


def inlined_kernel(function: Function) -> Function:
    """A lean kernel that becomes a part of its caller: tuples of arrays are dear to hand over."""
    compiled: Function = numba.njit(forceinline=True, **_LEAN)(function)
    return compiled


@cache
def _warn_once() -> None:
    warnings.warn(
        "kernels are compiled anew in each process: no cache folder is writable; "
        "set NUMBA_CACHE_DIR to one that is",
        RuntimeWarning,
        stacklevel=3,
    )
