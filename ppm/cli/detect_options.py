"""What `ppm detect` was asked for, read and refused before Spark starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ppm.cep.support import refuse_unsupported
from ppm.errors import PpmError, SpecError, did_you_mean
from ppm.spec.load import SUFFIXES, parse
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy
from ppm.spec.values import Duration
from ppm.spec.zone import Zone

PATTERNS = Path("patterns")


@dataclass(slots=True)
class Faults:
    """Everything that is wrong, told at once."""

    said: list[str] = field(default_factory=list)

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Keep what is refused here, and go on."""
        try:
            yield
        except PpmError as error:
            self.said.append(str(error))

    def refuse(self) -> None:
        """One error with all faults, if there are any."""
        if self.said:
            raise PpmError("\n".join(self.said))


@dataclass(frozen=True, slots=True)
class Binding:
    """Which columns are what, and how time is read; from options, else from a policy."""

    subject: str
    time: str
    event_id: str | None
    lateness: str | Duration | None
    on_null: Literal["refuse", "drop"]
    timezone: str
    zones: Mapping[str, Zone]


def read_binding(
    policy: Path | None,
    *,
    subject: str | None,
    time: str | None,
    event_id: str | None,
    lateness: str | None,
    on_null: Literal["refuse", "drop"] | None,
    is_stream: bool,
) -> Binding:
    """Options go first; what they leave open is the policy's."""
    declared = parse(_content(policy), Policy, file=str(policy)).spec if policy else None
    stream = declared.stream if declared else None
    column = subject or (stream.subject if stream else None)
    when = time or (stream.time if stream else None)
    delay = lateness or (stream.lateness if stream else None)
    faults = Faults()
    if column is None:
        faults.said.append("--subject is needed: the column that says whose row it is")
    if when is None:
        faults.said.append("--time is needed: the column that says when it happened")
    if is_stream and delay is None:
        faults.said.append(
            "--lateness is needed with --stream: how much later than newer rows a row may come, "
            "such as '10 min'"
        )
    if lateness is not None and lateness != "0 s":  # rows that come in order
        with faults.gathered():
            refuse_duration("--lateness", lateness)
    faults.refuse()
    assert column is not None
    assert when is not None
    return Binding(
        column,
        when,
        event_id or (stream.event_id if stream else None),
        delay,
        on_null or (stream.on_null if stream else "refuse"),
        stream.timezone if stream else "UTC",
        stream.zones if stream else {},
    )


def refuse_duration(option: str, written: str | None) -> None:
    """What is no length of time."""
    if written is None:
        return
    try:
        Duration.parse(written)
    except ValueError as error:
        raise PpmError(f"{option} is {written}; {error}") from None


def read_patterns(words: Sequence[str]) -> list[Pattern]:
    """Patterns by file or by name; every fault of every file at once."""
    faults = Faults()
    found: list[Pattern] = []
    for word in dict.fromkeys(words):
        with faults.gathered():
            one = _pattern(word)
            refuse_unsupported(one)
            if any(one.name == other.name for other in found):
                raise PpmError(f"two patterns are called {one.name}; name one of them")
            found.append(one)
    faults.refuse()
    return found


def _pattern(word: str) -> Pattern:
    path = Path(word)
    if path.is_file() or path.suffix in SUFFIXES or len(path.parts) > 1:
        return parse(_content(path), Pattern, file=word).spec
    named: dict[str, Pattern] = {}
    unread: dict[str, SpecError] = {}
    for file in _yaml_files(PATTERNS):
        try:
            spec = parse(_content(file), Pattern, file=str(file)).spec
            named[spec.name] = spec
        except SpecError as error:
            unread[file.stem] = error
    if word in named:
        return named[word]
    if word in unread:
        raise unread[word]
    where = f"a pattern of {PATTERNS}/" if named else f"a file, and there is no {PATTERNS}/ here"
    raise PpmError(f"{word} is not {where}{did_you_mean(word, sorted(named))}")


def _yaml_files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.suffix in SUFFIXES]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PpmError(f"{path} cannot be read: {error.strerror}") from None


def read_measures(words: Sequence[str]) -> dict[str, str]:
    """`rise=last(b.price) - first(a.price)`: a name, and what it means."""
    measures: dict[str, str] = {}
    for word in words:
        name, sign, value = (part.strip() for part in word.partition("="))
        if not (sign and value and name.isidentifier()):
            raise PpmError(
                f"--measure is {word}; write a name, = and a value, such as "
                "'rise=last(b.price) - first(a.price)'"
            )
        if name in measures:
            raise PpmError(f"two measures are called {name}; rename one of them")
        measures[name] = value
    return measures


def refuse_places(
    *, source: Path, output: Path | None, checkpoint: Path | None, is_stream: bool
) -> None:
    """Folders that cannot serve as what they were named for."""
    faults = Faults()
    if is_stream and source.is_file():
        faults.said.append(f"--stream reads a folder, file by file, and {source} is a file")
    if output is not None and output.exists():
        faults.said.append(f"{output} exists already; name a folder that does not, as --output")
    if checkpoint is not None and not is_stream:
        faults.said.append("--checkpoint is where a stream goes on; it needs --stream")
    if checkpoint is not None and checkpoint.is_file():
        faults.said.append(f"{checkpoint} is a file; name a folder as --checkpoint")
    faults.refuse()
