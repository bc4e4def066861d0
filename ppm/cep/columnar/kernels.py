"""The loop over events and runs, subject by subject: rules R1 to R13 and the skip strategies.

A run is a place, its last node and its start. A node is an event that a run took, with the node
before it; forks share their past.

All kernels of the loop stand in this one file, long as it is: see `jit.kernel`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ppm.cep.columnar.columns import Doubles, Rows
from ppm.cep.columnar.conditions import Carry, Ints, Op, Programs
from ppm.cep.columnar.jit import inlined_kernel, kernel, lean_kernel
from ppm.cep.columnar.tables import (
    COMPLETE,
    FIRST,
    FOREVER,
    IGNORES_ANY,
    IGNORES_OTHERS,
    NO_SKIP,
    PENDING,
    SKIP_PAST_LAST,
    SKIP_TO_LAST,
    SKIP_TO_NEXT,
    WAITS,
    Masks,
    Tables,
)

Flags = npt.NDArray[np.bool_]
Column = TypeVar("Column", Ints, Flags)

ONE = np.uint64(1)
DONE, TOO_MANY_RUNS, TOO_MANY_MATCHES, NEEDS_RUNS, NEEDS_MATCHES = range(5)

# numba reads plain numbers of a module as constants, but not members of an enumeration.
_CONSTANT, _CELL, _CARRIED = int(Op.CONSTANT), int(Op.CELL), int(Op.CARRIED)
_NEGATE, _NOT, _IS_NULL = int(Op.NEGATE), int(Op.NOT), int(Op.IS_NULL)
_ABS, _CEIL, _FLOOR, _SQRT = int(Op.ABS), int(Op.CEIL), int(Op.FLOOR), int(Op.SQRT)
_ADD, _SUBTRACT, _MULTIPLY = int(Op.ADD), int(Op.SUBTRACT), int(Op.MULTIPLY)
_DIVIDE, _COALESCE, _AND, _OR = int(Op.DIVIDE), int(Op.COALESCE), int(Op.AND), int(Op.OR)
_EQUAL, _UNEQUAL, _LESS = int(Op.EQUAL), int(Op.UNEQUAL), int(Op.LESS)
_LESS_EQUAL, _GREATER = int(Op.LESS_EQUAL), int(Op.GREATER)
_COUNT, _OF_FIRST, _OF_LAST = int(Carry.COUNT), int(Carry.FIRST), int(Carry.LAST)
_SUM, _AVG, _MIN = int(Carry.SUM), int(Carry.AVG), int(Carry.MIN)

FEWEST_TO_COLLECT = 4096
"""With fewer nodes, it does not pay to look for those that nothing leads back to."""
_IS_OVER = 2
"""Besides 0 and 1, what `node_told` holds while the time-outs of a moment are looked for."""


class Open(NamedTuple):
    """Runs that wait and matches that are held, subject by subject: what goes on in a next batch.

    Nodes of a subject are numbered from 0, each after the one before it.
    """

    node_from: Ints
    node_event: Ints
    """A row, by its place among the sorted rows."""
    node_parent: Ints
    node_stage: Ints
    node_told: Ints
    """Whether a match ended with the node: such a run is no time-out later."""
    run_from: Ints
    run_place: Ints
    run_node: Ints
    held_from: Ints
    held_node: Ints
    held_at: Ints


class Found(NamedTuple):
    """Matches as they were found, and in which order they are told."""

    status: int
    subject: int
    """Where it stopped, if it did."""
    told: Ints
    """Numbers of matches, in the order in which they are told."""
    match_subject: Ints
    match_at: Ints
    match_from: Ints
    """Where a match's events start among all; they end after `match_size` of them."""
    match_size: Ints
    match_is_timed_out: Flags
    event: Ints
    stage: Ints
    open: Open


class Work(NamedTuple):
    """The runs of the subject at hand, and what they lead to; grown between two events only.

    A kernel that assigns an array anew inside its loop counts references at each turn.
    """

    run_place: Ints
    run_node: Ints
    run_start: Ints
    run_end: Ints
    finished: Ints
    node_event: Ints
    node_parent: Ints
    node_stage: Ints
    node_size: Ints
    node_told: Ints
    carried: Doubles


class Told(NamedTuple):
    """Matches so far, of all subjects."""

    told: Ints
    held: Ints
    subject: Ints
    at: Ints
    begin: Ints
    size: Ints
    start: Ints
    skipped: Ints
    node: Ints
    is_timed_out: Flags
    event: Ints
    stage: Ints


# What a walk counts; when it stops for want of room, it goes on from here.
RUNS, NODES, HELD, FINISHED, OVER, SOONEST, COLLECT_AT, ROW, NOW = range(9)
MATCHES, TOLD, EVENTS, MATCHES_BEFORE, NEED, NEED_TOO, NUMBERS = range(9, 16)


@kernel
def grown(array: Column, size: int) -> Column:
    """The same numbers with room for at least so many."""
    if array.size >= size:
        return array
    wide = np.empty(max(size, 2 * array.size), array.dtype)
    wide[: array.size] = array
    return wide


@lean_kernel
def carry_on(
    programs: Programs,
    cells: Doubles,
    carried: Doubles,
    node: int,
    parent: int,
    stage: int,
    event: int,
) -> None:
    """What is known about each stage after one more event: a value, and over how many events."""
    for k in range(programs.carry.size):
        value, count = np.nan, 0.0
        if parent >= 0:
            value, count = carried[parent, 2 * k], carried[parent, 2 * k + 1]
        if programs.carry_stage[k] == stage:
            what = programs.carry[k]
            if what == _COUNT:
                count += 1.0
            else:
                found = cells[event, programs.carry_cell[k]]
                if what in (_OF_FIRST, _OF_LAST):
                    if what == _OF_LAST or count == 0.0:
                        value = found
                    count += 1.0
                elif not np.isnan(found):
                    if count == 0.0:
                        value = found
                    elif what in (_SUM, _AVG):
                        value += found
                    elif what == _MIN:
                        value = min(value, found)
                    else:
                        value = max(value, found)
                    count += 1.0
        carried[node, 2 * k], carried[node, 2 * k + 1] = value, count


class Sight(NamedTuple):
    """What conditions see besides the run at hand."""

    programs: Programs
    constants: Doubles
    cells: Doubles
    stack: Doubles


@lean_kernel
def is_met(sight: Sight, start: int, end: int, event: int, carried: Doubles, node: int) -> bool:
    """Whether a condition holds for an event, given what a run took; unknown is not yes (R6)."""
    programs, constants, cells, stack = sight.programs, sight.constants, sight.cells, sight.stack
    top = -1
    for at in range(start, end):
        op, argument = programs.ops[at], programs.arguments[at]
        if op == _CONSTANT:
            top += 1
            stack[top] = constants[argument]
        elif op == _CELL:
            top += 1
            stack[top] = cells[event, argument]
        elif op == _CARRIED:
            top += 1
            what, value, count = programs.carry[argument], np.nan, 0.0
            if node >= 0:
                value, count = carried[node, 2 * argument], carried[node, 2 * argument + 1]
            if what == _COUNT:
                stack[top] = count
            elif count == 0.0:
                stack[top] = 0.0 if what == _SUM else np.nan
            elif what == _AVG:
                stack[top] = value / count
            else:
                stack[top] = value
        elif op == _NEGATE:
            stack[top] = -stack[top]
        elif op == _NOT:
            stack[top] = 1.0 - stack[top]
        elif op == _IS_NULL:
            stack[top] = 1.0 if np.isnan(stack[top]) else 0.0
        elif op == _ABS:
            stack[top] = abs(stack[top])
        elif op == _CEIL:
            stack[top] = np.ceil(stack[top])
        elif op == _FLOOR:
            stack[top] = np.floor(stack[top])
        elif op == _SQRT:
            stack[top] = np.sqrt(stack[top]) if stack[top] >= 0.0 else np.nan
        else:
            left, right = stack[top - 1], stack[top]
            top -= 1
            is_null = np.isnan(left) or np.isnan(right)
            if op == _ADD:
                stack[top] = left + right
            elif op == _SUBTRACT:
                stack[top] = left - right
            elif op == _MULTIPLY:
                stack[top] = left * right
            elif op == _DIVIDE:
                stack[top] = left / right if right != 0.0 else np.nan
            elif op == _COALESCE:
                stack[top] = right if np.isnan(left) else left
            elif op == _AND:
                is_no = left == 0.0 or right == 0.0
                stack[top] = 0.0 if is_no else (np.nan if is_null else 1.0)
            elif op == _OR:
                is_yes = left == 1.0 or right == 1.0
                stack[top] = 1.0 if is_yes else (np.nan if is_null else 0.0)
            elif is_null:
                stack[top] = np.nan
            else:
                if op == _EQUAL:
                    holds = left == right
                elif op == _UNEQUAL:
                    holds = left != right
                elif op == _LESS:
                    holds = left < right
                elif op == _LESS_EQUAL:
                    holds = left <= right
                elif op == _GREATER:
                    holds = left > right
                else:
                    holds = left >= right
                stack[top] = 1.0 if holds else 0.0
    return top < 0 or stack[top] == 1.0


@lean_kernel
def is_broken(
    tables: Tables, sight: Sight, absent: int, waited: int, event: int, carried: Doubles, node: int
) -> bool:
    """Whether an event is one of those that must not come; `absent` are those whose bit it has."""
    for stage in range(tables.lasting.size):
        if (absent >> np.uint64(stage)) & ONE and waited < tables.lasting[stage]:
            start, end = tables.program_from[stage], tables.program_to[stage]
            if start == end or is_met(sight, start, end, event, carried, node):
                return True
    return False


@inlined_kernel
def release(never: int, lasting: Ints, last: int, window_end: int) -> int:
    """When the last absence of a run at the end of the pattern is certain (R11)."""
    moment = -FOREVER
    for stage in range(lasting.size):
        if (never >> np.uint64(stage)) & ONE:
            wait = lasting[stage]
            moment = max(moment, window_end if wait == FOREVER else last + wait)
    return moment


@inlined_kernel
def comes_before(one: int, other: int, matches: Told) -> bool:
    """Which of two finished matches is told first: the rank of `ppm.cep.skip`."""
    if matches.start[one] != matches.start[other]:
        return bool(matches.start[one] < matches.start[other])
    if matches.skipped[one] != matches.skipped[other]:
        return bool(matches.skipped[one] < matches.skipped[other])
    if matches.size[one] != matches.size[other]:
        return bool(matches.size[one] > matches.size[other])
    for at in range(matches.size[one]):
        left, right = matches.begin[one] + at, matches.begin[other] + at
        if matches.event[left] != matches.event[right]:
            return bool(matches.event[left] < matches.event[right])
        if matches.stage[left] != matches.stage[right]:
            return bool(matches.stage[left] < matches.stage[right])
    return False


@kernel
def sort_matches(which: Ints, low: int, high: int, matches: Told) -> None:
    """Sort `which[low:high]` by rank: merge sort from the bottom, as one event can finish many."""
    count = high - low
    if count < 2:
        return
    source, target = which[low:high].copy(), np.empty(count, np.int64)
    width = 1
    while width < count:
        for left in range(0, count, 2 * width):
            middle, right = min(left + width, count), min(left + 2 * width, count)
            i, j = left, middle
            for k in range(left, right):
                if i < middle and (j >= right or not comes_before(source[j], source[i], matches)):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    which[low:high] = source


@lean_kernel
def first_kept(tables: Tables, match: int, matches: Told) -> int:
    """Once a match was told, every run and match that starts before this event is dropped."""
    begin, event, stage = matches.begin[match], matches.event, matches.stage
    end = begin + matches.size[match]
    if tables.skip == SKIP_TO_NEXT:
        return int(matches.start[match]) + 1
    if tables.skip == SKIP_PAST_LAST:
        return int(event[end - 1]) + 1
    target = -1
    for at in range(begin, end):
        if stage[at] == tables.skip_stage and (target < 0 or tables.skip == SKIP_TO_LAST):
            target = event[at]
    return target


@kernel
def collect(work: Work, n_nodes: int, n_runs: int, matches: Told, n_held: int) -> int:
    """Forget the nodes that no run and no held match leads back to; how many are left."""
    node_event, node_parent, node_stage = work.node_event, work.node_parent, work.node_stage
    node_size, carried, run_node = work.node_size, work.carried, work.run_node
    node_told = work.node_told
    held, match_node = matches.held, matches.node
    number = np.full(n_nodes, -1, np.int64)
    for run in range(n_runs):
        number[run_node[run]] = 0
    for at in range(n_held):
        number[match_node[held[at]]] = 0
    # A node always comes after the one before it in the match.
    for node in range(n_nodes - 1, -1, -1):
        if number[node] == 0 and node_parent[node] >= 0:
            number[node_parent[node]] = 0
    kept = 0
    for node in range(n_nodes):
        if number[node] == 0:
            number[node] = kept
            parent = node_parent[node]
            node_event[kept], node_stage[kept] = node_event[node], node_stage[node]
            node_parent[kept] = number[parent] if parent >= 0 else -1
            node_size[kept], node_told[kept] = node_size[node], node_told[node]
            for k in range(carried.shape[1]):
                carried[kept, k] = carried[node, k]
            kept += 1
    for run in range(n_runs):
        run_node[run] = number[run_node[run]]
    for at in range(n_held):
        match_node[held[at]] = number[match_node[held[at]]]
    return kept


@lean_kernel
def timed_out(work: Work, alive: int, finished: int, low: int, high: int) -> int:
    """Which of the nodes `finished[low:high]`, whose runs are over, are time-outs; how many.

    Those are moved to stand behind the finished ones. A time-out is told once, and not at all if
    its events live on in another run or are a match.
    """
    node_told, nodes = work.node_told, work.finished
    for at in range(finished):
        node_told[nodes[at]] = 1
    for at in range(low, high):
        if node_told[nodes[at]] == 0:
            node_told[nodes[at]] = _IS_OVER
    for run in range(alive):
        if node_told[work.run_node[run]] == _IS_OVER:
            node_told[work.run_node[run]] = 0
    count = 0
    for at in range(low, high):
        if node_told[nodes[at]] == _IS_OVER:
            node_told[nodes[at]] = 1
            nodes[finished + count] = nodes[at]
            count += 1
    return count


@inlined_kernel
def put_run(work: Work, run: int, place: int, node: int, start: int, end: int) -> None:
    """Write down a run."""
    work.run_place[run], work.run_node[run] = place, node
    work.run_start[run], work.run_end[run] = start, end


@inlined_kernel
def move_run(work: Work, source: int, target: int) -> None:
    """Put a run in the place of another."""
    place, node = work.run_place[source], work.run_node[source]
    put_run(work, target, place, node, work.run_start[source], work.run_end[source])


@inlined_kernel
def window_end(within: int, start: int) -> int:
    """When the window of a run ends that started at a time (R13)."""
    return start + within if within < FOREVER else FOREVER


@inlined_kernel
def waits_until(tables: Tables, place: int, last: int, over: int) -> int:
    """When time alone next does something to a run: it is a match, or its gap or window ends.

    `last` is the time of its last event, and `over` the end of its window.
    """
    if tables.ending[place] == WAITS and tables.gap[place] < FOREVER:
        return int(min(over, last + tables.gap[place]))
    if tables.ending[place] == PENDING:
        return min(over, release(tables.never[place], tables.lasting, last, over))
    return over


@inlined_kernel
def is_certain(tables: Tables, place: int, last: int, over: int, now: int) -> bool:
    """Whether a run at a place is a match by now (R5, R11)."""
    if tables.ending[place] == PENDING:
        return release(tables.never[place], tables.lasting, last, over) <= now
    return bool(tables.ending[place] == COMPLETE)


@inlined_kernel
def pass_time(
    tables: Tables, times: Ints, work: Work, n_runs: int, now: int
) -> tuple[int, int, int, int]:
    """Runs that a moment ends: matches, time-outs, or nothing.

    How many runs are left, are finished and timed out, and when the next one ends.
    """
    kept, n_fin, over_from, soonest = 0, 0, n_runs, FOREVER
    for run in range(n_runs):
        if work.run_end[run] > now:
            soonest = min(soonest, work.run_end[run])
            move_run(work, run, kept)
            kept += 1
            continue
        node = work.run_node[run]
        over = window_end(tables.within, times[work.run_start[run]])
        if is_certain(tables, work.run_place[run], times[work.node_event[node]], over, now):
            work.finished[n_fin] = node
            n_fin += 1
        elif tables.tells_time_outs:
            # From the far end: as many places are free as there are runs.
            over_from -= 1
            work.finished[over_from] = node
    n_over = 0
    if over_from < n_runs:
        n_over = timed_out(work, kept, n_fin, over_from, n_runs)
    return kept, n_fin, n_over, soonest


@inlined_kernel
def satisfies(
    tables: Tables, sight: Sight, stage: int, event: int, carried: Doubles, node: int
) -> bool:
    """Whether an event that has a stage's bit also meets its condition on earlier events (R6)."""
    start, end = tables.program_from[stage], tables.program_to[stage]
    return bool(start == end or is_met(sight, start, end, event, carried, node))


@inlined_kernel
def take(
    tables: Tables,
    sight: Sight,
    times: Ints,
    work: Work,
    row: int,
    place: int,
    parent: int,
    node: int,
    start: int,
    is_absent: bool,
    tail: int,
    n_fin: int,
) -> tuple[int, int, int]:
    """A run takes an event, which becomes a node, and forks (R4).

    Where the runs end now, how many are finished, and when the first of the new runs is over.
    """
    stage, now, soonest = tables.stage[place], times[row], FOREVER
    work.node_event[node], work.node_parent[node] = row, parent
    work.node_stage[node], work.node_told[node] = stage, 0
    work.node_size[node] = 1 if parent < 0 else work.node_size[parent] + 1
    if sight.programs.carry.size > 0:
        carry_on(sight.programs, sight.cells, work.carried, node, parent, stage, row)
    over = window_end(tables.within, times[start])
    for at in range(tables.forks_from[place], tables.forks_from[place + 1]):
        fork = tables.forks[at]
        if is_certain(tables, fork, now, over, now):
            work.finished[n_fin] = node
            n_fin += 1
        elif not is_absent:
            # R10: only a match that this very event completes is told.
            until = waits_until(tables, fork, now, over)
            put_run(work, tail, fork, node, start, until)
            soonest = min(soonest, until)
            tail += 1
    return tail, n_fin, soonest


@inlined_kernel
def begin_runs(
    tables: Tables,
    sight: Sight,
    times: Ints,
    work: Work,
    row: int,
    mask: np.uint64,
    tail: int,
    n_nodes: int,
    n_fin: int,
    soonest: int,
) -> tuple[int, int, int, int]:
    """The runs that an event starts; a start takes its event or is none (R3).

    Where the runs end now, how many nodes and finished runs there are, and when the next is over.
    """
    for at in range(tables.starts.size):
        place = tables.starts[at]
        stage = tables.stage[place]
        if (mask >> np.uint64(stage)) & ONE and satisfies(
            tables, sight, stage, row, work.carried, -1
        ):
            tail, n_fin, first = take(
                tables, sight, times, work, row, place, -1, n_nodes, row, False, tail, n_fin
            )
            soonest = min(soonest, first)
            n_nodes += 1
    return tail, n_nodes, n_fin, soonest


@inlined_kernel
def take_in(
    tables: Tables,
    sight: Sight,
    rows: Rows,
    row: int,
    work: Work,
    n_runs: int,
    n_nodes: int,
    soonest: int,
) -> tuple[int, int, int, int]:
    """Offer an event to every run, and to a fresh start (R1, R2).

    How many runs and nodes there are now, how many are finished, and when the next run is over.
    """
    times, now, mask = rows.times, rows.times[row], rows.masks[row]
    kept, tail, n_fin = 0, n_runs, 0
    for run in range(n_runs):
        if work.run_end[run] <= now:
            continue
        place, node, start = work.run_place[run], work.run_node[run], work.run_start[run]
        last = times[work.node_event[node]]
        seen = tables.not_next[place] & mask
        if seen and is_broken(tables, sight, seen, 0, row, work.carried, node):
            continue
        seen = tables.never[place] & mask
        is_absent = bool(seen) and is_broken(
            tables, sight, seen, now - last, row, work.carried, node
        )
        stage, cleared = tables.stage[place], tables.cleared[place]
        if stage < 0:
            if is_absent:
                continue
            over = window_end(tables.within, times[start])
            if is_certain(tables, cleared, last, over, now):
                work.finished[n_fin] = node
                n_fin += 1
                continue
            until = waits_until(tables, cleared, last, over)
            soonest = min(soonest, until)
            put_run(work, kept, cleared, node, start, until)
            kept += 1
            continue
        takes = (
            bool((mask >> np.uint64(stage)) & ONE)
            and now - last >= tables.least_gap[stage]
            and satisfies(tables, sight, stage, row, work.carried, node)
        )
        if takes:
            tail, n_fin, first = take(
                tables, sight, times, work, row, place, node, n_nodes, start, is_absent, tail, n_fin
            )
            soonest = min(soonest, first)
            n_nodes += 1
        ignores = tables.ignores[place]
        if not is_absent and (ignores == IGNORES_ANY or (ignores == IGNORES_OTHERS and not takes)):
            put_run(work, kept, cleared, node, start, work.run_end[run])
            kept += 1
    tail, n_nodes, n_fin, soonest = begin_runs(
        tables, sight, times, work, row, mask, tail, n_nodes, n_fin, soonest
    )
    if kept == n_runs:
        return tail, n_nodes, n_fin, soonest
    for run in range(n_runs, tail):
        move_run(work, run, kept)
        kept += 1
    return kept, n_nodes, n_fin, soonest


@inlined_kernel
def write_match(
    work: Work, positions: Ints, matches: Told, match: int, begin: int, last: int
) -> int:
    """Write down what the run of a node took; where its events end."""
    size, node, first = work.node_size[last], last, last
    for at in range(begin + size - 1, begin - 1, -1):
        matches.event[at], matches.stage[at] = work.node_event[node], work.node_stage[node]
        first, node = node, work.node_parent[node]
    start, end = work.node_event[first], work.node_event[last]
    matches.begin[match], matches.size[match], matches.start[match] = begin, size, start
    # What was taken is relevant, too.
    matches.skipped[match] = positions[end] - positions[start] + 1 - size
    matches.node[match] = last
    return int(begin + size)


@inlined_kernel
def record(
    work: Work,
    positions: Ints,
    matches: Told,
    numbers: Ints,
    nodes: Ints,
    subject: int,
    at: int,
    is_timed_out: bool,
) -> None:
    """Write down matches that end with some nodes."""
    match, end = numbers[MATCHES], numbers[EVENTS]
    for node in nodes:
        work.node_told[node] = 1
        matches.subject[match], matches.at[match] = subject, at
        matches.is_timed_out[match] = is_timed_out
        end = write_match(work, positions, matches, match, end, node)
        match += 1
    numbers[MATCHES], numbers[EVENTS] = match, end


@inlined_kernel
def tell(matches: Told, numbers: Ints, low: int) -> None:
    """Tell the matches from a number on, in the order of their ranks."""
    begin, count = numbers[TOLD], numbers[MATCHES] - low
    for at in range(count):
        matches.told[begin + at] = low + at
    if count > 1:
        sort_matches(matches.told, begin, begin + count, matches)
    numbers[TOLD] = begin + count


@inlined_kernel
def tell_first(work: Work, matches: Told, numbers: Ints, low: int, n_runs: int) -> int:
    """Tell the first match of each start, and drop the runs of these starts; how many are left."""
    told, start = matches.told, matches.start
    begin = chosen = numbers[TOLD]
    tell(matches, numbers, low)
    for at in range(begin, numbers[TOLD]):
        if at == begin or start[told[at]] != start[told[chosen - 1]]:
            told[chosen] = told[at]
            chosen += 1
    numbers[TOLD], kept = chosen, 0
    for run in range(n_runs):
        is_over = False
        for at in range(begin, chosen):
            is_over = is_over or start[told[at]] == work.run_start[run]
        if not is_over:
            move_run(work, run, kept)
            kept += 1
    return kept


@inlined_kernel
def hold(matches: Told, numbers: Ints, low: int) -> None:
    """Put the matches from a number on among those that are held, in the order of their ranks."""
    held, n_held = matches.held, numbers[HELD]
    for match in range(low, numbers[MATCHES]):
        at = n_held
        while at > 0 and comes_before(match, held[at - 1], matches):
            held[at] = held[at - 1]
            at -= 1
        held[at] = match
        n_held += 1
    numbers[HELD] = n_held


@inlined_kernel
def earliest_start(work: Work, n_runs: int) -> int:
    """The first event of the run that started first."""
    earliest = FOREVER
    for run in range(n_runs):
        earliest = min(earliest, work.run_start[run])
    return earliest


@inlined_kernel
def tell_held(tables: Tables, work: Work, matches: Told, numbers: Ints, n_runs: int) -> int:
    """Tell held matches that no run with an earlier start can drop any more, one by one.

    Each drops what its strategy says; how many runs are left.
    """
    held, start, n_held = matches.held, matches.start, numbers[HELD]
    while n_held > 0 and earliest_start(work, n_runs) >= start[held[0]]:
        matches.told[numbers[TOLD]] = held[0]
        numbers[TOLD] += 1
        bound = first_kept(tables, held[0], matches)
        kept = 0
        for at in range(1, n_held):
            if start[held[at]] >= bound:
                held[kept] = held[at]
                kept += 1
        n_held, kept = kept, 0
        for run in range(n_runs):
            if work.run_start[run] >= bound:
                move_run(work, run, kept)
                kept += 1
        n_runs = kept
    numbers[HELD] = n_held
    return n_runs


@inlined_kernel
def lacks_room(work: Work, matches: Told, numbers: Ints, count: int) -> bool:
    """Whether there is too little room to write down so many finished runs."""
    # Whatever is told or held is a match, too: there is room for it where there is for matches.
    events, n_matches = numbers[EVENTS], numbers[MATCHES] + count
    for at in range(count):
        events += work.node_size[work.finished[at]]
    numbers[NEED], numbers[NEED_TOO] = events, n_matches
    return bool(events > matches.event.size or n_matches > matches.at.size)


@inlined_kernel
def end_runs(
    tables: Tables,
    positions: Ints,
    work: Work,
    matches: Told,
    numbers: Ints,
    subject: int,
    now: int,
    n_fin: int,
    n_over: int,
    n_runs: int,
) -> int:
    """What is finished becomes a match, and is told or held; how many runs are left."""
    if n_over > 0:
        fresh = numbers[MATCHES]
        over = work.finished[n_fin : n_fin + n_over]
        record(work, positions, matches, numbers, over, subject, now, True)
        tell(matches, numbers, fresh)
    fresh = numbers[MATCHES]
    record(work, positions, matches, numbers, work.finished[:n_fin], subject, now, False)
    if tables.skip == FIRST:
        return int(tell_first(work, matches, numbers, fresh, n_runs))
    if tables.skip == NO_SKIP:
        tell(matches, numbers, fresh)
    else:
        hold(matches, numbers, fresh)
    return n_runs


@lean_kernel
def most_forks(tables: Tables) -> int:
    """How many runs one run can become at one event."""
    most = 1
    for place in range(tables.stage.size):
        most = max(most, tables.forks_from[place + 1] - tables.forks_from[place])
    return most


@lean_kernel
def starting_bits(tables: Tables) -> np.uint64:
    """The stages that a fresh start may wait for."""
    bits = np.uint64(0)
    for at in range(tables.starts.size):
        bits |= ONE << np.uint64(tables.stage[tables.starts[at]])
    return bits


@inlined_kernel
def first_end(work: Work, n_runs: int) -> int:
    """When the first of some runs is over, or becomes a match."""
    soonest = FOREVER
    for run in range(n_runs):
        soonest = min(soonest, work.run_end[run])
    return soonest


@inlined_kernel
def next_start(masks: Masks, begins: np.uint64, row: int, end: int) -> int:
    """The next event that can start a run; without a run, those before it do nothing."""
    while row < end and not masks[row] & begins:
        row += 1
    return row


@lean_kernel
def walk(
    tables: Tables,
    sight: Sight,
    rows: Rows,
    subject: int,
    horizon: int,
    work: Work,
    matches: Told,
    numbers: Ints,
    max_runs: int,
    max_matches: int,
) -> int:
    """Go through the events of one subject, or until there is no more room."""
    times, end = rows.times, rows.subject_from[subject + 1]
    begins, n_starts, becomes = starting_bits(tables), tables.starts.size, most_forks(tables) + 1
    n_runs, n_nodes, collect_at = numbers[RUNS], numbers[NODES], numbers[COLLECT_AT]
    n_fin, n_over, soonest = numbers[FINISHED], numbers[OVER], numbers[SOONEST]
    row, now, status = numbers[ROW], numbers[NOW], DONE
    while True:
        if n_fin + n_over == 0:
            if n_runs == 0:
                row = next_start(rows.masks, begins, row, end)
            need, need_too = (n_runs + n_starts) * becomes, n_nodes + n_runs + n_starts
            if need > work.run_place.size or need_too > work.node_event.size:
                status, numbers[NEED], numbers[NEED_TOO] = NEEDS_RUNS, need, need_too
                break
            until = times[row] if row < end else horizon
            if tables.is_eager and soonest <= until:
                # Runs may have been dropped since.
                soonest = first_end(work, n_runs)
            if tables.is_eager and soonest <= until:
                # R13: time goes first, so what expires at an event's time never sees it.
                now = soonest
                n_runs, n_fin, n_over, soonest = pass_time(tables, times, work, n_runs, now)
            elif row < end:
                now = until
                n_runs, n_nodes, n_fin, soonest = take_in(
                    tables, sight, rows, row, work, n_runs, n_nodes, soonest
                )
                row += 1
            else:
                break
        if n_fin + n_over > 0:
            if lacks_room(work, matches, numbers, n_fin + n_over):
                status = NEEDS_MATCHES
                break
            n_runs = end_runs(
                tables,
                rows.positions,
                work,
                matches,
                numbers,
                subject,
                now,
                n_fin,
                n_over,
                n_runs,
            )
            n_fin, n_over = 0, 0
        if numbers[HELD] > 0:
            n_runs = tell_held(tables, work, matches, numbers, n_runs)
        if n_runs + numbers[HELD] > max_runs:
            status = TOO_MANY_RUNS
            break
        if numbers[MATCHES] - numbers[MATCHES_BEFORE] > max_matches:
            status = TOO_MANY_MATCHES
            break
        if n_runs == 0:
            n_nodes = 0
        elif n_nodes > collect_at:
            n_nodes = collect(work, n_nodes, n_runs, matches, numbers[HELD])
            collect_at = max(FEWEST_TO_COLLECT, 2 * n_nodes)
    numbers[RUNS], numbers[NODES], numbers[COLLECT_AT] = n_runs, n_nodes, collect_at
    numbers[FINISHED], numbers[OVER], numbers[SOONEST] = n_fin, n_over, soonest
    numbers[ROW], numbers[NOW] = row, now
    return status


@kernel
def no_work(carried: int) -> Work:
    """Room for nothing yet."""
    none = np.empty(0, np.int64)
    return Work(none, none, none, none, none, none, none, none, none, none, np.empty((0, carried)))


@kernel
def no_matches() -> Told:
    """No match yet."""
    none = np.empty(0, np.int64)
    no_flags = np.empty(0, np.bool_)
    return Told(none, none, none, none, none, none, none, none, none, no_flags, none, none)


@kernel
def with_room(work: Work, runs: int, nodes: int) -> Work:
    """The same with room for so many runs and nodes."""
    carried = work.carried
    if carried.shape[0] < nodes:
        carried = np.empty((max(nodes, 2 * carried.shape[0]), carried.shape[1]))
        carried[: work.carried.shape[0]] = work.carried
    return Work(
        grown(work.run_place, runs),
        grown(work.run_node, runs),
        grown(work.run_start, runs),
        grown(work.run_end, runs),
        grown(work.finished, runs),
        grown(work.node_event, nodes),
        grown(work.node_parent, nodes),
        grown(work.node_stage, nodes),
        grown(work.node_size, nodes),
        grown(work.node_told, nodes),
        carried,
    )


@kernel
def with_room_for(matches: Told, events: int, count: int) -> Told:
    """The same with room for so many events and matches."""
    return Told(
        grown(matches.told, count),
        grown(matches.held, count),
        grown(matches.subject, count),
        grown(matches.at, count),
        grown(matches.begin, count),
        grown(matches.size, count),
        grown(matches.start, count),
        grown(matches.skipped, count),
        grown(matches.node, count),
        grown(matches.is_timed_out, count),
        grown(matches.event, events),
        grown(matches.stage, events),
    )


@kernel
def reopened(
    tables: Tables,
    programs: Programs,
    rows: Rows,
    opened: Open,
    subject: int,
    work: Work,
    numbers: Ints,
) -> Work:
    """The nodes and runs that an earlier batch left open."""
    low, high = opened.node_from[subject], opened.node_from[subject + 1]
    first_run = opened.run_from[subject]
    n_runs = opened.run_from[subject + 1] - first_run
    work = with_room(work, n_runs, high - low)
    for node in range(high - low):
        event, parent = opened.node_event[low + node], opened.node_parent[low + node]
        stage = opened.node_stage[low + node]
        work.node_event[node], work.node_parent[node] = event, parent
        work.node_stage[node], work.node_told[node] = stage, opened.node_told[low + node]
        work.node_size[node] = 1 if parent < 0 else work.node_size[parent] + 1
        carry_on(programs, rows.cells, work.carried, node, parent, stage, event)
    for run in range(n_runs):
        place, node = opened.run_place[first_run + run], opened.run_node[first_run + run]
        first = node
        while work.node_parent[first] >= 0:
            first = work.node_parent[first]
        start, last = work.node_event[first], rows.times[work.node_event[node]]
        over = window_end(tables.within, rows.times[start])
        put_run(work, run, place, node, start, waits_until(tables, place, last, over))
    numbers[RUNS], numbers[NODES], numbers[SOONEST] = n_runs, high - low, first_end(work, n_runs)
    return work


@kernel
def held_again(
    rows: Rows, opened: Open, subject: int, work: Work, matches: Told, numbers: Ints
) -> Told:
    """The matches that an earlier batch held; nothing is told before something changes."""
    low, high = opened.held_from[subject], opened.held_from[subject + 1]
    before, n_events = numbers[MATCHES], numbers[EVENTS]
    for at in range(low, high):
        n_events += work.node_size[opened.held_node[at]]
    matches = with_room_for(matches, n_events, before + high - low)
    for at in range(low, high):
        node, certain_at = opened.held_node[at : at + 1], opened.held_at[at]
        record(work, rows.positions, matches, numbers, node, subject, certain_at, False)
    hold(matches, numbers, before)
    return matches


@kernel
def nothing_kept(subjects: int) -> Open:
    """What stays open of so many subjects, before any was looked at."""
    none = np.empty(0, np.int64)
    node_from, run_from = np.zeros(subjects + 1, np.int64), np.zeros(subjects + 1, np.int64)
    held_from = np.zeros(subjects + 1, np.int64)
    return Open(node_from, none, none, none, none, run_from, none, none, held_from, none, none)


@kernel
def with_room_to_keep(still: Open, nodes: int, runs: int, held: int) -> Open:
    """The same with room for so many nodes, runs and held matches."""
    return Open(
        still.node_from,
        grown(still.node_event, nodes),
        grown(still.node_parent, nodes),
        grown(still.node_stage, nodes),
        grown(still.node_told, nodes),
        still.run_from,
        grown(still.run_place, runs),
        grown(still.run_node, runs),
        still.held_from,
        grown(still.held_node, held),
        grown(still.held_at, held),
    )


@kernel
def kept_open(
    still: Open, subject: int, work: Work, matches: Told, numbers: Ints, horizon: int
) -> Open:
    """What stays open, with that of one more subject."""
    n_runs, n_held = 0, numbers[HELD]
    for run in range(numbers[RUNS]):
        # Runs whose time is up at the horizon were only left lying about.
        if work.run_end[run] > horizon:
            move_run(work, run, n_runs)
            n_runs += 1
    n_nodes = collect(work, numbers[NODES], n_runs, matches, n_held)
    node, run, at = still.node_from[subject], still.run_from[subject], still.held_from[subject]
    still = with_room_to_keep(still, node + n_nodes, run + n_runs, at + n_held)
    still.node_event[node : node + n_nodes] = work.node_event[:n_nodes]
    still.node_parent[node : node + n_nodes] = work.node_parent[:n_nodes]
    still.node_stage[node : node + n_nodes] = work.node_stage[:n_nodes]
    still.node_told[node : node + n_nodes] = work.node_told[:n_nodes]
    still.run_place[run : run + n_runs] = work.run_place[:n_runs]
    still.run_node[run : run + n_runs] = work.run_node[:n_runs]
    for place in range(n_held):
        still.held_node[at + place] = matches.node[matches.held[place]]
        still.held_at[at + place] = matches.at[matches.held[place]]
    still.node_from[subject + 1], still.run_from[subject + 1] = node + n_nodes, run + n_runs
    still.held_from[subject + 1] = at + n_held
    return still


@kernel
def without_room(still: Open) -> Open:
    """The same without the room that nothing was put into."""
    nodes, runs, held = still.node_from[-1], still.run_from[-1], still.held_from[-1]
    return Open(
        still.node_from,
        still.node_event[:nodes],
        still.node_parent[:nodes],
        still.node_stage[:nodes],
        still.node_told[:nodes],
        still.run_from,
        still.run_place[:runs],
        still.run_node[:runs],
        still.held_from,
        still.held_node[:held],
        still.held_at[:held],
    )


@kernel
def scan(
    tables: Tables,
    programs: Programs,
    constants: Doubles,
    rows: Rows,
    new_from: Ints,
    horizon: int,
    opened: Open,
    keeps_open: bool,
    max_runs: int,
    max_matches: int,
) -> Found:
    """All matches of all subjects.

    `new_from` is where each subject's new rows start; those before are only known to `opened`.
    Time goes on to the horizon after the last row.
    """
    work = with_room(no_work(2 * programs.carry.size), 64, 256)
    matches = with_room_for(no_matches(), 256, 64)
    numbers = np.zeros(NUMBERS, np.int64)
    sight = Sight(programs, constants, rows.cells, np.empty(programs.ops.size + 1))
    n_subjects = rows.subject_from.size - 1
    still_open = nothing_kept(n_subjects if keeps_open else 0)
    status, stopped_at = DONE, 0
    for subject in range(n_subjects):
        numbers[RUNS], numbers[NODES], numbers[HELD] = 0, 0, 0
        numbers[FINISHED], numbers[OVER], numbers[NOW] = 0, 0, -FOREVER
        numbers[SOONEST], numbers[COLLECT_AT] = FOREVER, FEWEST_TO_COLLECT
        numbers[ROW], numbers[MATCHES_BEFORE] = new_from[subject], numbers[MATCHES]
        if opened.node_from.size > 1:
            work = reopened(tables, programs, rows, opened, subject, work, numbers)
            matches = held_again(rows, opened, subject, work, matches, numbers)
        while True:
            status = walk(
                tables,
                sight,
                rows,
                subject,
                horizon,
                work,
                matches,
                numbers,
                max_runs,
                max_matches,
            )
            if status == NEEDS_RUNS:
                work = with_room(work, numbers[NEED], numbers[NEED_TOO])
            elif status == NEEDS_MATCHES:
                matches = with_room_for(matches, numbers[NEED], numbers[NEED_TOO])
            else:
                break
        if status != DONE:
            stopped_at = subject
            break
        if keeps_open:
            still_open = kept_open(still_open, subject, work, matches, numbers, horizon)

    n_told, n_matches, n_out = numbers[TOLD], numbers[MATCHES], numbers[EVENTS]
    return Found(
        status,
        stopped_at,
        matches.told[:n_told],
        matches.subject[:n_matches],
        matches.at[:n_matches],
        matches.begin[:n_matches],
        matches.size[:n_matches],
        matches.is_timed_out[:n_matches],
        matches.event[:n_out],
        matches.stage[:n_out],
        without_room(still_open),
    )
