"""`ppm prior`: history into a small file that policies use, and refusals before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppm.cli.prior_file import MOST_TYPES, counted_text
from ppm.errors import PpmError
from ppm.spark.prior import History
from ppm.spec.load import parse
from ppm.spec.prior import MOST_SETS, Prior
from ppm.spec.stream import Stream
from tests.cli.door import Ppm, edit

POLICY = "policies/smart-door.yaml"
CSV = """\
door,at,kind
north,2025-12-31T08:05:00Z,locked
north,2025-12-31T08:09:00Z,armed
north,2025-12-31T09:30:00Z,locked
north,2025-12-31T12:00:00Z,opened
south,2025-12-30T23:59:59Z,low
south,2025-12-31T02:00:00Z,low
"""
COUNTED = """\
# Counted by ppm prior: of each subject all slots, from that of its first row to that of its last.
name: makers
source: the makers' own doors, with consent
subjects: 2
from: 2025-12-30T23:00:00+00:00
until: 2025-12-31T13:00:00+00:00
slot: 1 h
of:
  - arm
  - lock
  - low
together:
  - { types: [], slots: 5 }
  - { types: [low], slots: 2 }
  - { types: [arm, lock], slots: 1 }
  - { types: [lock], slots: 1 }
"""
STREAM = Stream.model_validate(
    {
        "subject": "door",
        "time": "at",
        "slot": "1 h",
        "from": "2026-01-01T01:00:00+01:00",
        "lateness": "1 min",
    }
)


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project about a door, with a file of rows."""
    monkeypatch.chdir(project)
    (project / "rows.csv").write_text(CSV, "utf-8")
    return project


class TestRefusedBeforeSparkStarts:
    @pytest.fixture(autouse=True)
    def _no_spark(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def start() -> None:
            raise AssertionError("Spark was started")

        monkeypatch.setattr("ppm.spark.session.local_session", start)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            pytest.param(
                ["row.csv", "--name", "makers", "--source", "ours"],
                "there is no row.csv; did you mean rows.csv?\n",
                id="no rows",
            ),
            pytest.param(
                ["rows.csv", "--name", "The makers", "--source", ""],
                "--name is 'The makers'; a name is up to 64 small letters, digits, - and _, not "
                "starting with - or _\n"
                "--source is empty; text is needed\n",
                id="words that no prior can have",
            ),
            pytest.param(
                ["rows.csv", "--name", "makers", "--source", "ours", "--types", "lock,amr"],
                "--types has amr, no type of a private pattern or a query of smart-door; did you "
                "mean arm?\n",
                id="a type that the policy does not have",
            ),
            pytest.param(
                ["rows.csv", "--name", "makers", "--source", "ours", "--out", "rows.csv"],
                "rows.csv exists already; name a file that does not, as --out\n",
                id="a file that is there",
            ),
            pytest.param(
                ["row.csv", "--name", "M", "--source", "ours", "--types", "x", "--out", "rows.csv"],
                "there is no row.csv; did you mean rows.csv?\n"
                "--name is 'M'; a name is up to 64 small letters, digits, - and _, not starting "
                "with - or _\n"
                "--types has x, no type of a private pattern or a query of smart-door; allowed are "
                "arm, lock, low\n"
                "rows.csv exists already; name a file that does not, as --out\n",
                id="all faults at once",
            ),
        ],
    )
    @pytest.mark.usefixtures("here")
    def test_with_a_sentence(self, ppm: Ppm, arguments: list[str], said: str) -> None:
        run = ppm("prior", "--policy", POLICY, *arguments)
        assert (run.code, run.out, run.err) == (1, "", said)

    def test_if_there_are_too_many_types(self, ppm: Ppm, here: Path) -> None:
        events = ", ".join(f"t{number}: kind = '{number}'" for number in range(MOST_TYPES))
        edit(
            here / "consumers/heating.yaml",
            "{low: \"kind = 'low'\"}, sequence: low",
            f"{{low: \"kind = 'low'\", {events}}}, sequence: low",
        )
        run = ppm("prior", "rows.csv", "--policy", POLICY, "--name", "makers", "--source", "ours")
        assert run.code == 1
        assert run.err == (
            "smart-door has 15 types, and each may double the sets that are listed: choose at most "
            "12 with --types, those of one query together; there are arm, lock, low, t0, t1, t10, "
            "t11, t2, t3, t4, t5, t6, t7, t8, t9\n"
        )

    def test_with_file_and_line_of_a_fault_in_a_pattern(self, ppm: Ppm, here: Path) -> None:
        edit(here / "patterns/house-empty.yaml", "kind = 'armed'", "kinds = 'armed'")
        run = ppm("prior", "rows.csv", "--policy", POLICY, "--name", "makers", "--source", "ours")
        assert run.code == 1
        assert run.err.startswith("patterns/house-empty.yaml:5: events.arm.where reads the column ")


def history(*sets: frozenset[str]) -> History:
    return History(
        subjects=1,
        first=-len(sets),
        last=-1,
        together=dict.fromkeys(sets, 1),
        nulls=0,
    )


class TestWhatIsWritten:
    def test_slots_are_told_in_the_time_of_the_policy(self) -> None:
        text = counted_text(
            history(frozenset("a"), frozenset()), ["a"], STREAM, name="p", source="s"
        )
        read = parse(text, Prior, file="p.yaml").spec
        assert read.from_.isoformat() == "2025-12-31T23:00:00+01:00"
        assert read.until == STREAM.from_

    def test_the_longest_prior_can_be_read(self) -> None:
        types = [f"a_type_of_the_history_{number}" for number in range(MOST_TYPES)]
        sets = [
            frozenset(name for place, name in enumerate(types) if bits >> place & 1)
            for bits in range(2**MOST_TYPES - MOST_SETS, 2**MOST_TYPES)
        ]
        text = counted_text(history(*sets), types, STREAM, name="p", source="s")
        read = parse(text, Prior, file="p.yaml").spec
        assert {frozenset(row.types) for row in read.together} == set(sets)

    def test_more_sets_than_a_prior_holds_are_refused(self) -> None:
        types = [f"t{number}" for number in range(MOST_SETS + 1)]
        sets = [frozenset({name}) for name in types]
        with pytest.raises(PpmError) as refused:
            counted_text(history(*sets), types, STREAM, name="p", source="s")
        assert str(refused.value) == (
            "1001 sets of types occurred, too many for a prior (at most 1000, in 256 KiB); choose "
            "fewer types with --types"
        )


@pytest.mark.usefixtures("spark")
class TestOnSpark:
    def test_what_was_counted_is_what_predictions_use(self, ppm: Ppm, here: Path) -> None:
        # The policy names a prior that is still to be counted.
        text = (here / POLICY).read_text("utf-8").partition("prior:")[0]
        (here / POLICY).write_text(f"{text}prior: makers\n", "utf-8")
        assert "prior is makers, not a prior of priors/; there are none yet" in ppm("check").out
        run = ppm(
            *("prior", "rows.csv", "--policy", "smart-door", "--name", "makers"),
            *("--source", "the makers' own doors, with consent", "--out", "priors/makers.yaml"),
        )
        assert (run.code, run.out) == (0, "")
        assert run.err == (
            "4 sets of types in 9 slots of 2 subjects.\n"
            "2 sets occurred in one slot only, so with one subject.\n"
            "The file publishes this history: use data that is public, or whose people consented.\n"
        )
        assert (here / "priors/makers.yaml").read_text("utf-8") == COUNTED
        checked = ppm("check")
        assert checked.code == 0
        assert "no faults, 1 warning: 1 pattern, 1 policy, 2 consumers, 1 prior\n" in checked.out
        assert "priors/makers.yaml:4: warning: subjects is 2: a prior publishes" in checked.out
        explained = ppm("explain", POLICY, "--markdown").out
        assert (
            "with types as they came together in 9 slots of 2 subjects: the makers' own doors, "
            "with consent." in explained
        )

    @pytest.mark.usefixtures("here")
    def test_some_types_to_standard_output(self, ppm: Ppm) -> None:
        run = ppm(
            *("prior", "rows.csv", "--policy", POLICY, "--name", "makers", "--source", "ours"),
            *("--types", "lock,arm"),
        )
        assert run.code == 0
        read = parse(run.out, Prior, file="makers.yaml").spec
        assert read.of == ("lock", "arm")
        assert [(row.types, row.slots) for row in read.together] == [
            ((), 7),
            (("arm", "lock"), 1),
            (("lock",), 1),
        ]

    def test_the_live_stream_is_refused_without_its_values(self, ppm: Ppm, here: Path) -> None:
        (here / "rows.csv").write_text(f"{CSV}canary,2026-01-01T00:00:00Z,armed\n", "utf-8")
        run = ppm(
            *("prior", "rows.csv", "--policy", POLICY, "--name", "makers", "--source", "ours"),
            *("--out", "priors/makers.yaml"),
        )
        assert (run.code, run.out) == (1, "")
        assert run.err == (
            "1 row from stream.from, 2026-01-01T00:00:00+00:00, on: this is the live stream, and "
            "whatever is learnt from it tells of it beyond every epsilon; give history that ends "
            "before\n"
        )
        assert not (here / "priors").exists()

    def test_columns_of_another_name(self, ppm: Ppm, here: Path) -> None:
        (here / "rows.csv").write_text(CSV.replace("door,at", "gate,when"), "utf-8")
        words = ("prior", "rows.csv", "--policy", POLICY, "--name", "makers", "--source", "ours")
        run = ppm(*words)
        assert run.code == 1
        assert run.err.startswith("stream.subject is door, which the input does not have")
        assert ppm(*words, "--subject", "gate", "--time", "when").code == 0
