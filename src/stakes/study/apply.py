"""Decisions for new records in one or many files, which may be larger than memory, with today's costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from stakes._atomic import complete_folder, is_stream
from stakes.exceptions import StudyError
from stakes.study.dataset import Dataset, open_records
from stakes.study.deciding import DECISION, Request, Task, Total
from stakes.study.drift import Watch
from stakes.study.workers import Workers
from stakes.study.worklist import WorkList
from stakes.study.writing import check_replaceable, writing

__all__ = ["Applied", "apply_model"]

BATCH = 1 << 16


@dataclass(frozen=True)
class Applied:
    """A summary of the decisions on a file."""

    out: Path  # the file with the decisions
    n_records: int
    n_positive: int  # how many records to act on
    positive: str  # what the positive class is called
    # Of the mistakes among these decisions; None where costs are not known.
    expected_cost: float | None
    expected_saving: float | None  # how much less that is than acting on no record
    paid: float | None  # for the features that decisions asked for; None where features have no prices
    notes: list[str]  # what a reader should know


def apply_model(
    model_path: str | Path,
    data_path: str | Path,
    out_path: str | Path,
    *,
    fp_cost: str | float | None = None,
    fn_cost: str | float | None = None,
    keep: Iterable[str] | None = None,
    budget: int | None = None,
    max_acted: float | None = None,
    strict: bool = False,
    batch_size: int = BATCH,
    progress: Callable[[int], object] | None = None,
    overwrite: bool = False,
    spreadsheet: bool = False,
    reasons: int = 0,
    dask: str | None = None,
) -> Applied:
    """Decide on the records of one or many files, and write the decisions to others, whole or not at all.

    The options are those of `stakes apply`. Records need all features of the study and the columns of the costs, in any
    order; columns that are known only afterwards are estimated by the model, whether the records have them or not.
    Without any columns to keep, records are numbered. After each batch of `batch_size` records, `progress` is called
    with the number of records decided on so far. The workers of `dask` decide on one file of a folder each, and read
    and write it themselves.

    Decisions are Parquet if `out_path` ends in ``.parquet``, and CSV otherwise; a folder of Parquet files where the
    records are in many files, too, and it has no ending. Devices and pipes, and ``-`` for standard output, are written
    to as CSV while records are read. Added to each record are

    - `decision`, the class it is taken for;
    - `score` and `threshold`: it is taken for positive iff its score is above its threshold;
    - `probability` of the positive class: the score where the model decides by expected cost, and otherwise the score
      calibrated on the out-of-fold records of the study;
    - `expected_cost_if_positive`, (1 - probability) times the cost of a false positive, and
      `expected_cost_if_negative`, probability times the cost of a false negative;
    - `expected_saving`: how much less the decision is expected to cost than not to act; 0 for the negative ones;
    - where features have prices, `features_paid`, what the values cost that the decision asked for, and
      `features_missing`, what it would cost to buy those that it asked for and that are missing;
    - `reason_1`, `reason_2` ...: the features that moved its probability most, with what they add to the expected
      saving of acting on it. See `stakes.explain.Explanation`.
    """
    _check_limit(budget, max_acted)
    records, out = open_records(data_path), Path(out_path)
    request = Request(Path(model_path), records, out, fp_cost, fn_cost, keep, strict, reasons)
    task = Task(request)
    folder = records.is_folder and (out.is_dir() or not (out.suffix or is_stream(out)))
    if not overwrite:
        check_replaceable(out, DECISION)
    limited = budget is not None or max_acted is not None
    if dask is not None:
        if limited or not folder:
            raise StudyError("a cluster decides on folders of Parquet files, into a folder, and knows no --budget")
        _on_cluster(task, request, dask, progress)
        return _applied(task, limited=False)
    with (
        writing(out, spreadsheet=spreadsheet, folder=folder) as write,
        TemporaryDirectory(prefix="stakes-") as directory,
    ):
        work = WorkList(Path(directory), task.labels)
        for decided in task.decide_all(records.batches(batch_size, without=task.unread)):
            (work.add if limited else write)(decided)
            if progress is not None:
                progress(task.total.n_records)
        if not task.total.n_records:
            raise StudyError(f"{records.name} has no records")
        if limited:
            most = _most_of(task.total.n_records, max_acted or 0.0) if budget is None else budget
            kept = work.write(most, write, size=batch_size)
            task.total = task.total._replace(n_positive=kept.n_acted, saving=kept.saving)
            if kept.n_left:
                beyond = f"are beyond the limit of {most:,}"
                task.notes.append(f"{kept.n_left:,} more records are worth acting on, and {beyond}")
    return _applied(task, limited=limited)


def _most_of(n: int, share: float) -> int:
    """Return how many of `n` records are no larger share of them."""
    most = round(share * n)
    # Divided, not multiplied: 29 of 100 is exactly the share 0.29, but 0.29 * 100 < 29.
    return most if most / n <= share else most - 1


def _applied(task: Task, *, limited: bool) -> Applied:
    total = task.total
    if total.n_losing:
        task.notes.append(_why_losing(total.n_losing, limited))
    return Applied(
        out=task.out,
        n_records=total.n_records,
        n_positive=total.n_positive,
        positive=task.labels[1],
        expected_cost=total.if_left - total.saving if task.costs else None,
        expected_saving=total.saving if task.costs else None,
        paid=total.paid if task.priced else None,
        notes=[*task.notes, *task.changes()],
    )


def _on_cluster(task: Task, request: Request, dask: str, progress: Callable[[int], object] | None) -> None:
    """Decide on each file of a folder by itself, on a cluster whose machines see the same files."""
    records = request.data
    assert isinstance(records, Dataset)
    sizes = [part.n_records for part in records.parts]
    if not any(sizes):
        raise StudyError(f"{records.name} has no records")
    with complete_folder(request.out) as folder:
        request = request._replace(model=request.model.absolute(), keep=task.keep)
        items = [(i, sum(sizes[:i]) + 1, folder / f"part-{i:05d}.parquet") for i, size in enumerate(sizes) if size]
        for of_part, watch in Workers(dask=dask).map(_decide_part, request, items):
            task.total = task.total.plus(of_part)
            task.watch.merge(watch)
            if progress is not None:
                progress(task.total.n_records)


def _decide_part(request: Request, i: int, first: int, out: Path) -> tuple[Total, Watch]:
    """Decide on one file of a folder."""
    task = Task(request._replace(out=out))
    assert isinstance(request.data, Dataset)
    with writing(out) as write:
        for decided in task.decide_all(request.data.batches(BATCH, without=task.unread, only=i), first):
            write(decided)
    return task.total, task.watch


def _check_limit(budget: int | None, max_acted: float | None) -> None:
    if budget is not None and max_acted is not None:
        raise StudyError("--budget and --max-acted are two limits on the same: give one")
    if budget is not None and budget < 0:
        raise StudyError(f"--budget {budget}: give a number of records, 0 or more")
    if max_acted is not None and not 0 <= max_acted <= 1:
        raise StudyError(f"--max-acted {max_acted}: give a share from 0 to 1")


def _why_losing(n: int, limited: bool) -> str:
    """Return what to know of records whose expected saving is negative: acting on them costs more than leaving them."""
    why = "this model decides by a score and threshold of its own, and not by probability times cost"
    if limited:
        return f"{n:,} records that the model would act on are left alone, because that costs more than it saves: {why}"
    return f"{n:,} of the records to act on have a negative expected saving: {why}; --budget leaves them out"
