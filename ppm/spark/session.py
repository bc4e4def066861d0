"""A Spark of one's own: local, quiet, and gone when the work is done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from ppm.errors import PpmError

OLDEST_JAVA = 17
_SETTINGS = {
    "spark.app.name": "ppm",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@contextmanager
def local_session() -> Iterator[SparkSession]:
    """The running Spark; else one on this machine's cores, which is stopped in the end."""
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    refuse_old_java()
    session = _started()
    try:
        yield session
    finally:
        session.stop()


def refuse_old_java() -> None:
    """Spark needs Java, and says so in twenty lines; this is one sentence."""
    home = os.environ.get("JAVA_HOME")
    found = _java_version(str(Path(home, "bin", "java")) if home else "java")
    if found is not None and found >= OLDEST_JAVA:
        return
    where = " in JAVA_HOME" if home else ""
    raise PpmError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and there is "
        f"{'none' if found is None else f'Java {found}'}{where}; install it with 'sudo apt install "
        "default-jre-headless' (Debian, Ubuntu) or 'brew install --cask temurin@21' (macOS)"
    )


def _java_version(java: str) -> int | None:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr)
    return int(found[1]) if found else None


def _started() -> SparkSession:
    cores = os.cpu_count() or 1
    conf = SparkConf().setMaster(f"local[{cores}]")
    conf.setAll([*_SETTINGS.items(), ("spark.sql.shuffle.partitions", str(max(2, cores)))])
    # Spark starts its Python workers from PATH, which need not be this environment.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Java warns before its log level is read, and a failing worker's traceback shows rows.
    is_watched = os.environ.get("PPM_DEBUG") == "1"
    kwargs = {} if is_watched else {"stderr": subprocess.DEVNULL}
    try:
        gateway = launch_gateway(conf, popen_kwargs=kwargs)  # type: ignore[no-untyped-call]
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except PySparkException:
        raise PpmError(
            "Spark did not start; the same command under PPM_DEBUG=1 shows what it says"
        ) from None
