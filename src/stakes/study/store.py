"""Results that last: a directory to which finished units are added, one file each, never half of one."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from stakes.atomic import write_atomically
from stakes.exceptions import StudyError

__all__ = ["Store"]

CONFIG = "study.json"
LOCK = "study.lock"
UNITS = "units"


class Store:
    """The directory of a study.

    Parameters
    ----------
    directory : Path
        Made if it is not there.
    config : dict
        What the study is asked to do and on which data; a directory made for something else is refused.
    """

    def __init__(self, directory: Path, config: dict[str, Any]) -> None:
        self.directory = directory
        self.config = config

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """Check or make the directory, and keep other studies out of it."""
        try:
            (self.directory / UNITS).mkdir(parents=True, exist_ok=True)
            with self._locked():
                self._check_config()
                self._sweep()
                yield self
        except OSError as error:
            raise StudyError(
                f"cannot write to {self.directory}: {error.strerror or error}; what was finished is kept, and the same "
                "command goes on from there"
            ) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The operating system releases the lock when the process ends, however it ends.
        with open(self.directory / LOCK, "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StudyError(
                    f"another study is running in {self.directory}: wait for it, or choose another --out"
                ) from None
            yield

    def _check_config(self) -> None:
        path = self.directory / CONFIG
        asked = json.loads(json.dumps(self.config))
        if not path.exists():
            write_atomically(path, json.dumps(asked, indent=1, sort_keys=True).encode())
            return
        try:
            found = json.loads(path.read_text())
        except (ValueError, UnicodeDecodeError):
            raise StudyError(f"{path} cannot be read: remove {self.directory}, or choose another --out") from None
        changed = sorted(key for key in {*found, *asked} if found.get(key) != asked.get(key))
        if changed:
            raise StudyError(
                f"{self.directory} holds a study with another {' and '.join(changed)}: choose another --out, or repeat "
                "that study's command to go on with it"
            )

    def _sweep(self) -> None:
        """Remove what writers that were killed have left behind."""
        for left in [*self.directory.glob(".*"), *(self.directory / UNITS).glob(".*")]:
            left.unlink(missing_ok=True)

    def add(self, key: str, results: pl.DataFrame) -> None:
        """Add the results of a finished unit; the name of its file tells what must be in it."""
        content = _parquet(results)
        write_atomically(self.directory / UNITS / f"{key}.{_digest(content)}.parquet", content)

    def read(self, key: str) -> pl.DataFrame | None:
        """Return the results of a unit; None if it is not finished. A damaged file is removed."""
        for path in sorted((self.directory / UNITS).glob(f"{key}.*.parquet")):
            found, digest = path.name.removesuffix(".parquet").rsplit(".", 1)
            if found != key:
                continue
            content = path.read_bytes()
            if _digest(content) == digest:
                return pl.read_parquet(io.BytesIO(content))
            path.unlink()
        return None

    def write_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Write a table of the study."""
        self.write(name, _parquet(frame))

    def write(self, name: str, content: bytes) -> Path:
        """Write another file of the study."""
        write_atomically(self.directory / name, content)
        return self.directory / name


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
