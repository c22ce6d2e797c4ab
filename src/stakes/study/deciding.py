"""A model of a study at work on new records: what it needs of them, and what it adds to them."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from joblib import cpu_count

from stakes._atomic import is_stream
from stakes._expressions import Expression, cost_formulas, did_you_mean
from stakes._typing import Floats
from stakes.costs import Costs
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import ColumnTypeWarning, CostsNeededError, StudyError
from stakes.persist import load, read_info
from stakes.study.dataset import Dataset
from stakes.study.drift import Watch, is_profile
from stakes.study.files import KINDS, CsvFile, check_finite, conform

__all__ = ["DECISION", "Request", "Task", "Total"]

DECISION = ("decision", "score", "threshold")
PAID = ("features_paid", "features_missing")
EXPECTED = ("probability", "expected_cost_if_positive", "expected_cost_if_negative", "expected_saving")
# What files of models that were saved by other means than a study may say nothing of.
NOT_SAID: dict[str, Any] = {
    "features": None, "cost_columns": {}, "classes": [], "after": [], "fp_cost": None, "fn_cost": None, "model": {},
    "profile": {},
}  # fmt: skip
# Columns that have moved are told one by one up to this many.
MOST_TOLD = 5


class Request(NamedTuple):
    """What is asked for: small, to be sent to other machines."""

    model: Path
    data: CsvFile | Dataset
    out: Path
    fp_cost: str | float | None
    fn_cost: str | float | None
    keep: Iterable[str] | None
    strict: bool
    reasons: int


class Total(NamedTuple):
    """What decisions on some records add up to."""

    n_records: int = 0
    n_positive: int = 0
    n_losing: int = 0  # to act on, though that is expected to cost more than it saves
    if_left: float = 0.0  # the expected cost of acting on none
    saving: float = 0.0
    paid: float = 0.0  # for features

    def plus(self, other: Total) -> Total:
        """Return the sums of both."""
        return Total(*(mine + its for mine, its in zip(self, other, strict=True)))  # type: ignore[arg-type]


class Task:
    """A model with the columns that it needs; missing ones are an error before anything is written."""

    def __init__(self, request: Request) -> None:
        model, data, out, fp_cost, fn_cost, keep, strict, reasons = request
        self.data, self.out = data, out
        self.reasons = [f"reason_{i}" for i in range(1, reasons + 1)]
        info = NOT_SAID | read_info(model)
        if not _is_of_a_study(info):
            raise StudyError(f"{model} does not say which columns it needs: it was not saved by a study")
        columns = data.columns
        self.kinds: dict[str, str] = info["features"]
        self.after = frozenset(info["after"])
        self.costs = _costs(info, fp_cost, fn_cost, columns, data.name)
        of_costs = {name for cost in self.costs.values() for name in cost.columns} - self.after
        known = {**info["cost_columns"], **self.kinds}
        self.needed = {name: known.get(name, "number") for name in dict.fromkeys([*self.kinds, *sorted(of_costs)])}
        self.keep = _kept(keep, columns, data.name, (*DECISION, *EXPECTED, *PAID, *self.reasons))
        self.unread = [name for name in columns if name not in self.needed and name not in self.keep]
        _refuse_records(out, data)
        if out.exists() and out.samefile(model):
            raise StudyError(f"--out {out} is the model itself: choose another name")
        self.model = load(model)
        if not isinstance(self.model, DeliveredClassifier):
            raise StudyError(
                f"{model} is a {type(self.model).__name__}, and no model that was saved by a study: give the "
                "best.skops of one, or what `stakes save` wrote, or predict with this model in Python"
            )
        for name, cost in self.costs.items():
            foreseen = (self.model.foreseen_costs or {}).get(name)
            unknown = [c for c in cost.columns if c in self.after and (foreseen is None or c not in foreseen.amounts)]
            if unknown:
                raise StudyError(
                    f"{cost.what} {cost.text!r}: {unknown[0]!r} is known only afterwards, and the model has no "
                    "estimate of it for this cost, which did not use it in the study"
                )
        self.priced = self.model.feature_costs_ is not None
        self.labels = tuple(info["classes"] or map(str, self.model.labels))
        self.notes: list[str] = []
        self.watch = Watch(info["profile"])
        self.total = Total()
        self._lock = Lock()
        changed = [cost.what for name, cost in self.costs.items() if cost.text != str(info[name])]
        if changed and not info["model"].get("follows_costs", True):
            said = f"{' and '.join(changed)} changed, and this model decides as by the costs of its study"
            if strict:
                raise StudyError(f"{said}: train one by stakes study --decisions follow-costs")
            self.notes.append(f"{said}: one of stakes study --decisions follow-costs would follow them")

    def changes(self) -> list[str]:
        """Return in which columns the records differ from those that the model was trained on."""
        found = [
            f"column {column!r} has texts in {n:,} records that no training record had, such as {example!r}: they are "
            "taken for missing"
            for column, n, example in self.watch.unseen()
        ]
        moved = self.watch.moved()
        found += [
            f"column {column!r} has moved since training (stability index {index:.2f}): {evidence}"
            for column, index, evidence in moved[:MOST_TOLD]
        ]
        if len(moved) > MOST_TOLD:
            found.append(f"{len(moved) - MOST_TOLD} more columns have moved since training")
        return found

    def _cost(self, name: str, records: pl.DataFrame, first_record: int) -> float | Floats:
        """Return a cost of the records: by what is known of them, or by estimates."""
        cost = self.costs[name]
        if self.after.isdisjoint(cost.columns):
            return cost.cost_of(records, first_record=first_record)
        foreseen: Floats = self.model.foresee(name, records, formula=cost.text, first_record=first_record)
        return foreseen

    def decide_all(self, batches: Iterable[pl.DataFrame], first: int = 1) -> Iterator[pl.DataFrame]:
        """Yield batches of records with the decisions on them, in order: a few ahead, in a thread for each core."""
        n = cpu_count()
        waiting: deque[Future[pl.DataFrame]] = deque()
        with warnings.catch_warnings(), ThreadPoolExecutor(n) as pool:
            if self.watch.known:  # tells itself which categories are new
                warnings.simplefilter("ignore", ColumnTypeWarning)
            for batch in batches:
                waiting.append(pool.submit(self.decide, batch, first))
                first += len(batch)
                if len(waiting) > n:
                    yield self._added(waiting.popleft().result())
            while waiting:
                yield self._added(waiting.popleft().result())

    def _added(self, decided: pl.DataFrame) -> pl.DataFrame:
        """Return a batch of decisions, which are added to the total."""
        total = Total(len(decided), int((decided.get_column("decision") == self.labels[1]).sum()))
        if self.priced:
            total = total._replace(paid=float(decided.get_column(PAID[0]).sum()))
        if self.costs:
            saving, if_left = (decided.get_column(name).to_numpy() for name in ("expected_saving", EXPECTED[2]))
            losing = int((saving < 0).sum())
            total = total._replace(n_losing=losing, if_left=float(if_left.sum()), saving=float(saving.sum()))
        self.total = self.total.plus(total)
        return decided

    def decide(self, batch: pl.DataFrame, first_record: int) -> pl.DataFrame:
        """Return a batch of records with the decisions on them."""
        records = conform(batch, self.needed, source=self.data.name, first_record=first_record)
        X = pl.DataFrame([records.get_column(name) for name in self.kinds])
        check_finite(X, source=self.data.name, first_record=first_record)
        with self._lock:
            self.watch.add(X)
        costs = {name: self._cost(name, records, first_record) for name in self.costs}
        try:
            positive, score, threshold, p = self.model.decide(X, **costs)
        except CostsNeededError:
            raise StudyError("this model decides by costs: give --fp-cost and --fn-cost") from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # Of a file that is no model of these columns, or was made by other means than a study.
            why = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise StudyError(f"the model cannot decide on the records of {self.data.name} ({why})") from error
        n = len(batch)
        found: dict[str, Any] = {
            # Numpy would make texts of the longer label's length, and polars take them apart again.
            "decision": pl.Series(self.labels, dtype=pl.String).gather(positive.astype(np.uint32)),
            "score": score,
            "threshold": threshold,
        }
        if self.costs:
            fp, fn = Costs(fp=costs["fp_cost"], fn=costs["fn_cost"]).arrays(n)
            act, leave = (1.0 - p) * fp, p * fn
            found |= dict(zip(EXPECTED, (p, act, leave, np.where(positive, leave - act, 0.0)), strict=True))
        if self.priced:
            kinds = ("known", "missing")
            found |= {name: self.model.acquisition_cost(X, values=v) for name, v in zip(PAID, kinds, strict=True)}
        if self.reasons:
            moved = self.model.explain(X, **costs).reasons(len(self.reasons))
            for i, name in enumerate(self.reasons):
                found[name] = pl.Series(name, [mine[i] if i < len(mine) else None for mine in moved], dtype=pl.String)
        kept = [batch.get_column(name) for name in self.keep]
        if not kept:
            kept = [pl.Series("record", np.arange(first_record, first_record + n))]
        return pl.DataFrame([*kept, *(pl.Series(name, values) for name, values in found.items())])


def _refuse_records(out: Path, data: CsvFile | Dataset) -> None:
    """Raise an error if decisions would be written over records, among them, or in place of the folder around them."""
    for path in data.paths:
        where, records = out.resolve(), path.resolve()
        if (out.exists() and out.samefile(path)) or (not is_stream(out) and where.is_relative_to(records)):
            raise StudyError(f"--out {out} is the records themselves, or among them: choose another name")
        if not is_stream(out) and records.is_relative_to(where):
            new = out / ("decisions" if data.is_folder else "decisions.csv")
            raise StudyError(f"--out {out} is the folder that the records are in: give a new name in it, such as {new}")


def _is_of_a_study(info: dict[str, Any]) -> bool:
    """Return whether the information in a model file has what is needed here, in the types that a study writes."""
    kinds, of_costs, classes, after = (info[name] for name in ("features", "cost_columns", "classes", "after"))
    return (
        isinstance(info["model"], dict)
        and all(
            isinstance(part, dict) and all(kind in list(KINDS) for kind in part.values()) for part in (kinds, of_costs)
        )
        and is_profile(info["profile"], kinds)
        and all(isinstance(info[name], str | int | float | None) for name in ("fp_cost", "fn_cost"))
        and all(isinstance(part, list) and all(isinstance(name, str) for name in part) for part in (classes, after))
        and len(classes) in (0, 2)
    )


def _costs(
    info: dict[str, Any], fp_cost: str | float | None, fn_cost: str | float | None, columns: list[str], source: str
) -> dict[str, Expression]:
    """Return today's costs, or those of the study; none where there are none."""
    given = {"fp_cost": fp_cost, "fn_cost": fn_cost}
    found = cost_formulas(**{name: info[name] if cost is None else cost for name, cost in given.items()})
    for name, cost in found.items():
        for column in cost.columns:
            if column not in columns and column not in info["after"]:
                hint = "" if given[name] is not None else f"; give today's {cost.what}"
                raise StudyError(
                    f"{cost.what} {cost.text!r}: {source} has no column {column!r}{did_you_mean(column, columns)}{hint}"
                )
    if len(found) == 1:
        raise StudyError("one of --fp-cost and --fn-cost is known, and the model has none for the other: give both")
    return found


def _kept(keep: Iterable[str] | None, columns: list[str], source: str, added: tuple[str, ...]) -> list[str]:
    names = list(columns if keep is None else dict.fromkeys(keep))
    for name in names:
        if name not in columns:
            raise StudyError(f"--keep {name!r}: {source} has no such column{did_you_mean(name, columns)}")
        if name in added:
            raise StudyError(
                f"{source} has a column {name!r} itself: say which columns to copy by --keep, without this"
            )
    return names
