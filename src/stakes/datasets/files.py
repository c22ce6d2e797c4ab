"""Find and read a table of a dataset: Parquet, text, ZIP archives, OpenML."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from sklearn.datasets import fetch_openml

from stakes.table import table_of

__all__ = ["DataDir", "Table", "typed"]

DataDir = str | os.PathLike[str] | None

ENVIRONMENT_VARIABLE = "STAKES_DATA"


@dataclass(frozen=True)
class Table:
    """A table that users bring along: the file names it goes by, and where to get it.

    Columns of text come back stripped, with blanks (and the lone dots of SAS) as nulls.
    Letter case does not matter in file names; a ZIP archive holds one of the text files.
    """

    title: str  # for messages
    names: tuple[str, ...]  # of files, the preferred one first
    publisher: str  # where the original is published
    openml_id: int | None = None  # its number at OpenML
    hint: str = ""  # a further way out, for the message when there is no such file

    def read(self, data_dir: DataDir, columns: Sequence[str]) -> pl.DataFrame:
        """Read columns of the table from its file in `data_dir`, or in the directory that STAKES_DATA names."""
        path = self._find(data_dir)
        lazy = self._scan(path)
        _check_columns(lazy.collect_schema().names(), columns, f"{self.title} in {path}")
        return _tidy(lazy.select(columns).collect())

    def fetch(self, columns: Sequence[str], *, optional: Collection[str] = ()) -> pl.DataFrame:
        """Fetch columns of the table from OpenML; those in `optional` only if they are there."""
        if self.openml_id is None:
            raise ValueError(f"{self.title} needs openml_id: the number of a copy at OpenML")
        fetched = fetch_openml(data_id=self.openml_id, as_frame=True).frame
        required = [name for name in columns if name not in optional]
        _check_columns(fetched.columns, required, f"{self.title} at OpenML ({self.openml_id})")
        # Column by column: polars' own conversion needs pyarrow.
        table = table_of(fetched[[name for name in columns if name in fetched.columns]])
        named = zip(table.names, table, strict=True)
        return _tidy(pl.DataFrame({name: pl.Series(column, nan_to_null=True) for name, column in named}))

    def _scan(self, path: Path) -> pl.LazyFrame:
        kind = path.suffix.lower()
        if kind == ".parquet":
            return pl.scan_parquet(path)
        # Types are known from the dataset, not guessed from a file.
        return pl.scan_csv(self._unzipped(path) if kind == ".zip" else path, infer_schema=False)

    def _unzipped(self, path: Path) -> bytes:
        texts = [name for name in self.names if name.endswith((".csv", ".txt"))]
        with zipfile.ZipFile(path) as archive:
            for member in archive.namelist():
                if Path(member).name.lower() in map(str.lower, texts):
                    return archive.read(member)
            raise ValueError(f"{path} holds {', '.join(archive.namelist())}, but no {' or '.join(texts)}")

    def _find(self, data_dir: DataDir) -> Path:
        folder = data_dir or os.environ.get(ENVIRONMENT_VARIABLE)
        present = {path.name.lower(): path for path in Path(folder).glob("*")} if folder else {}
        for name in self.names:
            if name.lower() in present:
                return present[name.lower()]
        looked = f"in {Path(folder).resolve()}" if folder else "anywhere, for lack of a directory"
        openml = f" Or fetch it with source='openml' (data set {self.openml_id})." if self.openml_id else ""
        raise FileNotFoundError(
            f"{self.title}: no file {' or '.join(self.names)} {looked}. Get it from {self.publisher}, and say where "
            f"it is by data_dir= or the environment variable {ENVIRONMENT_VARIABLE}.{openml}{self.hint}"
        )


def typed(frame: pl.DataFrame, categories: Sequence[str], whole: Sequence[str] = ()) -> pl.DataFrame:
    """Return a frame of categories, in alphabetical order, and of numbers, some of which are whole."""
    text = frame.select(pl.col(categories).cast(pl.String))
    as_categories = [column.cast(pl.Enum(column.drop_nulls().unique().sort())) for column in text]
    # All through floats: text such as "3.0" is a whole number too.
    return frame.with_columns(*as_categories, pl.exclude(categories).cast(pl.Float64)).cast(
        dict.fromkeys(whole, pl.Int64)
    )


def _check_columns(present: Collection[str], wanted: Sequence[str], where: str) -> None:
    missing = [name for name in wanted if name not in present]
    if missing:
        raise ValueError(f"{where} lacks {len(missing)} of the {len(wanted)} columns needed: {', '.join(missing)}")


def _tidy(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col(pl.String).str.strip_chars().replace(["", "."], None))
