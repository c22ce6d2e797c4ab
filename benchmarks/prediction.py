"""What happens after training: leaves, probabilities, single records, and all decisions at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from benchmarks.cases import Limits
from benchmarks.contenders import OURS, PEERS, Setting
from benchmarks.data import make_records
from benchmarks.measure import alternate, best, measure, ratio
from stakes import Costs, Decision, decisions_for
from stakes.decision.cuts import Cut, apply_cuts, fit_cuts
from stakes.decision.reader import Reader
from stakes.metrics import total_cost
from stakes.records import Records
from stakes.table import Table

__all__ = ["PREDICTIONS", "Prediction"]

TREES, THREADS = 100, 2
ROWS = 110_000
# Models that decide on single records are fitted to few of them: scikit-learn's bagging would take minutes.
FEW_ROWS = 10_000
SINGLE_ROWS = 1_000
SINGLE = ("bagging", "forest", "AdaBoost")
# The sizes of the card fraud study: training, validation and test records (FRAMEWORK 12).
STUDY = (110_852, 33_934, 140_021)


@dataclass(frozen=True)
class Prediction:
    """A benchmark of fitted models: a function that returns figures by name."""

    name: str
    measured: Callable[[Limits], dict[str, float]]
    environment: str = "peers"
    threads: int = THREADS
    quick: bool = False

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return the figures."""
        return {"kind": "figures", "figures": self.measured(limits)}


def _leaf_ids(limits: Limits) -> dict[str, float]:
    """Time the leaves that records reach in all trees, from their features on, against scikit-learn's forest."""
    n, setting = limits.of_rows(ROWS), Setting(limits.of_trees(TREES), THREADS)
    records = make_records("noisy", 2 * n)
    train, test = records.part(slice(n)), records.part(slice(n, None))
    ours, peer = OURS["forest"].fit(train, setting), PEERS["scikit-learn forest"].fit(train, setting)

    def leaves(seed: int) -> Any:
        return ours.members_.assign(ours.binning_.transform(Table(test.X)), THREADS)

    for action in (leaves, lambda seed: ours.predict_proba(test.X)):
        measure(action)  # compiles
    by_leaves = alternate(leaves, lambda seed: peer.predict_proba(test.X), limits.effort)
    by_share = alternate(
        lambda seed: ours.predict_proba(test.X), lambda seed: peer.predict_proba(test.X), limits.effort
    )
    return {
        "seconds": best(by_leaves["ours"]),
        "seconds of scikit-learn's predict_proba": best(by_leaves["peer"]),
        "times faster than scikit-learn's predict_proba": ratio(by_leaves).estimate,
        "predict_proba: seconds": best(by_share["ours"]),
        "predict_proba: times faster than scikit-learn's": ratio(by_share).estimate,
        "AUC": OURS["forest"].quality(ours, test)["auc"],
        "AUC of scikit-learn": PEERS["scikit-learn forest"].quality(peer, test)["auc"],
    }


def _single_row(kind: str, limits: Limits) -> dict[str, float]:
    """Time a decision on one record at a time, by one thread."""
    setting = Setting(limits.of_trees(TREES), THREADS)
    train = make_records("noisy", limits.of_rows(FEW_ROWS))
    ours, peer = OURS[kind].fit(train, setting), PEERS[f"scikit-learn {kind}"].fit(train, setting)
    for model in (ours, peer):
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=1)

    def decide(i: int) -> Any:
        return ours.predict(train.X[i : i + 1], fp_cost=train.fp[i : i + 1], fn_cost=train.fn[i : i + 1])

    def share(i: int) -> Any:
        return peer.predict_proba(train.X[i : i + 1])

    decide(0)  # compiles
    by_ours, by_peer = [], []
    for i in range(limits.of_rows(SINGLE_ROWS)):
        by_ours.append(_milliseconds(decide, i))
        if i % 10 == 0:
            by_peer.append(_milliseconds(share, i))
    return {
        "milliseconds": median(by_ours),
        "milliseconds, 95th percentile": float(np.quantile(by_ours, 0.95)),
        "milliseconds of scikit-learn's predict_proba": median(by_peer),
        "milliseconds of scikit-learn's predict_proba, 95th percentile": float(np.quantile(by_peer, 0.95)),
    }


def _milliseconds(action: Callable[[int], Any], i: int) -> float:
    start = time.perf_counter()
    action(i)
    return 1000 * (time.perf_counter() - start)


def _decisions(limits: Limits) -> dict[str, float]:
    """Time every decision that makes sense for an ensemble, on the leaves that records reach, as the study does."""
    n_train, n_validation, n_test = map(limits.of_rows, STUDY)
    records = make_records("rare", n_train + n_validation + n_test)
    train = records.part(slice(n_train))
    validation = records.part(slice(n_train, n_train + n_validation))
    test = records.part(slice(n_train + n_validation, None))
    model = OURS["bagging"].fit(train, Setting(limits.of_trees(TREES), THREADS))
    leaves = {
        part: model.members_.assign(model.binning_.transform(Table(records.X)), THREADS)
        for part, records in (("validation", validation), ("test", test))
    }
    known = Records(None, validation.y == 1, Costs(fp=validation.fp, fn=validation.fn))
    costs = Costs(fp=test.fp, fn=test.fn)
    decisions = [option.decision for option in decisions_for(model)]

    def choose(seed: int) -> tuple[Reader, list[Cut]]:
        reader = Reader(decisions).fit(leaves["validation"], known)
        return reader, fit_cuts(decisions, reader.read(leaves["validation"], known.costs), known)

    def decide(seed: int) -> Any:
        return apply_cuts(cuts, reader.read(leaves["test"], costs, n_threads=THREADS), costs)

    reader, cuts = choose(0)
    decide(0)  # compiles
    runs = alternate(decide, choose, limits.effort)
    return {
        "seconds": best(runs["ours"]),
        "seconds to tune them on validation records": best(runs["peer"]),
        "decisions": float(len(decisions)),
    }


def _cost(model: Any, records: Any) -> float:
    return float(total_cost(records.y, model.predict(records.X, **records.costs), **records.costs))


def _pruned(limits: Limits) -> dict[str, float]:
    """Time a forest whose members vote by T_cs, pruned and whole, and how long it takes to prune it."""
    n, setting = limits.of_rows(FEW_ROWS), Setting(limits.of_trees(TREES), THREADS)
    records = make_records("noisy", 2 * n)
    train, test = records.part(slice(n)), records.part(slice(n, None))
    forest = OURS["forest"].fit(train, setting)
    votes = Decision(member="cost", vote_weight="equal")
    whole, small = (forest.with_decision(replace(votes, vote_weight=weight)) for weight in ("equal", "pruned"))
    for model in (whole, small):
        model.predict(test.X, **test.costs)  # compiles
    runs = alternate(
        lambda seed: small.predict(test.X, **test.costs),
        lambda seed: whole.predict(test.X, **test.costs),
        limits.effort,
    )
    chosen = measure(lambda seed: forest.with_decision(replace(votes, vote_weight="pruned")))
    return {
        "members": float(small.reader_.members.size),
        "times faster than the whole": ratio(runs).estimate,
        "seconds to prune": chosen.seconds,
        "part of the cost of the whole": _cost(small, test) / _cost(whole, test),
    }


_CASES = [
    Prediction("prediction/leaf ids", _leaf_ids),
    *(Prediction(f"prediction/single row, {kind}", partial(_single_row, kind)) for kind in SINGLE),
    Prediction("prediction/decisions", _decisions, quick=True),
    Prediction("prediction/pruned", _pruned),
]

#: All benchmarks of prediction by name.
PREDICTIONS = {case.name: case for case in _CASES}
