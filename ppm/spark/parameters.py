"""The public parameters that a protected DataFrame carries with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame

from ppm.errors import BindingError, did_you_mean, listed
from ppm.protect.parameters import Parameters

KEY = "ppm"
"""Where the metadata of the subject's column has what ppm says about a frame."""
COMMUNITY = "community"
"""The column that says to whom a row is told, in a frame for several communities."""


def parameters_of(frame: DataFrame, community: str | None = None) -> Parameters:
    """The public parameters of a protected DataFrame, or of one that Spark wrote and read again.

    Name the community where the frame was protected for several.
    """
    texts: dict[str, str] = _said(frame).get("parameters", {})
    if not texts:
        raise BindingError(
            "the DataFrame carries no parameters: it was not protected, or went through something "
            "that drops metadata; give parameters=ppm.read_parameters(FILE)"
        )
    if community is None and len(texts) > 1:
        raise BindingError(f"the DataFrame was protected for {listed(sorted(texts))}; name one")
    name = next(iter(texts)) if community is None else community
    if name not in texts:
        hint = did_you_mean(name, sorted(texts))
        raise BindingError(f"the DataFrame was not protected for {name}{hint}")
    return Parameters.from_json(texts[name])


def consumer_of(answers: DataFrame) -> str | None:
    """Whose answers a DataFrame holds, if it says so."""
    name = _said(answers).get("consumer")
    return name if isinstance(name, str) else None


def is_for_several(frame: DataFrame, *, if_unsaid: bool) -> bool:
    """Whether a column says to whom each row is told; a column of that name may be the stream's."""
    is_named = bool(_said(frame).get("names_communities", if_unsaid))
    return is_named and COMMUNITY in frame.columns


def metadata(parameters: Iterable[Parameters], *, names_communities: bool) -> dict[str, Any]:
    """What the subject's column of a protected frame says, for one community or for several."""
    every = [*parameters]
    first = every[0]
    return {
        KEY: {
            "policy": first.policy,
            "version": first.version,
            "mode": first.mode,
            "names_communities": names_communities,
            "parameters": {one.community: one.to_json() for one in every},
        }
    }


def _said(frame: DataFrame) -> dict[str, Any]:
    said: list[Any] = [one.metadata[KEY] for one in frame.schema if KEY in one.metadata]
    return said[0] if said and isinstance(said[0], dict) else {}
