"""The directory of a study: finished units, one file each, which a later run does not compute again."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from stakes._atomic import PARTIAL, write_atomically
from stakes.exceptions import StudyError

__all__ = ["Store"]

CONFIG = "study.json"
LOCK = "study.lock"
UNITS = "units"
# What is written next to these.
FILES = (CONFIG, "results.parquet", "leaderboard.csv", "summary.json", "report.html", "best.skops", "source.json")


class Store:
    """The directory of a study, made if it is not there.

    `config` is what the study is asked to do and on which data; a directory made for something else is refused.
    """

    def __init__(self, directory: Path, config: dict[str, Any]) -> None:
        self.directory = directory
        self.config: dict[str, Any] = json.loads(json.dumps(config))

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
        lock = FileLock(self.directory / LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise StudyError(
                f"another study is running in {self.directory}: wait for it, or choose another --out"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def _check_config(self) -> None:
        path = self.directory / CONFIG
        if not path.exists():
            write_atomically(path, self._config_text.encode())
            return
        try:
            found = json.loads(path.read_text())
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise StudyError(f"{path} cannot be read: remove {self.directory}, or choose another --out")
        changed = sorted(key for key in {*found, *self.config} if found.get(key) != self.config.get(key))
        if changed:
            raise StudyError(
                f"{self.directory} holds a study with another {' and '.join(changed)}: choose another --out, or repeat "
                "that study's command to go on with it"
            )

    @property
    def _config_text(self) -> str:
        return json.dumps(self.config, indent=1, sort_keys=True)

    def _sweep(self) -> None:
        """Remove the unfinished files of a study that was killed, and nothing else that may be in the directory."""
        left = [path for name in FILES for path in self.directory.glob(f".{name}.*{PARTIAL}")]
        for path in [*left, *(self.directory / UNITS).glob(f".*{PARTIAL}")]:
            path.unlink(missing_ok=True)

    def add(self, key: str, results: pl.DataFrame, model: bytes | None = None) -> None:
        """Add the results of a finished unit, and its model; the names of the files tell what must be in them."""
        if model is not None:  # first: where there are results, there is the model
            self._add(key, "skops", model)
        self._add(key, "parquet", _parquet(results))

    def _add(self, key: str, kind: str, content: bytes) -> None:
        write_atomically(self.directory / UNITS / f"{key}.{self._digest(key, content)}.{kind}", content)

    def read(self, key: str) -> pl.DataFrame | None:
        """Return the results of a unit; None if it is not finished."""
        content = self._read(key, "parquet")
        return None if content is None else pl.read_parquet(io.BytesIO(content))

    def read_model(self, key: str) -> bytes | None:
        """Return the model of a unit, as the content of a model file; None if it was not kept."""
        return self._read(key, "skops")

    def _read(self, key: str, kind: str) -> bytes | None:
        """Return the content of a file; one that is damaged, or of another unit or another study, is removed."""
        for path in sorted((self.directory / UNITS).glob(f"{key}.*.{kind}")):
            found, digest = path.name.removesuffix(f".{kind}").rsplit(".", 1)
            if found != key:
                continue
            content = path.read_bytes()
            if self._digest(key, content) == digest:
                return content
            path.unlink()
        return None

    def keep_models(self, keys: Iterable[str]) -> None:
        """Remove the models of all other units."""
        kept = set(keys)
        for path in (self.directory / UNITS).glob("*.skops"):
            if path.name.removesuffix(".skops").rsplit(".", 1)[0] not in kept:
                path.unlink(missing_ok=True)

    def _digest(self, key: str, content: bytes) -> str:
        return hashlib.sha256(f"{self._config_text}\n{key}\n".encode() + content).hexdigest()[:16]

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
