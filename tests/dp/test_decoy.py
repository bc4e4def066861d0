import pytest

from ppm.dp.decoy import slots_of_event, slots_of_match, truth_kept, withhold_probability

MINUTE = 60_000_000
HOUR = 60 * MINUTE


@pytest.mark.parametrize(
    ("epsilon", "kept"),
    [
        pytest.param(1.0, 0.63, id="eps 1"),
        pytest.param(2.0, 0.86, id="eps 2"),
        pytest.param(3.0, 0.95, id="eps 3"),
    ],
)
def test_truth_kept_on_clean_slots(epsilon: float, kept: float) -> None:
    assert truth_kept(epsilon) == pytest.approx(kept, abs=5e-3)
    assert withhold_probability(epsilon) == pytest.approx(1 - kept, abs=5e-3)


def test_slots_are_withheld_independently() -> None:
    assert truth_kept(1.0, slots=3) == pytest.approx(truth_kept(1.0) ** 3)
    assert truth_kept(1.0, slots=0) == 1.0


def test_without_budget_everything_is_withheld() -> None:
    assert truth_kept(0.0) == 0.0


@pytest.mark.parametrize(
    ("within", "slot", "of_match", "of_event"),
    [
        pytest.param(2 * HOUR, 15 * MINUTE, 9, 17, id="two hours in quarters"),
        pytest.param(2 * HOUR, 2 * HOUR, 2, 3, id="a slot as long as the window"),
        pytest.param(2 * HOUR, 24 * HOUR, 2, 3, id="a slot longer than the window"),
        pytest.param(2 * HOUR + 1, 2 * HOUR, 3, 5, id="one microsecond too long"),
        pytest.param(0, HOUR, 1, 1, id="a single moment"),
        pytest.param(10**18 + 1, 10**9, 10**9 + 2, 2 * 10**9 + 3, id="beyond what floats can hold"),
    ],
)
def test_how_many_slots_a_match_touches(
    within: int, slot: int, of_match: int, of_event: int
) -> None:
    assert slots_of_match(within, slot) == of_match
    assert slots_of_event(within, slot) == of_event


@pytest.mark.parametrize("slot", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("within", range(12))
def test_no_position_on_the_grid_touches_more_slots(within: int, slot: int) -> None:
    one_match = [(t + within) // slot - t // slot + 1 for t in range(slot)]
    assert max(one_match) == slots_of_match(within, slot)
    around_one_event = [(t + within) // slot - (t - within) // slot + 1 for t in range(slot)]
    assert max(around_one_event) <= slots_of_event(within, slot)


def test_the_bound_for_a_shared_event_is_reached() -> None:
    within, slot, event = 5, 5, 2
    touched = range((event - within) // slot, (event + within) // slot + 1)
    assert len(touched) == slots_of_event(within, slot) == 3


@pytest.mark.parametrize(
    ("within", "slot", "fault"),
    [
        pytest.param(1, 0, "slot is 0", id="no slot"),
        pytest.param(-1, 1, "within is -1", id="a negative window"),
    ],
)
def test_impossible_grids_are_refused(within: int, slot: int, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        slots_of_match(within, slot)


def test_a_negative_number_of_slots_is_refused() -> None:
    with pytest.raises(ValueError, match="slots is -1"):
        truth_kept(1.0, slots=-1)
