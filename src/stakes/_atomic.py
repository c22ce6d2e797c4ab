"""Files and folders that are complete or absent, even if the process that writes them is killed."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import IO

__all__ = ["PARTIAL", "complete_file", "complete_folder", "is_stream", "open_stream", "write_atomically"]

# How the names of unfinished files and folders end; they begin with a dot and the name of the file to be.
PARTIAL = ".partial"
STANDARD_OUTPUT = Path("-")


def is_stream(path: Path) -> bool:
    """Return whether a path is standard output (-), a device or a pipe, which is written to and never replaced."""
    numbered = path.parent in (Path("/dev/fd"), Path("/proc/self/fd")) or path == Path("/dev/stdout")
    return path == STANDARD_OUTPUT or numbered or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open standard output, a device or a pipe to write to."""
    if path == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with open(path, "wb") as file:
            yield file


@contextmanager
def complete_file(path: Path) -> Iterator[Path]:
    """Give the path of an unfinished file, which becomes `path` when the block ends without an error.

    Links are followed. Devices and pipes are refused: they would be replaced by a file. A new file has the permissions
    of any that the user makes, and one that is written again keeps its own.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it exists and is not a file", str(path))
    unfinished = path.with_name(f".{path.name}.{token_hex(4)}{PARTIAL}")
    unfinished.touch(exist_ok=False)
    try:
        yield unfinished
        with open(unfinished, "rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, unfinished)
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def complete_folder(path: Path) -> Iterator[Path]:
    """Give an empty folder, which takes the place of `path` when the block ends without an error.

    Where it cannot, what was there before is put back.
    """
    path = path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.", suffix=PARTIAL) as directory:
        new, old = Path(directory) / "new", Path(directory) / "old"
        new.mkdir()
        yield new
        try:
            if path.exists():
                os.replace(path, old)
            os.replace(new, path)
        except BaseException:
            if old.exists() and not path.exists():
                os.replace(old, path)
            raise


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file as a whole, or not at all."""
    with complete_file(path) as unfinished:
        unfinished.write_bytes(content)
