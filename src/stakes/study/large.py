"""Data that exceed memory: a sample of the records is studied, and all others are bins on disk to train on.

Every record is at random in one of four parts. Test records and judged records are as in any study, but that there are
no more of them than memory has room for. A third part, the training sample, is what models are trained on that take
all their records at once, and what bins are found on. All other records are in a `Pool`, which the samples of an
ensemble's members are drawn from. No model is trained on records that judge it, so one training serves all folds.

The records are read twice: to take the first three parts, and to bin the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import narwhals as nw
import numpy as np
import polars as pl
from joblib import cpu_count

import stakes
from stakes._atomic import complete_folder
from stakes._dates import with_parts
from stakes._expressions import cost_formulas
from stakes._typing import Bools, Floats, Indices, Uint64s
from stakes.costs import Costs
from stakes.exceptions import StudyError
from stakes.pool import PoolWriter
from stakes.study.data import StudyData, Training
from stakes.study.dataset import Dataset
from stakes.study.files import check_finite, conform
from stakes.study.store import BINS_MARK
from stakes.study.target import is_positive
from stakes.table import table_of
from stakes.tree.binning import Binning

if TYPE_CHECKING:
    from stakes.study.loading import Asked

__all__ = ["Build", "Parts", "bytes_of", "load_large", "opened", "records_in_memory", "reopened"]

# What is in the folder besides the pool.
ABOUT, FRAME, ARRAYS = BINS_MARK, "records.arrow", "records.npz"
# Memory of a process before it has any records; of a record that is studied; and of each of its features (measured).
PROCESS, RECORD, FEATURE = 450 << 20, 500, 50
# Shares of the records in memory: to train on, and to test on; the others are judged.
SAMPLED, TESTED = 0.45, 0.15
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# Records that are read at a time.
BATCH = 1 << 18
TEST, JUDGED, SAMPLE, POOL, UNUSED = range(5)


def bytes_of(size: str | int) -> int:
    """Return a size of memory in bytes."""
    match = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([KMGT]?)i?B?\s*", str(size), re.IGNORECASE)
    if match is None:
        raise StudyError(f"--memory {size!r}: give a size such as 6GB")
    return int(float(match[1]) * UNITS[match[2].upper()])


def records_in_memory(memory: str | int, n_features: int, jobs: int | None = None) -> int:
    """Return how many records go into some memory, by so many processes besides the one that waits for them."""
    jobs = jobs or cpu_count()
    room = bytes_of(memory) - (1 + jobs) * PROCESS
    n = max(0, room) // ((RECORD + FEATURE * n_features) * (jobs + (jobs == 1)))
    if n < 1000:
        raise StudyError(f"--memory {memory} is too little for {jobs} processes: give more, or fewer --jobs")
    return n


class Parts:
    """Which part each record is in, by its number or its group alone: the same however records are read.

    `n_test` of the records `above` are in the test part where these were asked for, and of all records otherwise.
    """

    def __init__(self, n: int, in_memory: int, test_fraction: float | None, n_above: int = 0) -> None:
        self.by_value = test_fraction is None
        room = in_memory * TESTED
        n_test = min(room, n_above) if test_fraction is None else min(room, test_fraction * n)
        n_sample = in_memory * SAMPLED
        n_judged = in_memory - room - n_sample
        others = n - n_above if self.by_value else n
        self.of_above = n_test / max(n_above, 1)
        ends = np.cumsum([0.0 if self.by_value else n_test, n_judged, n_sample])
        self.ends = ends / max(others, 1)

    def of(self, first: int, n: int, groups: pl.Series | None = None, above: Bools | None = None) -> Indices:
        """Return the parts of `n` records from number `first` on."""
        numbers = np.arange(first, first + n, dtype=np.uint64) if groups is None else groups.hash(0).to_numpy()
        at = _uniform(numbers)
        part = np.searchsorted(self.ends, at, side="right")
        if above is not None:
            part = np.where(above, np.where(at < self.of_above, TEST, UNUSED), part)
        return part


def _uniform(numbers: Uint64s) -> Floats:
    """Return numbers from 0 to 1 that look drawn at random, each made of a whole number (SplitMix64)."""
    with np.errstate(over="ignore"):
        z = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53


# Makes the data of a study of the records in memory, given which of them are for testing.
Build = Callable[..., StudyData]


class Source(NamedTuple):
    """Where records come from, and what is asked about them."""

    records: Dataset
    asked: Asked
    above: Callable[[pl.DataFrame], Bools] | None  # which records are for testing, where a column says so
    parts: Parts
    build: Build

    def key(self) -> str:
        """Return a digest of the options, and of the names, sizes and times of the files."""
        files = [(part.path, *_stat(part.path)) for part in self.records.parts]
        told = json.dumps([stakes.__version__, files, self.asked._asdict()], sort_keys=True, default=str)
        return hashlib.sha256(told.encode()).hexdigest()

    def batches(self) -> Iterator[tuple[pl.DataFrame, Indices, int]]:
        """Yield some records at a time, with the parts that they are in and the number of the first."""
        first = 0
        for batch in self.records.batches(BATCH, without=self.asked.unread):
            groups = None if self.asked.groups is None else batch.get_column(self.asked.groups)
            above = None if self.above is None else self.above(batch)
            yield batch, self.parts.of(first, len(batch), groups, above), first
            first += len(batch)


def _stat(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:  # in an object store
        return 0, 0
    return found.st_size, found.st_mtime_ns


def load_large(source: Source, folder: Path) -> StudyData:
    """Return the data of a study, most of which are written to a folder; or those that are there already.

    What is there is taken however much memory there was: a study that goes on must have the same records.
    """
    key = source.key()
    if (folder / ABOUT).exists():
        with _damage_told(folder):
            if json.loads((folder / ABOUT).read_text())["key"] != key:
                raise StudyError(f"{folder} has bins of other data, or of other options: choose another --out")
        return reopened(folder)
    if folder.exists():
        raise StudyError(f"{folder} is there, and has no bins of a study: move it away, or choose another --out")
    with complete_folder(folder) as unfinished:
        _write(source, unfinished, key)
    return opened(str(folder))


def _write(source: Source, folder: Path, key: str) -> None:
    kept: dict[int, list[pl.DataFrame]] = {part: [] for part in (SAMPLE, JUDGED, TEST)}
    for batch, part, _ in source.batches():
        for which, frames in kept.items():
            frames.append(batch.filter(part == which))
    sizes = {which: sum(map(len, frames)) for which, frames in kept.items()}
    for which, name in ((SAMPLE, "train on"), (JUDGED, "judge"), (TEST, "test on")):
        if not sizes[which]:
            raise StudyError(f"{source.records.name}: no record is drawn to {name}: give more --memory")
    frame = pl.concat([each for frames in kept.values() for each in frames])
    tested = None if source.parts.by_value else np.arange(len(frame) - sizes[TEST], len(frame))
    data = source.build(frame, tested)
    binning = Binning().fit(table_of(data.frame[: sizes[SAMPLE]]))
    digest = hashlib.sha256(data.fingerprint().encode())
    with PoolWriter(folder) as writer:
        n_positive = _write_pool(source, data, binning, writer, digest)
    data.frame.write_ipc(folder / FRAME)
    arrays = {"positive": data.positive, "groups": data.groups, "test_rows": data.test_rows}
    if data.costs is not None:
        arrays |= {"fp": data.costs.fp, "fn": data.costs.fn}  # type: ignore[dict-item]
    np.savez(folder / ARRAYS, **{name: value for name, value in arrays.items() if value is not None})  # type: ignore[arg-type]
    n_records = writer.n_records + len(data)
    n_of = {"in memory": len(data), "judged": sizes[JUDGED], "tested": sizes[TEST], "sampled": sizes[SAMPLE]}
    about = {
        "key": key,
        "digest": digest.hexdigest(),
        "name": data.name,
        "classes": list(data.classes),
        "labels": list(data.labels),
        "test_fraction": data.test_fraction,
        "allow": list(data.allow),
        "info": data.info | {"notes": [*data.info["notes"], *_notes(n_records, n_of)]},
        "n_sampled": sizes[SAMPLE],
        "n_records": n_records,
        "n_positive": n_positive + int(data.positive.sum()),
    }
    (folder / ABOUT).write_text(json.dumps(about, default=str))  # labels may be dates


def _notes(n: int, n_of: dict[str, int]) -> list[str]:
    """Return what a reader should know of how many records were used for what."""
    # Of the share of records below a cut, by the inequality of Dvoretzky, Kiefer and Wolfowitz.
    error = float(np.sqrt(np.log(2 / 0.05) / (2 * min(n_of["sampled"], 50_000))))
    return [
        f"of {n:,} records {n_of['judged']:,} judge the models and {n_of['tested']:,} test them, drawn at random; "
        f"bagging draws its samples from {n - n_of['in memory']:,} others, and what takes all records at once is "
        f"trained on {n_of['sampled']:,}",
        f"bins are found on a sample: the share of records in a range of a feature is known to {error:.1%}",
    ]


def _write_pool(source: Source, data: StudyData, binning: Binning, writer: PoolWriter, digest: Any) -> int:
    """Write the bins, classes and costs of the records that are not in memory; return how many are positive."""
    info, name = data.info, source.records.name
    formulas = cost_formulas(info["fp_cost"], info["fn_cost"])
    target = info["target"]
    kinds = {**info["cost_columns"], **info["features"]}
    n_positive = 0
    for batch, part, first in source.batches():
        # All of the batch, so that errors name records by their numbers.
        told: dict[str, Any] = {"source": name, "first_record": first + 1}
        frame = conform(batch, kinds, **told)
        check_finite(frame, **told)
        positive = is_positive(batch.get_column(target), data.labels, target, first_record=first + 1)
        costs = [cost.cost_of(frame, first_record=first + 1) for cost in formulas.values()] or [1.0, 1.0]
        features = with_parts(nw.from_native(frame), data.frame.columns).select(data.frame.columns).to_native()
        rows = np.flatnonzero(part == POOL)
        bins = binning.transform(table_of(features))[rows]
        fp, fn = (cost[rows] if isinstance(cost, np.ndarray) else cost for cost in costs)
        writer.add(bins, positive[rows], fp, fn)
        n_positive += int(np.count_nonzero(positive[rows]))
        for array in (bins, positive[rows], np.asarray(fp), np.asarray(fn)):
            digest.update(np.ascontiguousarray(array).data)
    return n_positive


def reopened(folder: Path) -> StudyData:
    """Return the data of a study that were written to a folder, or say that it is damaged."""
    with _damage_told(folder):
        data = opened(str(folder))
        assert data.training is not None
        assert len(data.training.pool) >= 0  # its files are as long as they should be
    return data


@contextmanager
def _damage_told(folder: Path) -> Iterator[None]:
    try:
        yield
    except StudyError:
        raise
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, pl.exceptions.PolarsError) as error:
        raise StudyError(
            f"{folder} is damaged: remove it, and the same command with the same --memory makes it anew"
        ) from error


@lru_cache(maxsize=2)
def opened(folder: str) -> StudyData:
    """Return the data of a study that were written to a folder; the same ones again in the same process."""
    path = Path(folder)
    about = json.loads((path / ABOUT).read_text())
    frame = pl.scan_ipc(path / FRAME).collect()
    with np.load(path / ARRAYS) as arrays:
        found = dict(arrays)
    n = about["n_sampled"]
    costs = Costs(fp=found["fp"], fn=found["fn"]) if "fp" in found else None
    training = Training(
        path, frame[:n], found["positive"][:n], None if costs is None else costs[:n], about["digest"],
        about["n_records"], about["n_positive"],
    )  # fmt: skip
    return StudyData(
        name=about["name"],
        frame=frame[n:],
        positive=found["positive"][n:],
        classes=tuple(about["classes"]),
        costs=None if costs is None else costs[n:],
        test_rows=found["test_rows"] - n,
        test_fraction=about["test_fraction"],
        info=about["info"],
        groups=found["groups"][n:] if "groups" in found else None,
        file_labels=tuple(about["labels"]),
        allow=tuple(about["allow"]),
        training=training,
    )
