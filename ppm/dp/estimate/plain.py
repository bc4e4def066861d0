"""Laws as plain values that JSON can hold: whole numbers as texts, because they are exact."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from ppm.dp.estimate.counts import CountLaw
from ppm.dp.estimate.law import Law, TableLaw, bits_of
from ppm.dp.nested.response import SwapLaw


def plain_law(law: Law | CountLaw) -> dict[str, Any]:
    """A law as plain values; numbers called `about` are for people.

    >>> plain_law(SwapLaw(2, Fraction(1, 4)))
    {'values': 2, 'swapped': '1/4', 'about': 0.25}
    """
    match law:
        case SwapLaw():
            about = float(law.swapped)
            return {"values": law.values, "swapped": str(law.swapped), "about": about}
        case TableLaw():
            return {"rows": [[*map(str, row)] for row in law.rows]}
        case CountLaw():
            step, floor = str(law.step), str(law.floor)
            return {"cells": law.cells, "step": step, "floor": floor, "about": float(law.step)}


def law_of_vectors(plain: Mapping[str, Any]) -> Law:
    """The law of bits that `plain_law` wrote; a ValueError if it is none.

    >>> law_of_vectors({"values": 2, "swapped": "1/4", "about": 0.25})
    SwapLaw(values=2, swapped=Fraction(1, 4))
    """
    if "rows" in plain:
        return TableLaw(tuple(tuple(int(_exact(one)) for one in row) for row in plain["rows"]))
    law = SwapLaw(_whole(plain["values"]), _exact(plain["swapped"]))
    bits_of(law)
    if law.kept < law.swapped:
        raise ValueError("a law shows the truth no less often than anything else")
    return law


def law_of_counts(plain: Mapping[str, Any]) -> CountLaw:
    """The law of counts that `plain_law` wrote; a ValueError if it is none."""
    return CountLaw(_whole(plain["cells"]), _exact(plain["step"]), int(_exact(plain["floor"])))


def _exact(text: object) -> Fraction:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,2000}(/[1-9][0-9]{0,1999})?", text):
        raise ValueError("an exact number is needed, as a text such as 3 or 1/4")
    return Fraction(text)


def _whole(value: object) -> int:
    if type(value) is not int:
        raise ValueError("a whole number is needed")
    return value
