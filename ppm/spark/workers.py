"""What runs in Spark's workers fails in our words, never with a row's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ppm.errors import InternalError, PpmError

_NO_MORE = object()


def guarded(body: Any, *arguments: Any) -> Any:
    """Run a worker's body; what goes wrong is told by kind and place, never with a row's value."""
    try:
        return body(*arguments)
    except PpmError:
        raise
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = "" if place is None else f" in {place.tb_frame.f_code.co_name}"
        said = f"a worker failed: {type(error).__name__}{where}; please report it"
    raise InternalError(said) from None


def guarded_each(body: Callable[..., Iterator[Any]], *arguments: Any) -> Iterator[Any]:
    """The same for a body whose results are made one by one."""
    results = guarded(body, *arguments)
    while (result := guarded(next, results, _NO_MORE)) is not _NO_MORE:
        yield result
