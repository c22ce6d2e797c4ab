"""The directory of a study: finished units, one file each, which a later run does not compute again.

A study writes into a directory that is new, empty, or marked as its own by its configuration. It replaces and removes
only what it wrote: the names of units tell what must be in them, and a list has the digests of all other files.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
from filelock import FileLock, Timeout

from stakes._atomic import PARTIAL, write_atomically
from stakes.exceptions import StudyError

__all__ = ["BINS", "BINS_MARK", "GOES_ON", "Store", "check_own", "parquet_of", "write_own"]

GOES_ON = "what is finished is kept, and the same command goes on from there"

CONFIG = "study.json"
LOCK = "study.lock"
UNITS = "units"
# Where records are that do not go into memory.
BINS, BINS_MARK = "bins", "data.json"
# The files that were written next to these, with the digests of their content.
WRITTEN = "written.json"
# A file that was not finished, with the random letters of `tempfile`; and the file of a unit.
UNFINISHED = re.compile(rf"\.(?P<name>.+)\.[a-z0-9_]{{8}}{re.escape(PARTIAL)}")
UNIT = re.compile(r"(?P<key>.+)\.(?P<digest>[0-9a-f]{16})\.(?P<kind>parquet|skops)")


def check_own(directory: Path) -> None:
    """Refuse a directory with files in it that is not that of a study."""
    if not directory.is_dir() or (directory / CONFIG).exists():
        return
    for path in directory.iterdir():
        unfinished = UNFINISHED.fullmatch(path.name)
        begun = unfinished is not None and unfinished["name"] in (CONFIG, BINS)
        if not begun and path.name != LOCK and not (path.name == BINS and (path / BINS_MARK).exists()):
            raise StudyError(
                f"{directory} has files that are not of a study, such as {path.name}: choose another --out, which is "
                "new or empty"
            )


class Store:
    """The directory of a study, made if it is not there.

    `config` is what the study is asked to do and on which data; a directory made for something else is refused.
    """

    def __init__(self, directory: Path, config: dict[str, Any]) -> None:
        self.directory = directory
        self._config_text = json.dumps(config, indent=1, sort_keys=True)

    @contextmanager
    def opened(self) -> Iterator[Store]:
        """Check or make the directory, and keep other studies out of it."""
        try:
            check_own(self.directory)
            self.directory.mkdir(parents=True, exist_ok=True)
            # The operating system releases the lock when the process ends, however it ends.
            with FileLock(self.directory / LOCK, timeout=0):
                self._check_config()
                (self.directory / UNITS).mkdir(exist_ok=True)
                self._sweep()
                yield self
        except Timeout:
            raise StudyError(
                f"another study is running in {self.directory}: wait for it, or choose another --out"
            ) from None
        except OSError as error:
            raise StudyError(f"cannot write to {self.directory}: {error.strerror or error}; {GOES_ON}") from error

    def _check_config(self) -> None:
        path, asked = self.directory / CONFIG, json.loads(self._config_text)
        if not path.exists():
            write_atomically(path, self._config_text.encode())
            return
        try:
            found = json.loads(path.read_text())
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise StudyError(f"{path} cannot be read: remove {self.directory}, or choose another --out")
        changed = sorted(key for key in {*found, *asked} if found.get(key) != asked.get(key))
        if changed:
            raise StudyError(
                f"{self.directory} holds a study with another {' and '.join(changed)}: choose another --out, or repeat "
                "that study's command to go on with it"
            )

    def _sweep(self) -> None:
        """Remove the unfinished files of a study that was killed, and nothing else that may be in the directory."""
        own = {BINS, CONFIG, WRITTEN, *_written(self.directory)}
        for folder in (self.directory, self.directory / UNITS):
            for path in folder.iterdir():
                found = UNFINISHED.fullmatch(path.name)
                if found and (found["name"] in own if folder == self.directory else UNIT.fullmatch(found["name"])):
                    if found["name"] == BINS and path.is_dir():
                        shutil.rmtree(path, ignore_errors=True)
                    elif path.is_file():
                        path.unlink(missing_ok=True)

    def add(self, key: str, results: pl.DataFrame, model: bytes | None = None) -> None:
        """Add the results of a finished unit, and its model; the names of the files tell what must be in them."""
        if model is not None:  # first: where there are results, there is the model
            self._add(key, "skops", model)
        self._add(key, "parquet", parquet_of(results))

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
        """Return the content of a file; one that is damaged, or of another unit or another study, is passed over."""
        return next((content for *_, content in self._units(kind, {key})), None)

    def keep_models(self, keys: Iterable[str]) -> None:
        """Remove the models of all other units."""
        kept = set(keys)
        for path, key, _ in self._units("skops"):
            if key not in kept:
                path.unlink(missing_ok=True)

    def _units(self, kind: str, keys: Container[str] | None = None) -> Iterator[tuple[Path, str, bytes]]:
        """Yield the files of units that this study wrote, with their keys and contents; those of `keys` if given."""
        for path in sorted((self.directory / UNITS).iterdir()):
            name = UNIT.fullmatch(path.name)
            if name and name["kind"] == kind and (keys is None or name["key"] in keys):
                content = path.read_bytes()
                if self._digest(name["key"], content) == name["digest"]:
                    yield path, name["key"], content

    def _digest(self, key: str, content: bytes) -> str:
        return hashlib.sha256(f"{self._config_text}\n{key}\n".encode() + content).hexdigest()[:16]

    def write(self, name: str, content: bytes) -> Path:
        """Write another file of the study."""
        return write_own(self.directory, name, content)


def write_own(directory: Path, name: str, content: bytes) -> Path:
    """Write a file of a study, and refuse to replace one of that name that no study wrote."""
    path, written = directory / name, _written(directory)
    present = _sha(path.read_bytes()) if path.exists() else None
    if present is not None and present not in written.get(name, []):
        raise StudyError(
            f"{path} was not written by the study, or was changed since: move it away, and the same command goes on"
        )
    # First, and with the digest of what is there: a process can be killed between the two.
    written[name] = sorted({present or _sha(content), _sha(content)})
    write_atomically(directory / WRITTEN, json.dumps(written, indent=1, sort_keys=True).encode())
    write_atomically(path, content)
    return path


def _written(directory: Path) -> dict[str, list[str]]:
    """Return the digests of the files that were written to the directory of a study."""
    try:
        found = json.loads((directory / WRITTEN).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) and all(isinstance(each, list) for each in found.values()) else {}


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def parquet_of(frame: pl.DataFrame) -> bytes:
    """Return a table as the content of a Parquet file."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
