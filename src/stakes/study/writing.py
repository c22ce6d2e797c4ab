"""Files of decisions: CSV or Parquet, or a folder of Parquet files, whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import polars as pl

from stakes._atomic import complete_file, complete_folder, is_stream, open_stream
from stakes.exceptions import StudyError
from stakes.study.dataset import PARQUET, open_records

__all__ = ["check_replaceable", "writing"]

# Records of one file in a folder of them.
PART = 1 << 20
# How texts begin that spreadsheets take for formulas; signed numbers, which come as texts from CSV files, are none.
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?$"

Write = Callable[[pl.DataFrame], object]


def check_replaceable(path: Path, columns: tuple[str, ...]) -> None:
    """Refuse to replace a file, or a folder with files in it, that has not these columns."""
    if is_stream(path) or not (any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size):
        return
    try:
        replaceable = set(columns) <= set(open_records(path).columns)
    except StudyError:
        replaceable = False
    if not replaceable:
        raise StudyError(f"--out {path} is there, and has no decisions in it: choose another name, or give --overwrite")


@contextmanager
def writing(path: Path, *, spreadsheet: bool = False, folder: bool = False) -> Iterator[Write]:
    """Yield a function that adds records to a file or a folder, which is there when the block ends without an error.

    With `spreadsheet`, texts in CSV files that a spreadsheet would take for formulas begin with an apostrophe.
    """
    try:
        if folder:
            with _writing_parts(path) as write:
                yield write
            return
        if is_stream(path):
            with open_stream(path) as file:
                yield _csv_writer(file, spreadsheet)
            return
        with complete_file(path) as unfinished:
            if path.suffix.lower() not in PARQUET:
                with open(unfinished, "wb") as file:
                    yield _csv_writer(file, spreadsheet)
                return
            # Parts, put together at the end: polars writes Parquet files in one go.
            with TemporaryDirectory(dir=unfinished.parent, prefix=f"{unfinished.name}.") as directory:
                parts = (Path(directory) / f"{i:09d}.parquet" for i in count())
                yield lambda frame: frame.write_parquet(next(parts), compression="uncompressed")
                pl.scan_parquet(sorted(Path(directory).iterdir()), glob=False).sink_parquet(unfinished)
    except BrokenPipeError:  # whoever was reading has enough
        raise
    except (OSError, pl.exceptions.PolarsError) as error:  # CSV files cannot hold lists and bytes
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        hint = "" if isinstance(error, OSError) else "; write to a .parquet file, or choose columns by --keep"
        raise StudyError(f"cannot write {path}: {why}{hint}") from None


@contextmanager
def _writing_parts(path: Path) -> Iterator[Write]:
    """Yield a function that adds records to a folder of Parquet files of about equal size."""
    waiting: list[pl.DataFrame] = []
    with complete_folder(path) as folder:
        parts = (folder / f"part-{i:05d}.parquet" for i in count())

        def write(frame: pl.DataFrame) -> None:
            waiting.append(frame)
            if sum(map(len, waiting)) >= PART:
                flush()

        def flush() -> None:
            if waiting:
                pl.concat(waiting).write_parquet(next(parts), compression="lz4")  # as fast as they are decided on
                waiting.clear()

        yield write
        flush()


def _csv_writer(file: IO[bytes], spreadsheet: bool) -> Write:
    """Return a function that adds records to a CSV file, the names of the columns before the first."""
    headers = chain([True], repeat(False))

    def write(frame: pl.DataFrame) -> None:
        # To memory first: polars writes to the number of a file, and would hide that a pipe was closed.
        written = (_without_formulas(frame) if spreadsheet else frame).write_csv(include_header=next(headers))
        file.write(written.encode())

    return write


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records in which no text begins as a formula of a spreadsheet does."""
    texts = pl.col(pl.String)
    runs = texts.str.contains(FORMULA) & ~texts.str.contains(NUMBER)
    marked = frame.with_columns(pl.when(runs).then(pl.lit("'") + texts).otherwise(texts).name.keep())
    return marked.rename({name: f"'{name}" for name in frame.columns if re.match(FORMULA, name)})
