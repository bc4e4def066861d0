"""The loop over events and runs, subject by subject: rules R1 to R13 and the skip strategies.

A run is a place, its last node and its start. A node is an event that a run took, with the node
before it; forks share their past.

All kernels of the loop stand in this one file, long as it is: see `jit.kernel`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppm.cep.columnar.columns import Doubles, Rows
from ppm.cep.columnar.conditions import Carry, Ints, Op, Programs
from ppm.cep.columnar.jit import kernel
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
    Tables,
)

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


class Open(NamedTuple):
    """Runs that wait and matches that are held, subject by subject: what goes on in a next batch.

    Nodes of a subject are numbered from 0, each after the one before it.
    """

    node_from: Ints
    node_event: Ints
    """A row, by its place among the sorted rows."""
    node_parent: Ints
    node_stage: Ints
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
    event: Ints
    stage: Ints


@kernel
def grown(array: Ints, size: int) -> Ints:
    """The same numbers with room for at least so many."""
    if array.size >= size:
        return array
    wide = np.empty(max(size, 2 * array.size), array.dtype)
    wide[: array.size] = array
    return wide


@kernel
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


@kernel
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


@kernel
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


@kernel
def release(never: int, lasting: Ints, last: int, window_end: int) -> int:
    """When the last absence of a run at the end of the pattern is certain (R11)."""
    moment = -FOREVER
    for stage in range(lasting.size):
        if (never >> np.uint64(stage)) & ONE:
            wait = lasting[stage]
            moment = max(moment, window_end if wait == FOREVER else last + wait)
    return moment


@kernel
def comes_before(
    one: int,
    other: int,
    start: Ints,
    skipped: Ints,
    begin: Ints,
    size: Ints,
    event: Ints,
    stage: Ints,
) -> bool:
    """Which of two finished matches is told first: the rank of `ppm.cep.skip`."""
    if start[one] != start[other]:
        return bool(start[one] < start[other])
    if skipped[one] != skipped[other]:
        return bool(skipped[one] < skipped[other])
    if size[one] != size[other]:
        return bool(size[one] > size[other])
    for at in range(size[one]):
        left, right = begin[one] + at, begin[other] + at
        if event[left] != event[right]:
            return bool(event[left] < event[right])
        if stage[left] != stage[right]:
            return bool(stage[left] < stage[right])
    return False


@kernel
def sort_matches(which: Ints, low: int, high: int, matches: Told) -> None:
    """Sort `which[low:high]` by rank: merge sort from the bottom, as one event can finish many."""
    start, skipped, begin, size = matches.start, matches.skipped, matches.begin, matches.size
    event, stage, count = matches.event, matches.stage, high - low
    if count < 2:
        return
    source, target = which[low:high].copy(), np.empty(count, np.int64)
    width = 1
    while width < count:
        for left in range(0, count, 2 * width):
            middle, right = min(left + width, count), min(left + 2 * width, count)
            i, j = left, middle
            for k in range(left, right):
                if i < middle and (
                    j >= right
                    or not comes_before(
                        source[j], source[i], start, skipped, begin, size, event, stage
                    )
                ):
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        width *= 2
    which[low:high] = source


@kernel
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
            node_size[kept] = node_size[node]
            for k in range(carried.shape[1]):
                carried[kept, k] = carried[node, k]
            kept += 1
    for run in range(n_runs):
        run_node[run] = number[run_node[run]]
    for at in range(n_held):
        match_node[held[at]] = number[match_node[held[at]]]
    return kept


# Numbers that a walk leaves behind when it stops, so that it can go on.
RUNS, NODES, HELD, FINISHED, SOONEST, COLLECT_AT, ROW, NOW, IS_TAKEN_IN = range(9)
MATCHES, TOLD, EVENTS, MATCHES_BEFORE, FROM_HELD, NEED, NEED_TOO, NUMBERS = range(9, 17)


@kernel
def walk(
    tables: Tables,
    programs: Programs,
    constants: Doubles,
    rows: Rows,
    subject: int,
    horizon: int,
    held_at: Ints,
    work: Work,
    matches: Told,
    numbers: Ints,
    max_runs: int,
    max_matches: int,
) -> int:
    """Go through the events of one subject, or until there is no more room."""
    times, masks, cells = rows.times, rows.masks, rows.cells
    # Taken apart once: reading an array out of a tuple counts references, too.
    stage_of, ignores_of, cleared_of = tables.stage, tables.ignores, tables.cleared
    not_next_of, never_of = tables.not_next, tables.never
    ending_of, gap_of = tables.ending, tables.gap
    forks_from, forks = tables.forks_from, tables.forks
    program_from, program_to = tables.program_from, tables.program_to
    least_gap, lasting, starts = tables.least_gap, tables.lasting, tables.starts
    within, skip, is_eager = tables.within, tables.skip, tables.is_eager
    carries = programs.carry.size > 0
    sight = Sight(programs, constants, cells, np.empty(programs.ops.size + 1))
    most_forks = 1
    for place in range(stage_of.size):
        most_forks = max(most_forks, forks_from[place + 1] - forks_from[place])

    positions, end = rows.positions, rows.subject_from[subject + 1]
    run_place, run_node = work.run_place, work.run_node
    run_start, run_end, fin_node = work.run_start, work.run_end, work.finished
    node_event, node_parent = work.node_event, work.node_parent
    node_stage, node_size, carried = work.node_stage, work.node_size, work.carried
    told, held, match_subject, match_at = matches.told, matches.held, matches.subject, matches.at
    match_from, match_size, match_start = matches.begin, matches.size, matches.start
    match_skipped, match_node = matches.skipped, matches.node
    out_event, out_stage = matches.event, matches.stage

    n_runs, n_nodes, n_held, n_fin = numbers[RUNS], numbers[NODES], numbers[HELD], numbers[FINISHED]
    soonest, collect_at = numbers[SOONEST], numbers[COLLECT_AT]
    row, now, is_taken_in = numbers[ROW], numbers[NOW], numbers[IS_TAKEN_IN] != 0
    n_matches, n_told, n_out = numbers[MATCHES], numbers[TOLD], numbers[EVENTS]
    first_match, from_held = numbers[MATCHES_BEFORE], numbers[FROM_HELD] != 0
    status = DONE
    while True:
        if not is_taken_in:
            need = n_runs + (n_runs + starts.size) * most_forks
            if need > run_place.size or n_nodes + n_runs + starts.size > node_event.size:
                status, numbers[NEED] = NEEDS_RUNS, need
                numbers[NEED_TOO] = n_nodes + n_runs + starts.size
                break
            until = times[row] if row < end else horizon
            is_moment = False
            if is_eager and n_runs > 0 and soonest <= until:
                soonest = FOREVER
                for run in range(n_runs):
                    soonest = min(soonest, run_end[run])
                is_moment = soonest <= until and soonest < FOREVER
            if is_moment:
                # R13: time goes first, so what expires at an event's time never sees it.
                now, kept, later = soonest, 0, FOREVER
                for run in range(n_runs):
                    if run_end[run] == now:
                        node, start = run_node[run], run_start[run]
                        window_end = times[start] + within if within < FOREVER else FOREVER
                        last, place = times[node_event[node]], run_place[run]
                        if (
                            ending_of[place] == PENDING
                            and release(never_of[place], lasting, last, window_end) <= now
                        ):
                            fin_node[n_fin] = node
                            n_fin += 1
                    else:
                        run_place[kept], run_node[kept] = run_place[run], run_node[run]
                        run_start[kept], run_end[kept] = run_start[run], run_end[run]
                        later = min(later, run_end[run])
                        kept += 1
                n_runs, soonest = kept, later
            elif row < end:
                now, mask = times[row], masks[row]
                kept, tail = 0, n_runs
                for run in range(n_runs + starts.size):
                    is_start = run >= n_runs
                    if is_start:
                        place, node = starts[run - n_runs], -1
                        start, stage = row, stage_of[place]
                        if not (mask >> np.uint64(stage)) & ONE:
                            continue
                        waited, is_absent = 0, False
                    else:
                        if run_end[run] <= now:
                            continue
                        place, node, start = run_place[run], run_node[run], run_start[run]
                        stage = stage_of[place]
                        waited, is_absent = now - times[node_event[node]], False
                        seen = not_next_of[place] & mask
                        if seen and is_broken(tables, sight, seen, 0, row, carried, node):
                            continue
                        seen = never_of[place] & mask
                        if seen:
                            is_absent = is_broken(tables, sight, seen, waited, row, carried, node)
                        if stage < 0:
                            if is_absent:
                                continue
                            place = cleared_of[place]
                            ending, window_end = ending_of[place], run_end[run]
                            if ending == PENDING:
                                window_end = times[start] + within if within < FOREVER else FOREVER
                                moment = release(never_of[place], lasting, now - waited, window_end)
                                if moment <= now:
                                    ending = COMPLETE
                                window_end = min(window_end, moment)
                            if ending == COMPLETE:
                                fin_node[n_fin] = node
                                n_fin += 1
                            else:
                                run_place[kept], run_node[kept] = place, node
                                run_start[kept], run_end[kept] = start, window_end
                                soonest = min(soonest, window_end)
                                kept += 1
                            continue
                    takes = bool((mask >> np.uint64(stage)) & ONE)
                    if takes and not is_start and waited < least_gap[stage]:
                        takes = False
                    if takes and program_to[stage] > program_from[stage]:
                        takes = is_met(
                            sight, program_from[stage], program_to[stage], row, carried, node
                        )
                    if takes:
                        taken = n_nodes
                        n_nodes += 1
                        node_event[taken], node_parent[taken] = row, node
                        node_stage[taken] = stage
                        node_size[taken] = 1 if is_start else node_size[node] + 1
                        if carries:
                            carry_on(programs, cells, carried, taken, node, stage, row)
                        window_end = times[start] + within if within < FOREVER else FOREVER
                        for at in range(forks_from[place], forks_from[place + 1]):
                            fork = forks[at]
                            ending, over = ending_of[fork], window_end
                            if ending == WAITS and gap_of[fork] < FOREVER:
                                over = min(window_end, now + gap_of[fork])
                            elif ending == PENDING:
                                moment = release(never_of[fork], lasting, now, window_end)
                                if moment <= now:
                                    ending = COMPLETE
                                over = min(window_end, moment)
                            if ending == COMPLETE:
                                fin_node[n_fin] = taken
                                n_fin += 1
                            elif not is_absent:
                                # R10: only a match that this very event completes is told.
                                run_place[tail], run_node[tail] = fork, taken
                                run_start[tail], run_end[tail] = start, over
                                soonest = min(soonest, over)
                                tail += 1
                    if is_start or is_absent:
                        continue
                    ignores = ignores_of[place]
                    if ignores == IGNORES_ANY or (ignores == IGNORES_OTHERS and not takes):
                        run_place[kept], run_node[kept] = cleared_of[place], node
                        run_start[kept], run_end[kept] = start, run_end[run]
                        kept += 1
                for at in range(n_runs, tail):
                    run_place[kept], run_node[kept] = run_place[at], run_node[at]
                    run_start[kept], run_end[kept] = run_start[at], run_end[at]
                    kept += 1
                n_runs = kept
                row += 1
            else:
                break

            is_taken_in = True
        need = n_out
        for at in range(n_fin):
            need += node_size[fin_node[at]]
        need_too = max(n_matches, n_told, n_held) + n_fin + n_held + 1
        if need > out_event.size or need_too > match_at.size:
            status, numbers[NEED], numbers[NEED_TOO] = NEEDS_MATCHES, need, need_too
            break

        # What is finished becomes a match, unless an earlier start is in the way.
        fresh = n_matches
        for at in range(n_fin):
            node = fin_node[at]
            size = node_size[node]
            last, first = node_event[node], node
            match_node[n_matches] = node
            for back in range(size):
                out_event[n_out + size - 1 - back] = node_event[node]
                out_stage[n_out + size - 1 - back] = node_stage[node]
                first, node = node, node_parent[node]
            start = node_event[first]
            match_subject[n_matches], match_from[n_matches] = subject, n_out
            match_size[n_matches], match_start[n_matches] = size, start
            match_skipped[n_matches] = positions[last] - positions[start] + 1 - size
            if from_held:
                match_at[n_matches] = held_at[at]
            else:
                match_at[n_matches] = now
            n_matches += 1
            n_out += size
        n_fin = 0

        if n_matches > fresh and skip in (NO_SKIP, FIRST):
            group = n_told
            for match in range(fresh, n_matches):
                told[n_told] = match
                n_told += 1
            if n_told > group + 1:
                sort_matches(told, group, n_told, matches)
            if skip == FIRST:
                chosen = group
                for at in range(group, n_told):
                    if at == group or match_start[told[at]] != match_start[told[chosen - 1]]:
                        told[chosen] = told[at]
                        chosen += 1
                n_told, kept = chosen, 0
                for run in range(n_runs):
                    is_over = False
                    for at in range(group, n_told):
                        is_over = is_over or match_start[told[at]] == run_start[run]
                    if not is_over:
                        run_place[kept], run_node[kept] = run_place[run], run_node[run]
                        run_start[kept], run_end[kept] = run_start[run], run_end[run]
                        kept += 1
                n_runs = kept
        elif n_matches > fresh or n_held > 0:
            for match in range(fresh, n_matches):
                at = n_held
                while at > 0 and comes_before(
                    match,
                    held[at - 1],
                    match_start,
                    match_skipped,
                    match_from,
                    match_size,
                    out_event,
                    out_stage,
                ):
                    held[at] = held[at - 1]
                    at -= 1
                held[at] = match
                n_held += 1
            while n_held > 0 and not from_held:
                earliest = FOREVER
                for run in range(n_runs):
                    earliest = min(earliest, run_start[run])
                match = held[0]
                if earliest < match_start[match]:
                    break
                told[n_told] = match
                n_told += 1
                bound = first_kept(tables, match, matches)
                kept = 0
                for at in range(1, n_held):
                    if match_start[held[at]] >= bound:
                        held[kept] = held[at]
                        kept += 1
                n_held, kept = kept, 0
                for run in range(n_runs):
                    if run_start[run] >= bound:
                        run_place[kept], run_node[kept] = run_place[run], run_node[run]
                        run_start[kept], run_end[kept] = run_start[run], run_end[run]
                        kept += 1
                n_runs = kept
        from_held, is_taken_in = False, False

        if n_runs + n_held > max_runs:
            status = TOO_MANY_RUNS
            break
        if n_matches - first_match > max_matches:
            status = TOO_MANY_MATCHES
            break
        if n_runs == 0 and n_held == 0:
            n_nodes = 0
        elif n_nodes > collect_at:
            n_nodes = collect(work, n_nodes, n_runs, matches, n_held)
            collect_at = max(4096, 2 * n_nodes)

    numbers[RUNS], numbers[NODES], numbers[HELD], numbers[FINISHED] = n_runs, n_nodes, n_held, n_fin
    numbers[SOONEST], numbers[COLLECT_AT] = soonest, collect_at
    numbers[ROW], numbers[NOW], numbers[IS_TAKEN_IN] = row, now, is_taken_in
    numbers[MATCHES], numbers[TOLD], numbers[EVENTS] = n_matches, n_told, n_out
    numbers[FROM_HELD] = from_held
    return status


@kernel
def no_work(carried: int) -> Work:
    """Room for nothing yet."""
    none = np.empty(0, np.int64)
    return Work(none, none, none, none, none, none, none, none, none, np.empty((0, carried)))


@kernel
def no_matches() -> Told:
    """No match yet."""
    none = np.empty(0, np.int64)
    return Told(none, none, none, none, none, none, none, none, none, none, none)


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
    """What an earlier batch left open; held matches are finished once more, and held again."""
    low, high = opened.node_from[subject], opened.node_from[subject + 1]
    first_run, last_run = opened.run_from[subject], opened.run_from[subject + 1]
    first_held, last_held = opened.held_from[subject], opened.held_from[subject + 1]
    work = with_room(work, max(last_run - first_run, last_held - first_held), high - low)
    for node in range(high - low):
        event, parent = opened.node_event[low + node], opened.node_parent[low + node]
        stage = opened.node_stage[low + node]
        work.node_event[node], work.node_parent[node] = event, parent
        work.node_stage[node] = stage
        work.node_size[node] = 1 if parent < 0 else work.node_size[parent] + 1
        carry_on(programs, rows.cells, work.carried, node, parent, stage, event)
    soonest = FOREVER
    for run in range(last_run - first_run):
        place, node = opened.run_place[first_run + run], opened.run_node[first_run + run]
        first = node
        while work.node_parent[first] >= 0:
            first = work.node_parent[first]
        start, last = work.node_event[first], rows.times[work.node_event[node]]
        over = rows.times[start] + tables.within if tables.within < FOREVER else FOREVER
        if tables.ending[place] == WAITS and tables.gap[place] < FOREVER:
            over = min(over, last + tables.gap[place])
        elif tables.ending[place] == PENDING:
            over = min(over, release(tables.never[place], tables.lasting, last, over))
        work.run_place[run], work.run_node[run] = place, node
        work.run_start[run], work.run_end[run] = start, over
        soonest = min(soonest, over)
    for at in range(last_held - first_held):
        work.finished[at] = opened.held_node[first_held + at]
    numbers[RUNS], numbers[NODES], numbers[SOONEST] = last_run - first_run, high - low, soonest
    numbers[FINISHED] = last_held - first_held
    # Nothing is told before something changes.
    numbers[IS_TAKEN_IN] = numbers[FROM_HELD] = numbers[FINISHED] > 0
    return work


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

    n_subjects = rows.subject_from.size - 1
    size_open = n_subjects + 1 if keeps_open else 1
    o_node_from, o_run_from = np.zeros(size_open, np.int64), np.zeros(size_open, np.int64)
    o_held_from = np.zeros(size_open, np.int64)
    o_event, o_parent = np.empty(0, np.int64), np.empty(0, np.int64)
    o_stage, o_place = np.empty(0, np.int64), np.empty(0, np.int64)
    o_run_node, o_held_node = np.empty(0, np.int64), np.empty(0, np.int64)
    o_held_at = np.empty(0, np.int64)
    o_nodes, o_runs, o_helds = 0, 0, 0

    status, stopped_at = DONE, 0
    for subject in range(n_subjects):
        numbers[RUNS], numbers[NODES], numbers[HELD], numbers[FINISHED] = 0, 0, 0, 0
        numbers[SOONEST], numbers[COLLECT_AT], numbers[NOW] = FOREVER, 4096, -FOREVER
        numbers[ROW], numbers[MATCHES_BEFORE] = new_from[subject], numbers[MATCHES]
        numbers[IS_TAKEN_IN], numbers[FROM_HELD] = 0, 0
        held_at = opened.held_at[:0]
        if opened.node_from.size > 1:
            work = reopened(tables, programs, rows, opened, subject, work, numbers)
            held_at = opened.held_at[opened.held_from[subject] : opened.held_from[subject + 1]]
        while True:
            status = walk(
                tables,
                programs,
                constants,
                rows,
                subject,
                horizon,
                held_at,
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
            n_runs, n_held = numbers[RUNS], numbers[HELD]
            # Runs whose time is up at the horizon were only left lying about.
            kept = 0
            for run in range(n_runs):
                if work.run_end[run] > horizon:
                    work.run_place[kept], work.run_node[kept] = (
                        work.run_place[run],
                        work.run_node[run],
                    )
                    kept += 1
            n_runs = kept
            n_nodes = collect(work, numbers[NODES], n_runs, matches, n_held)
            if o_nodes + n_nodes > o_event.size:
                o_event, o_parent = (
                    grown(o_event, o_nodes + n_nodes),
                    grown(o_parent, o_nodes + n_nodes),
                )
                o_stage = grown(o_stage, o_nodes + n_nodes)
            if o_runs + n_runs > o_place.size:
                o_place, o_run_node = (
                    grown(o_place, o_runs + n_runs),
                    grown(o_run_node, o_runs + n_runs),
                )
            if o_helds + n_held > o_held_at.size:
                o_held_at = grown(o_held_at, o_helds + n_held)
                o_held_node = grown(o_held_node, o_helds + n_held)
            o_event[o_nodes : o_nodes + n_nodes] = work.node_event[:n_nodes]
            o_parent[o_nodes : o_nodes + n_nodes] = work.node_parent[:n_nodes]
            o_stage[o_nodes : o_nodes + n_nodes] = work.node_stage[:n_nodes]
            o_place[o_runs : o_runs + n_runs] = work.run_place[:n_runs]
            o_run_node[o_runs : o_runs + n_runs] = work.run_node[:n_runs]
            for at in range(n_held):
                o_held_node[o_helds + at] = matches.node[matches.held[at]]
                o_held_at[o_helds + at] = matches.at[matches.held[at]]
            o_nodes, o_runs, o_helds = o_nodes + n_nodes, o_runs + n_runs, o_helds + n_held
            o_node_from[subject + 1], o_run_from[subject + 1] = o_nodes, o_runs
            o_held_from[subject + 1] = o_helds

    still_open = Open(
        o_node_from,
        o_event[:o_nodes],
        o_parent[:o_nodes],
        o_stage[:o_nodes],
        o_run_from,
        o_place[:o_runs],
        o_run_node[:o_runs],
        o_held_from,
        o_held_node[:o_helds],
        o_held_at[:o_helds],
    )
    n_told, n_matches, n_out = numbers[TOLD], numbers[MATCHES], numbers[EVENTS]
    return Found(
        status,
        stopped_at,
        matches.told[:n_told],
        matches.subject[:n_matches],
        matches.at[:n_matches],
        matches.begin[:n_matches],
        matches.size[:n_matches],
        matches.event[:n_out],
        matches.stage[:n_out],
        still_open,
    )
