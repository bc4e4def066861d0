"""The public parameters that a protected DataFrame carries with it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from ppm.dp.source import Seed
from ppm.errors import BindingError
from ppm.protect.parameters import Parameters
from ppm.protect.program import Program

KEY = "ppm"
"""Where the metadata of the subject's column has what ppm says about a frame."""
COMMUNITY = "community"
"""The column that says to whom a row is told, in a frame for several communities."""


def parameters_of(frame: DataFrame) -> Parameters:
    """The public parameters of a protected DataFrame, or of one that Spark wrote and read again.

    A frame for several communities carries nobody's: each is to know its own alone.
    """
    text = _said(frame).get("parameters")
    if isinstance(text, str):
        return Parameters.from_json(text)
    if _said(frame).get("names_communities"):
        raise BindingError(
            "the DataFrame is for several communities, and carries the parameters of none; give "
            "parameters=guard.parameters(NAME), or those of a file"
        )
    raise BindingError(
        "the DataFrame carries no parameters: it was not protected, or went through something "
        "that drops metadata; give parameters=ppm.read_parameters(FILE)"
    )


def is_protected(frame: DataFrame) -> bool:
    """Whether a DataFrame says that ppm made it."""
    return bool(_said(frame))


def consumer_of(answers: DataFrame) -> str | None:
    """Whose answers a DataFrame holds, if it says so."""
    name = _said(answers).get("consumer")
    return name if isinstance(name, str) else None


def is_for_several(frame: DataFrame, *, if_unsaid: bool) -> bool:
    """Whether a column says to whom each row is told; a column of that name may be the stream's."""
    is_named = bool(_said(frame).get("names_communities", if_unsaid))
    return is_named and COMMUNITY in frame.columns


def metadata(program: Program, parameters: Parameters | None) -> dict[str, Any]:
    """What the subject's column of a protected frame says, with the parameters of its readers."""
    said: dict[str, Any] = {
        "policy": program.policy,
        "version": program.version,
        "mode": "evaluation" if isinstance(program.noise, Seed) else "production",
        "names_communities": program.names_communities,
    }
    return {KEY: said if parameters is None else said | {"parameters": parameters.to_json()}}


def _said(frame: DataFrame) -> dict[str, Any]:
    said: list[Any] = [one.metadata[KEY] for one in frame.schema if KEY in one.metadata]
    return said[0] if said and isinstance(said[0], dict) else {}
