"""Where records come from: one file, or many Parquet files in a folder, by a pattern, or in an object store.

The files of a data set have the same columns, in types that can be made one. Folders such as ``day=2024-05-01`` are
columns, too (hive partitions).
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from polars import selectors

from stakes._forks import refuse_if_forked
from stakes.exceptions import StudyError
from stakes.study.files import CsvFile, is_parquet, kind_of, readable, with_records

__all__ = ["Dataset", "before_pattern", "is_pattern", "is_url", "open_records"]

PARQUET = (".parquet", ".pq")
# What begins like this was left in a folder by the program that wrote it.
NOT_DATA = ("_", ".")
# The value of a hive partition that stands for a missing one.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Records are read by so many, because polars writes Parquet files in groups of so many.
GROUP = 1 << 18
URL = re.compile(r"[a-z][a-z0-9+]+://", re.IGNORECASE)


def is_url(path: str | Path) -> bool:
    """Return whether a path is in an object store."""
    return URL.match(str(path)) is not None


def is_pattern(path: str | Path) -> bool:
    """Return whether a path is a pattern: what exists is a name, with brackets and all."""
    return glob.has_magic(str(path)) and not Path(path).exists() and not is_url(path)


def before_pattern(path: str | Path) -> Path:
    """Return the folder in which a pattern begins; any other path as it is."""
    parts = Path(path).parts
    magic = [i for i, part in enumerate(parts) if glob.has_magic(part)] if is_pattern(path) else []
    return Path(*parts[: magic[0]]).absolute() if magic else Path(path)


def open_records(path: str | Path) -> CsvFile | Dataset:
    """Return the records of a file, a folder, a pattern or an object store, of which nothing is read yet."""
    refuse_if_forked(f"reading {Path(path).name}")
    if is_url(path):
        return Dataset(str(path).rstrip("/").rsplit("/", 1)[-1], [_Part(str(path), {})], [])
    path = Path(path)
    if path.is_dir():
        found = [each for each in sorted(path.rglob("*")) if each.is_file() and _is_data(each.relative_to(path))]
        root = path
    elif is_pattern(path):
        matching = [Path(each) for each in sorted(glob.glob(str(path.absolute()), recursive=True))]
        found = [each for each in matching if each.is_file()]
        found += [each for folder in matching if folder.is_dir() for each in sorted(folder.rglob("*.parquet"))]
        root = before_pattern(path)
        if not found:
            raise StudyError(f"no file is called like {path}")
    elif is_parquet(path):
        return Dataset(path.name, [_Part(str(path), {})], [path], is_folder=False)
    else:
        return CsvFile(path)
    if not found:
        raise StudyError(f"the folder {path} has no Parquet files")
    paths = [path] if path.is_dir() else found
    return Dataset(path.absolute().name, [_Part.of(each, root) for each in found], paths)


def _is_data(path: Path) -> bool:
    return path.suffix.lower() in PARQUET and not any(part.startswith(NOT_DATA) for part in path.parts)


@dataclass(frozen=True)
class _Part:
    """A file of a data set, with the columns that its folders stand for; what it says of itself is read once."""

    path: str
    values: dict[str, str]

    @classmethod
    def of(cls, path: Path, root: Path) -> _Part:
        named = [unquote(part).split("=", 1) for part in path.relative_to(root).parts[:-1] if "=" in part]
        return cls(str(path), dict(named))

    @cached_property
    def schema(self) -> dict[str, Any]:
        with readable(self.path):
            return dict(self._scan().collect_schema())

    def _scan(self) -> pl.LazyFrame:
        # Where there is no list of the files, polars finds them, and the columns of their folders.
        return pl.scan_parquet(self.path, glob=is_url(self.path), hive_partitioning=is_url(self.path))

    @cached_property
    def n_records(self) -> int:
        with readable(self.path):
            return int(self._scan().select(pl.len()).collect().item())

    def scan(self, columns: dict[str, Any], of_folders: dict[str, Any]) -> pl.LazyFrame:
        """Return the records with some columns, in the types given."""
        own = self.schema
        made = [
            _cast(selectors.by_name(name), own[name], wanted).alias(name)
            if name in own
            else pl.lit(_value(self.values[name], of_folders[name]), dtype=wanted).alias(name)
            for name, wanted in columns.items()
        ]
        return self._scan().select(made)


class Dataset:
    """Records in Parquet files of the same columns; `paths` are the folder or the files that were asked for."""

    def __init__(self, name: str, parts: list[_Part], paths: list[Path], *, is_folder: bool = True) -> None:
        self.name = name
        self.parts = parts
        self.paths = paths
        self.is_folder = is_folder  # and no single file

    @cached_property
    def _of_folders(self) -> dict[str, Any]:
        """The types of the columns that folders stand for, but for those that the files have themselves."""
        values: dict[str, list[str]] = {}
        for part in self.parts:
            for name, value in part.values.items():
                if name not in part.schema:
                    values.setdefault(name, []).append(value)
        return {name: _type_of(given) for name, given in values.items()}

    @cached_property
    def columns(self) -> list[str]:
        """The names of the columns: those of the files, and then those that folders stand for."""
        return list(dict.fromkeys([name for part in self.parts for name in part.schema] + list(self._of_folders)))

    def _types(self, without: Iterable[str]) -> dict[str, Any]:
        """Return one type for each column, but for some, or say which two files disagree."""
        found, left_out = {}, set(without)
        for name in self.columns:
            if name in left_out:
                continue
            agreed, of_first = None, self.parts[0]
            for part in self.parts:
                own = part.schema
                if name not in own and name not in part.values:
                    raise StudyError(
                        f"{part.path} has no column {name!r}, which other files of {self.name} have: write it there, "
                        "or leave it out by --drop"
                    )
                dtype = own[name] if name in own else self._of_folders[name]
                both = dtype if agreed is None else _one_type(agreed, dtype)
                if both is None:
                    raise StudyError(
                        f"column {name!r} is {_words(dtype)} in {part.path}, and {_words(agreed)} in {of_first.path}: "
                        "write it in one type, or leave it out by --drop"
                    )
                if both != agreed and both == dtype:
                    of_first = part
                agreed = both
            found[name] = agreed
        return found

    def __len__(self) -> int:
        return sum(part.n_records for part in self.parts)

    def read(self, without: Iterable[str] = ()) -> pl.DataFrame:
        """Return all records, but for some columns."""
        types = self._types(without)
        frames = []
        for part in self.parts:
            with readable(part.path):
                frames.append(part.scan(types, self._of_folders).collect())
        return with_records(pl.concat(frames), self.name)

    def batches(self, size: int, without: Iterable[str] = (), only: int | None = None) -> Iterator[pl.DataFrame]:
        """Return the records some at a time, but for some columns, in the order of the files; or those of one file."""
        types = self._types(without)
        for part in self.parts if only is None else [self.parts[only]]:
            with readable(part.path):
                records = part.scan(types, self._of_folders)
                for start in range(0, part.n_records, GROUP):
                    yield from records.slice(start, GROUP).collect().iter_slices(size)


# Types


def _one_type(first: Any, second: Any) -> Any:
    """Return a type that has the values of two; None if there is none."""
    if first == second or second == pl.Null:
        return first
    if first == pl.Null:
        return second
    kinds = {kind_of(first), kind_of(second)}
    if kinds == {"number"}:
        exact = all(dtype.is_integer() and dtype not in (pl.UInt64, pl.Int128, pl.UInt128) for dtype in (first, second))
        return pl.Int64() if exact else pl.Float64()
    if kinds == {"text"}:
        return pl.String()
    zones = [getattr(dtype, "time_zone", None) for dtype in (first, second)]
    if kinds <= {"date", "datetime"} and (zones[0] is None) == (zones[1] is None):
        return pl.Datetime("us", None if zones[0] is None else "UTC")
    return None


def _cast(column: pl.Expr, dtype: Any, wanted: Any) -> pl.Expr:
    if dtype == wanted:
        return column
    if getattr(dtype, "time_zone", None) is not None:
        column = column.dt.convert_time_zone("UTC")
    return column.cast(wanted)


def _words(dtype: Any) -> str:
    kind = kind_of(dtype)
    return f"of type {dtype}" if kind is None else "text" if kind == "text" else f"a {kind}"


def _type_of(values: list[str]) -> Any:
    """Return the type of the names of folders: whole numbers, dates or texts."""
    given = pl.Series([value for value in values if value != NO_VALUE], dtype=pl.String)
    return next((dtype for dtype in (pl.Int64(), pl.Date()) if not _read(given, dtype).null_count()), pl.String())


def _read(texts: pl.Series, dtype: Any) -> pl.Series:
    """Return texts in a type, and nothing where they are not of it."""
    return texts.str.to_date("%Y-%m-%d", strict=False) if dtype == pl.Date else texts.cast(dtype, strict=False)


def _value(text: str, dtype: Any) -> Any:
    return None if text == NO_VALUE else _read(pl.Series([text], dtype=pl.String), dtype)[0]
