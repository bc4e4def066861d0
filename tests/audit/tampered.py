"""What a leaking pipeline would hand out: received rows that were changed where a match was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from ppm.audit.observation import Received
from ppm.audit.planting import Planting
from ppm.audit.rows import Row

Tamper = Callable[[Iterable[Received], Planting], Iterable[Received]]
Place = tuple[str | int, int]


def _planted(planting: Planting) -> dict[Place, list[Row]]:
    """The private rows of each subject-slot that was planted."""
    found: dict[Place, list[Row]] = {
        (canary.subject, canary.slot): []
        for canaries in planting.canaries.values()
        for canary in canaries
        if canary.is_planted
    }
    for rows in planting.files:
        for row in rows:
            subject, slot, offset = planting.grid.place_of(row)
            if (subject, slot) in found and (subject, slot, offset) not in planting.public:
                found[subject, slot].append(row)
    return found


def where_planted(
    change: Callable[[Received, list[Row], Planting], Iterable[Received]], *, public: bool = False
) -> Tamper:
    """Every stand-in of a planted slot is changed, or every public row."""

    def tampered(received: Iterable[Received], planting: Planting) -> Iterator[Received]:
        real = _planted(planting)
        for one in received:
            subject, slot, offset = planting.grid.place_of(one[2])
            is_public = (subject, slot, offset) in planting.public
            if (subject, slot) in real and is_public == public:
                yield from change(one, real[subject, slot], planting)
            else:
                yield one

    return tampered


def _with(row: Row, planting: Planting, values: Mapping[str, object]) -> Row:
    return tuple(
        values.get(name, one)  # type: ignore[misc]
        for name, one in zip(planting.columns, row, strict=True)
    )


def _of(row: Row, planting: Planting, name: str) -> object:
    return row[[*planting.columns].index(name)]


def carrying(column: str) -> Tamper:
    """The real row's value of a column, where the same type really was there."""

    def change(one: Received, real: list[Row], planting: Planting) -> Iterator[Received]:
        community, batch, row = one
        same = [r for r in real if _of(r, planting, "place") == _of(row, planting, "place")]
        value = {column: _of(same[0], planting, column)} if same else {}
        yield community, batch, _with(row, planting, value)

    return where_planted(change)


def _delayed(one: Received, real: list[Row], planting: Planting) -> Iterator[Received]:  # noqa: ARG001
    community, batch, row = one
    yield community, batch + 1, row


def _in_the_next_slot(one: Received, real: list[Row], planting: Planting) -> Iterator[Received]:  # noqa: ARG001
    community, batch, row = one
    yield one
    moved = row[planting.grid.time] + planting.grid.slot  # type: ignore[operator]
    yield community, batch, _with(row, planting, {"ts": moved})


def _gone(one: Received, real: list[Row], planting: Planting) -> Iterator[Received]:  # noqa: ARG001
    yield from ()


def reversed_order(received: Iterable[Received], planting: Planting) -> list[Received]:
    """Rows of planted slots come in another order."""
    planted, places, rows = _planted(planting), [], [*received]
    for at, (_, _, row) in enumerate(rows):
        if planting.grid.place_of(row)[:2] in planted:
            places.append(at)
    changed = [*rows]
    for at, other in zip(places, reversed(places), strict=True):
        changed[at] = rows[other]
    return changed


TAMPERED: Mapping[str, Tamper] = {
    "a payload": carrying("note"),
    "a number": carrying("weight"),
    "an exact time": carrying("ts"),
    "a mark": carrying("paid"),
    "another order": reversed_order,
    "a delay": where_planted(_delayed),
    "the slot after": where_planted(_in_the_next_slot),
    "public rows that are gone": where_planted(_gone, public=True),
}
