"""The mechanisms that a plan uses, community by community."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from ppm.dp.grid import Grid, Plane
from ppm.dp.mechanisms.binary import BinaryResponse
from ppm.dp.mechanisms.decoy import DecoyDecision
from ppm.dp.mechanisms.geo import GeoNoise
from ppm.dp.mechanisms.joint import JointResponse
from ppm.dp.mechanisms.kary import KaryResponse
from ppm.dp.mechanisms.laplace import DiscreteLaplace
from ppm.errors import Fault, SpecError
from ppm.protect.answer_noise import cells_of_count, noise_of
from ppm.protect.chains import draw_in_chain
from ppm.protect.plan import Plan
from ppm.protect.release import Draw, Release
from ppm.protect.spending import Answer, Decoys, Group, spending_of
from ppm.protect.terms import Terms
from ppm.spec.columns import Category, Geo, Laplace, columns_of_rule
from ppm.spec.document import Path


def mechanisms_of(plan: Plan, terms: Terms) -> tuple[Release, ...]:
    """Everything that is released to a community with noise.

    Where it shares a chain with others, what it is told is drawn as the chain draws it.
    Mechanisms that cannot be built as declared are a `SpecError`, with their places.
    """
    releases: list[Release] = []
    faults: list[Fault] = []
    for place, build in (*_of_patterns(plan, terms), *_of_columns(terms)):
        try:
            releases.append(build())
        except ValueError as error:
            faults.append(plan.declared.fault(place, f"cannot be built: {error}"))
    if faults:
        raise SpecError(faults)
    return tuple(releases)


_Build = tuple[Path, Callable[[], Release]]
"""Where the policy asks for a release, and how to make it."""


def _of_patterns(plan: Plan, terms: Terms) -> Iterator[_Build]:
    spending = spending_of(plan, terms)
    for name in terms.by("response"):
        if not spending.shares.keys() & spending.types[name]:
            continue  # no query needs it, and nothing of it is released
        yield terms.guarded[name].place, partial(_bits, plan, terms, name)
    for group in spending.groups:
        yield terms.guarded[min(group.patterns)].place, partial(_vector, plan, terms, group)
    if spending.decoys is not None:
        place = terms.guarded[min(spending.decoys.patterns)].place
        yield place, partial(_decision, plan, terms, spending.decoys)
    for answer in spending.answers:
        place = terms.guarded[min(answer.patterns)].place
        yield place, partial(_answer, plan, terms, answer)


def _bits(plan: Plan, terms: Terms, name: str) -> Release:
    spending = spending_of(plan, terms)
    draws = tuple(
        draw_in_chain(plan, terms, "response", {one})
        or Draw(BinaryResponse(spending.shares[one]), ((0,), (1,)))
        for one in sorted(spending.types[name] & spending.shares.keys())
    )
    claim = spending.budgets[name]
    return Release(terms.community, (name,), "response", "a slot", claim, draws)


def _vector(plan: Plan, terms: Terms, group: Group) -> Release:
    size = len(group.types)
    draw = draw_in_chain(plan, terms, "joint-response", group.types) or Draw(
        group.table or JointResponse(group.epsilon, size), ((0,), ((1 << size) - 1,))
    )
    of = tuple(sorted(group.patterns))
    return Release(terms.community, of, "joint-response", "a slot", group.epsilon, (draw,))


def _decision(plan: Plan, terms: Terms, decoys: Decoys) -> Release:
    draw = draw_in_chain(plan, terms, "decoy-windows", decoys.patterns) or Draw(
        DecoyDecision(decoys.epsilon), ((1,), (0,))
    )
    of = tuple(sorted(decoys.patterns))
    return Release(terms.community, of, "decoy-windows", "a slot", decoys.epsilon, (draw,))


def _answer(plan: Plan, terms: Terms, answer: Answer) -> Release:
    query, noise = answer.question.query, noise_of_answer(plan, answer)
    cap = query.cap or 1
    draw = Draw(noise, ((0,), (cap,)), steps=cap)
    how = f"answers, {query.ask}"
    return Release(terms.community, (query.name,), how, "an answer", answer.epsilon, (draw,))


def noise_of_answer(plan: Plan, answer: Answer) -> BinaryResponse | DiscreteLaplace:
    """What an answer is told by; it is published, so that readers can estimate the truth."""
    query, subjects = answer.question.query, plan.policy.stream.subjects
    cap = query.cap or 1
    cells = cells_of_count(cap, None if subjects == "seen" else len(subjects))
    return noise_of(query.ask, answer.epsilon, cap, cells)


def _of_columns(terms: Terms) -> Iterator[_Build]:
    for term in terms.columns if terms.releases_rows else ():
        match term.rule:
            case Category():
                yield term.place, partial(_category, terms, term.rule)
            case Laplace():
                yield term.place, partial(_number, terms, term.rule)
            case Geo():
                yield term.place, partial(_position, terms, term.rule)


def _category(terms: Terms, rule: Category) -> Release:
    draw = Draw(KaryResponse(rule.epsilon, rule.size), ((0,), (1,)))
    return _of_rule(terms, rule, "a row", rule.epsilon, draw)


def _number(terms: Terms, rule: Laplace) -> Release:
    cells = grid_of(rule).cells
    noise = DiscreteLaplace.spanning(rule.epsilon, cells)
    draw = Draw(noise, ((0,), (cells - 1,)), steps=cells - 1)
    return _of_rule(terms, rule, "a row", rule.epsilon, draw)


def grid_of(rule: Laplace) -> Grid:
    """The grid on which a number is noised; what is said of the noise follows from it."""
    return Grid.between(rule.lower, rule.upper, missing=rule.missing)


def _position(terms: Terms, rule: Geo) -> Release:
    grid, area = rule.grid.metres, rule.area
    plane = Plane(area.south, area.west, area.north, area.east, grid=grid)
    noise = GeoNoise.within(
        rule.level, rule.radius.metres, grid=grid, columns=plane.columns, rows=plane.rows
    )
    box = plane.columns - 1, plane.rows - 1
    across, up = furthest_cells(rule.radius.metres / grid, box)
    west, south = (plane.columns - across) // 2, (plane.rows - up) // 2
    draw = Draw(noise, ((west, south), (west + across, south + up)), steps=across + up)
    return _of_rule(terms, rule, str(rule.radius), rule.level, draw)


def furthest_cells(radius: float, box: tuple[int, int]) -> tuple[int, int]:
    """The most cells, across and up, that lie between raw places within a radius, in cells.

    Each axis pays for its own steps, and a place may be rounded by half a cell on either axis: of
    a part a on one axis, up to floor(a)+1 steps are left. So this is the largest
    floor(a)+floor(b)+2 with a^2+b^2 <= radius^2, as far as the box goes.

    >>> furthest_cells(10.0, (99, 99)), furthest_cells(1.2, (99, 99))
    ((7, 9), (1, 2))
    """
    square = Fraction(radius) ** 2
    reached = ((a, math.isqrt(math.floor(square - a * a))) for a in range(math.floor(radius) + 1))
    return max(((min(a + 1, box[0]), min(b + 1, box[1])) for a, b in reached), key=sum)


def _of_rule(
    terms: Terms, rule: Laplace | Category | Geo, per: str, claim: float, draw: Draw
) -> Release:
    return Release(
        terms.community,
        columns_of_rule(rule),
        rule.rule,
        per,
        claim,
        (draw,),
        has_guarantee=rule.guarantee != "none",
    )
