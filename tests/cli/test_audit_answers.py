"""How `ppm audit` tells answers from rows."""

from __future__ import annotations

import numpy as np
import pytest

from ppm.audit.observation import Seen
from ppm.audit.stream import AuditedStream
from ppm.audit.stream_bounds import Measured, bounds
from ppm.cli.audit_stream_report import as_plain_stream, show_stream
from ppm.cli.output import console


@pytest.fixture
def stream() -> AuditedStream:
    """Rows that tell nothing, and answers that tell everything."""
    planted = np.arange(400) % 2 == 0
    rest = {"every": 0, "number": 0, "around": 0, "delays": 0, "lost": 0}
    nothing = bounds([Seen(own=0, **rest) for _ in planted], planted, alpha=1e-3)
    everything = bounds([Seen(own=bool(one), **rest) for one in planted], planted, alpha=1e-3)
    measured = (
        Measured(("friends",), "visit", 0.0, *nothing),
        Measured(("friends",), "visit", 1.0, *everything, consumer="app"),
    )
    return AuditedStream(400, ("visit",), ("friends",), measured, ())


def test_each_has_rows_of_its_own(
    stream: AuditedStream, capsys: pytest.CaptureFixture[str]
) -> None:
    show_stream(console(), stream)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    rows = lines.index(["friends"])
    answers = lines.index(["friends,", "by", "answers", "to", "app"])
    assert lines[rows + 1] == ["visit", "0", "0", "0", "holds"]
    assert lines[answers + 1][:2] == ["visit", "1"]
    assert lines[answers + 1][-1] == "exceeded"


def test_programs_are_told_the_consumer(stream: AuditedStream) -> None:
    plain = as_plain_stream(stream)
    assert isinstance(plain["measured"], list)
    assert [(one["consumer"], one["ok"]) for one in plain["measured"]] == [
        (None, True),
        ("app", False),
    ]
    assert plain["ok"] is False
