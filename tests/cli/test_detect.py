"""`ppm detect`: matches in files, as a table and as JSON; refusals before Spark starts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import TextColumn

from ppm.cli.detect_report import Found, show
from ppm.cli.progress import Bar, bar
from ppm.errors import BindingError, InternalError, PpmError
from tests.cli.door import Ppm, Run, edit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CSV = """\
door,at,kind,watts
north,2026-01-05T08:00:00Z,locked,5
north,2026-01-05T08:04:00Z,armed,7.5
south,2026-01-05T08:01:00Z,locked,5
south,2026-01-05T09:30:00Z,armed,5
,2026-01-05T09:30:00Z,armed,5
"""
COLUMNS = ("--subject", "door", "--time", "at")


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
                "house-empty --input rows.csv",
                "--subject is needed: the column that says whose row it is\n"
                "--time is needed: the column that says when it happened\n",
                id="no columns",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --lateness soon",
                "--lateness is soon; a duration is needed, such as 30 s, 15 min, 2 h or 30 d\n",
                id="no duration",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --ignore-duplicates 1",
                "--ignore-duplicates is 1; a duration is needed, such as 30 s, 15 min, 2 h or "
                "30 d\n",
                id="no duration for duplicates",
            ),
            pytest.param(
                "house-empty --input folder --subject door --time at --stream",
                "--lateness is needed with --stream: how much later than newer rows a row may "
                "come, such as '10 min'\n",
                id="a stream without lateness",
            ),
            pytest.param(
                "house-emty --input rows.csv --subject door --time at",
                "house-emty is not a pattern of patterns/; did you mean house-empty?\n",
                id="a pattern that is not there",
            ),
            pytest.param(
                "patterns/none.yaml --input rows.csv --subject door --time at",
                "patterns/none.yaml cannot be read: No such file or directory\n",
                id="a pattern's file that is not there",
            ),
            pytest.param(
                "house-empty --input row.csv --subject door --time at",
                "there is no row.csv; did you mean rows.csv?\n",
                id="no input",
            ),
            pytest.param(
                "house-empty --input mixed --subject door --time at",
                "mixed holds csv and json; say which to read: --format parquet, json or csv\n",
                id="files of two formats",
            ),
            pytest.param(
                "house-empty --input rows.txt --subject door --time at",
                "rows.txt has files of another kind; say which to read: --format parquet, json "
                "or csv\n",
                id="a file of no known format",
            ),
            pytest.param(
                "house-empty --input empty --subject door --time at",
                "empty holds no files\n",
                id="an empty folder",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --measure peak",
                "--measure is peak; write a name, = and a value, such as "
                "'rise=last(b.price) - first(a.price)'\n",
                id="a measure without a value",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --measure n=1 --measure n=2",
                "two measures are called n; rename one of them\n",
                id="two measures of one name",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --output folder",
                "folder exists already; name a folder that does not, as --output\n",
                id="an output that is there",
            ),
            pytest.param(
                "house-empty --input rows.csv --subject door --time at --checkpoint c",
                "--checkpoint is where a stream goes on; it needs --stream\n",
                id="a checkpoint without a stream",
            ),
            pytest.param(
                "house-empty --input rows.csv --policy policies/smart-door.yaml --stream",
                "--stream reads a folder, file by file, and rows.csv is a file\n",
                id="a file as a stream",
            ),
            pytest.param(
                "house-empty --input rows.csv --policy policies/none.yaml",
                "policies/none.yaml cannot be read: No such file or directory\n",
                id="a policy that is not there",
            ),
            pytest.param(
                "trips nothing --input elsewhere",
                "trips: stages[0].group is a group of stages; the engine takes single event types "
                "only so far\n"
                "nothing is not a pattern of patterns/; allowed are house-empty, trips\n"
                "there is no elsewhere\n"
                "--subject is needed: the column that says whose row it is\n"
                "--time is needed: the column that says when it happened\n",
                id="all faults at once",
            ),
        ],
    )
    def test_with_a_sentence(self, ppm: Ppm, here: Path, arguments: str, said: str) -> None:
        for file in ("folder/rows.csv", "mixed/rows.csv", "mixed/rows.json", "rows.txt"):
            (here / file).parent.mkdir(exist_ok=True)
            (here / file).write_text(CSV, "utf-8")
        (here / "empty").mkdir()
        if "trips" in said:
            (here / "patterns/trips.yaml").write_text(
                "name: trips\nevents: {a: kind = 'a'}\nstages: [{group: [{event: a}]}]\n", "utf-8"
            )
        run = ppm("detect", *arguments.split())
        assert (run.code, run.out, run.err) == (1, "", said)

    def test_with_file_and_line_of_a_fault_in_a_pattern(self, ppm: Ppm, here: Path) -> None:
        edit(here / "patterns/house-empty.yaml", "within: 10 min", "within: 10 minutes")
        run = ppm("detect", "house-empty", "--input", "rows.csv", *COLUMNS)
        assert run.code == 1
        assert run.err.startswith("patterns/house-empty.yaml:7: within is '10 minutes'; a duration")

    def test_without_an_input_it_is_a_usage_error(self, ppm: Ppm) -> None:
        assert ppm("detect", "house-empty").code == 2


def test_without_java_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ppm.spark.session import refuse_old_java

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(PpmError, match=r"needs Java 17 or newer, and there is none in JAVA_HOME;"):
        refuse_old_java()


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        pytest.param(
            "Traceback\n  File x\nppm.errors.BindingError: 1 row without door; fill it\nand id"
            "\n\n\tat org.apache.spark.X\n",
            BindingError,
            "1 row without door; fill it\nand id",
            id="ours, from a worker",
        ),
        pytest.param(
            "[STREAM_FAILED] ... ppm.cep.columnar.remember.CheckpointError: the checkpoint is old"
            "\n SQLSTATE: 39000 SQLSTATE: XXKST",
            BindingError,
            "the checkpoint is old",
            id="ours, of another room",
        ),
        pytest.param(
            "ppm.errors.InternalError: a worker failed: KeyError in f\n",
            InternalError,
            "a worker failed: KeyError in f",
            id="a fault of ppm",
        ),
        pytest.param(
            "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] [canary,1]",
            PpmError,
            "rows.csv has lines that do not fit its columns; mend or remove them",
            id="a bad line, without its values",
        ),
        pytest.param(
            "[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: INT64 (TIMESTAMP(NANOS,false)).",
            PpmError,
            "rows.csv has a column that Spark cannot read, such as times in nanoseconds; write "
            "them in microseconds, with pandas by to_parquet(..., coerce_timestamps='us')",
            id="times in nanoseconds",
        ),
        pytest.param(
            "[CANNOT_X.Y] canary",
            PpmError,
            "Spark cannot go on with rows.csv (CANNOT_X.Y); the same command under PPM_DEBUG=1 "
            "shows why, maybe with values of rows",
            id="any other, by its name only",
        ),
    ],
)
def test_errors_of_spark_in_plain_words(text: str, kind: type[Exception], said: str) -> None:
    from pyspark.errors import PySparkException

    from ppm.spark.files import in_plain_words

    with pytest.raises(kind) as told, in_plain_words(Path("rows.csv")):
        raise PySparkException(text)
    assert str(told.value) == said


def shown(found: Found, width: int = 120) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width), found)
    return out.getvalue()


def match(**others: object) -> str:
    whole = {
        "door": "north",
        "pattern": "away",
        "kind": "match",
        "match_id": "1f",
        "start": "2026-01-05T23:30:00.000000Z",
        "end": "2026-01-06T00:10:00.500000Z",
        "at": "2026-01-06T00:10:00.500000Z",
        "stages": {
            "a": [{"time": "2026-01-05T23:30:00.000000Z"}],
            "b": [{"time": "2026-01-05T23:40:00.000000Z"}, {"time": "2026-01-06T00:10:00.500000Z"}],
        },
    }
    return json.dumps(whole | others)


class TestWhatIsShown:
    def test_days_that_differ_and_measures(self) -> None:
        found = Found([match(peak=7.5)], {("match", "away"): 1}, ["away"], {})
        assert shown(found) == (
            "  door   pattern  start                end                    stages"
            "                        peak\n"
            f"  {'─' * 94}\n"
            "  north  away     2026-01-05 23:30:00  2026-01-06 00:10:00.5  "
            "a 23:30:00 -> b 23:40:00 (2)   7.5\n"
            "\n"
            "times are in UTC\n"
            "1 match of away\n"
        )

    def test_times_are_those_of_the_policy(self) -> None:
        found = Found([match()], {("match", "away"): 1}, ["away"], {}, timezone="Europe/Oslo")
        text = shown(found)
        assert "2026-01-06 00:30:00  01:10:00.5  a 00:30:00 -> b 00:40:00 (2)" in text
        assert "times are in Europe/Oslo\n" in text

    def test_what_is_not_shown_is_counted(self) -> None:
        counts = {("match", "away"): 30, ("timed_out", "away"): 2, ("late", None): 4}
        found = Found([match()], counts, ["away", "home"], {"late": 4, "nulls": 1, "duplicates": 0})
        text = shown(found)
        assert "1 of 36 shown, the earliest; times are in UTC\n" in text
        assert "30 matches of away, 0 matches of home, 2 partial ones timed out\n" in text
        assert "left out: 4 late rows, 1 row without subject, time or id\n" in text

    def test_a_stream_says_what_it_holds_back(self) -> None:
        found = Found([], {}, ["away"], {}, watermark="2026-01-05T09:25:00.000Z", is_stream=True)
        assert shown(found).startswith(
            "0 matches of away\nThe watermark is 2026-01-05 09:25:00: what happened later is told"
        )

    def test_a_value_cannot_steer_the_terminal(self) -> None:
        found = Found([match(door="\x1b[31m")], {("match", "away"): 1}, ["away"], {})
        assert "\x1b" not in shown(found)


class TestTheBar:
    def test_is_not_there_where_stderr_is_no_terminal(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with bar() as shown:
            shown.say("finding")
            assert not shown.is_shown
        assert capsys.readouterr().err == ""

    def test_says_how_far_it_is(self) -> None:
        from ppm.spark.files import Progress

        out = io.StringIO()
        looks = TextColumn("{task.description} {task.fields[count]}")
        with RichProgress(looks, console=Console(file=out, force_terminal=True)) as rich:
            shown = Bar(rich)
            shown.say("finding")
            shown.watch(Progress(3, 8, "tasks"))
            rich.refresh()
        assert "finding 3 of 8 tasks" in out.getvalue()


@pytest.mark.usefixtures("spark")
class TestOnSpark:
    @pytest.mark.usefixtures("here")
    def test_a_table_of_a_csv_file(self, ppm: Ppm) -> None:
        run = ppm(
            *("detect", "house-empty", "--input", "rows.csv", *COLUMNS, "--on-null", "drop"),
            *("--measure", "rise=last(arm.watts) - last(lock.watts)", "--timed-out"),
        )
        assert (run.code, run.err) == (0, "")
        assert run.out == (
            "  door   pattern      kind       start                end       stages"
            "                         rise\n"
            f"  {'─' * 97}\n"
            "  north  house-empty  match      2026-01-05 08:00:00  08:04:00  "
            "lock 08:00:00 -> arm 08:04:00   2.5\n"
            "  south  house-empty  timed out  2026-01-05 08:01:00  08:01:00  "
            "lock 08:01:00                     -\n"
            "\n"
            "times are in UTC\n"
            "1 match of house-empty, 1 partial one timed out\n"
            "left out: 1 row without subject, time or id\n"
        )

    def test_a_row_without_subject_is_refused_in_one_sentence(self, ppm: Ppm, here: Path) -> None:
        run = ppm("detect", "house-empty", "--input", "rows.csv", *COLUMNS, "--output", "out")
        assert (run.code, run.out) == (1, "")
        assert run.err.startswith("1 row without door or at")
        assert "--on-null drop" in run.err
        assert run.err.count("\n") == 1
        assert not (here / "out").exists()

    def test_json_lines_with_a_policy(self, ppm: Ppm, here: Path) -> None:
        rows = [
            {"door": "north", "at": "2026-01-05T08:00:00+00:00", "kind": "locked", "watts": 5.0},
            {"door": "north", "at": "2026-01-05T08:04:00.5+00:00", "kind": "armed", "watts": 7.0},
        ]
        (here / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        run = ppm(
            *("detect", "patterns/house-empty.yaml", "--input", "rows.jsonl", "--json"),
            *("--policy", "policies/smart-door.yaml", "--columns", "kind,watts"),
        )
        assert (run.code, run.err) == (0, "")
        (line,) = run.out.splitlines()
        found = json.loads(line)
        assert len(found.pop("match_id")) == 32
        assert found == {
            "door": "north",
            "pattern": "house-empty",
            "kind": "match",
            "start": "2026-01-05T08:00:00.000000Z",
            "end": "2026-01-05T08:04:00.500000Z",
            "at": "2026-01-05T08:04:00.500000Z",
            "stages": {
                "lock": [{"time": "2026-01-05T08:00:00.000000Z", "kind": "locked", "watts": 5.0}],
                "arm": [{"time": "2026-01-05T08:04:00.500000Z", "kind": "armed", "watts": 7.0}],
            },
        }

    def test_a_stream_goes_on_where_it_stopped(
        self, ppm: Ppm, here: Path, spark: SparkSession
    ) -> None:
        def day(name: str, *lines: str) -> None:
            (here / "days").mkdir(exist_ok=True)
            text = "\n".join(["door,at,kind,watts", *lines, ""])
            (here / "days" / name).write_text(text, "utf-8")

        def attempt(output: str) -> Run:
            return ppm(
                *("detect", "house-empty", "--input", "days", "--stream"),
                *("--policy", "policies/smart-door.yaml", "--checkpoint", "mark"),
                *("--output", output),
            )

        def run(output: str) -> str:
            told = attempt(output)
            assert (told.code, told.err) == (0, "")
            return told.out

        day(
            "1.csv",
            "north,2026-01-05T08:00:00Z,locked,5",
            "north,2026-01-05T08:20:00Z,locked,5",
        )
        first = run("one")
        assert "0 matches of house-empty\n" in first
        assert "The watermark is 2026-01-05 08:15:00:" in first
        day(
            "2.csv",
            "north,2026-01-05T08:02:00Z,armed,5",
            "north,2026-01-05T08:24:00Z,armed,5",
            "north,2026-01-05T09:00:00Z,other,5",
        )
        second = run("two")
        assert "lock 08:20:00 -> arm 08:24:00" in second
        assert "1 match of house-empty\n" in second
        assert "left out: 1 late row\n" in second
        assert spark.read.parquet(str(here / "two")).count() == 1
        assert "0 matches of house-empty\n" in run("three")
        day("3.csv", "north,2026-01-05T10:00:00Z,locked,5")
        edit(here / "patterns/house-empty.yaml", "within: 10 min", "within: 12 min")
        refused = attempt("four")
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("the checkpoint was written for another query:")
        assert refused.err.count("\n") == 1

    def test_a_time_that_is_text_is_refused(self, ppm: Ppm, here: Path) -> None:
        (here / "rows.csv").write_text("door,at,kind\nnorth,5 past eight,locked\n", "utf-8")
        run = ppm("detect", "house-empty", "--input", "rows.csv", *COLUMNS)
        assert run.code == 1
        assert run.err == (
            "time is at, which rows.csv has as text, at least in some rows; write times like "
            "2026-03-02T07:00:00Z in every row, or store a timestamp column as parquet\n"
        )

    def test_a_line_that_does_not_fit_is_refused(self, ppm: Ppm, here: Path) -> None:
        (here / "rows.csv").write_text(f"{CSV}canary,2026-01-05T09:30:00Z\n", "utf-8")
        run = ppm("detect", "house-empty", "--input", "rows.csv", *COLUMNS, "--on-null", "drop")
        assert run.code == 1
        assert run.err == "rows.csv has lines that do not fit its columns; mend or remove them\n"
