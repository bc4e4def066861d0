"""Files that a command leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ppm.errors import PpmError


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts below a folder, which is made if it is not there."""
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", newline="\n")
        except OSError as error:
            raise PpmError(f"{path} cannot be written: {error.strerror}") from None
