"""One unit of a study: an ensemble trained in every fold and on all learning records, with every decision.

No record both tunes and judges the same thing. A learning record is read by the model of its fold, which was not
trained on it. What a decision chooses about members comes from that model's own validation records (out-of-bag, or
held out of its training records). What it chooses about their score (calibration, threshold) is, for the records of a
fold, chosen on the out-of-fold scores of the other folds. The model that is delivered is trained on all learning
records, and what its decision chooses is chosen on all out-of-fold scores.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from stakes._member_classifier import MemberClassifier
from stakes._rows import take_rows
from stakes._typing import Indices
from stakes.catalog import make_classifier
from stakes.costs import Costs
from stakes.decision.decision import Decision
from stakes.decision.options import decisions_for
from stakes.decision.reader import Reader
from stakes.decision.readings import Readings
from stakes.exceptions import StakesWarning
from stakes.feature_costs import FeatureCosts
from stakes.pool import Pool, draws_from_pool, fit_pool
from stakes.records import Records
from stakes.study.columns import OUT_OF_FOLD, TEST, follows_costs, pack, pack_scores
from stakes.study.data import StudyData
from stakes.study.folds import Folds
from stakes.study.judging import Read, make_table
from stakes.study.plan import TREES, Config, Unit, training_costs
from stakes.study.prices import Paid
from stakes.tree.binning import Binned

__all__ = ["Prepared", "UnitResult", "fit_unit", "make_unit_classifier", "prepare", "run_unit"]

# Families whose members are trees of this package: they take binned records.
BINNED = ("tree", "bagging", "boosting")
# Where data exceed memory, what is chosen about members is chosen on so many records.
VALIDATION = 1 << 17


class UnitResult(NamedTuple):
    """What a unit found: a row for each decision, and the model trained on all learning records."""

    rows: pl.DataFrame
    model: MemberClassifier | None


@dataclass(frozen=True)
class Prepared:
    """The records of a study, binned once for all its ensembles."""

    learning: Records
    test: Records
    # Where data exceed memory, what is trained on instead of the learning records: a sample, and records on disk.
    training: tuple[Records, Pool] | None = None

    def priced(self, setting: str) -> Prepared:
        """Return the records with the costs to decide by: the "real" ones, or a pair."""
        pair = training_costs(setting)
        if pair is None:
            return self
        learning, test = (replace(part, costs=pair, known_costs=None) for part in (self.learning, self.test))
        if self.training is None:
            return Prepared(learning, test)
        sample, pool = self.training
        return Prepared(learning, test, (replace(sample, costs=pair), pool.with_costs(pair)))


_latest: tuple[tuple[Any, ...], Prepared] | None = None


def prepare(data: StudyData, config: Config, repeat: int = 0, *, everything: bool = False) -> Prepared:
    """Return the records of a study; the latest ones are kept, because the units of a study come one after another.

    What is known of costs beforehand may be estimated in the folds of a repeat. With `everything`, the test records are
    among the learning records, too.
    """
    global _latest
    key = (data.fingerprint(), config.seed, everything, *(() if data.after is None else (config.folds, repeat)))
    if _latest is None or _latest[0] != key:
        split, training = data.split(config.seed), data.training
        X = data.binned(config.seed)
        costs, known = data.costs_by_fold(config.folds, repeat=repeat, seed=config.seed)
        records = Records(X, data.positive, costs, known_costs=known)
        learning, test = records.take(np.concatenate(split) if everything else split[0]), records.take(split[1])
        prepared = Prepared(learning, test)
        if training is not None:
            sampled = Binned.of(training.frame, X.binning)
            sample = Records(sampled, training.positive, training.costs or Costs(fp=1.0, fn=1.0))
            prepared = Prepared(learning, test, (sample, training.pool))
        _latest = key, prepared
    return _latest[1]


def make_unit_classifier(config: Config, unit: Unit) -> MemberClassifier:
    """Return the classifier of a unit, not fitted: the same that `make_classifier` makes by name."""
    seed = config.seed + unit.repeat
    family = unit.family
    members: dict[str, Any] = {"n_estimators": config.trees} if family in ("bagging", "boosting") else {}
    if family == "boosting":
        # There is no bag: eps of the members is that on the training records (FRAMEWORK 8), and none is held out for
        # calibrations and thresholds, which are chosen out of fold.
        members["validation"] = None
    tree = {} if unit.tree is None else TREES[unit.tree]
    # Other models pay for all features that they are given.
    takes_prices = "feature_costs" in unit.entry.make.names
    prices = {"feature_costs": config.feature_costs} if config.feature_costs and takes_prices else {}
    classifier: MemberClassifier = make_classifier(unit.method, random_state=seed, **members, **tree, **prices)
    nested = [(name, name.rsplit("__", 1)[-1], value) for name, value in classifier.get_params().items()]
    # Units run side by side: models inside, such as LightGBM, must not take all cores each.
    changed = {name: 1 for name, last, _ in nested if last == "n_jobs"}
    if family == "imbalanced-learn":  # an ensemble of ensembles may have fewer members by itself, but not more
        changed |= {name: min(value, config.trees) for name, last, value in nested if last == "n_estimators"}
    return classifier.set_params(**changed)


def features_for(unit: Unit, records: Records, rows: Indices | None = None) -> Any:
    """Return the features of records in the form that a method takes: bins for trees, a frame for everything else."""
    X: Any = records.X if unit.family in BINNED else records.X.X
    return X if rows is None else take_rows(X, rows)


def fit_unit(config: Config, unit: Unit, prepared: Prepared, rows: Indices | None = None) -> Any:
    """Return the classifier of a unit, trained by the unit's training costs on some of the learning records.

    Where data exceed memory, it is trained on no learning record, and `rows` make no difference.
    """
    classifier = make_unit_classifier(config, unit)
    with warnings.catch_warnings():
        # A study is about figures: a method whose training degenerates is far down the leaderboard.
        warnings.simplefilter("ignore", StakesWarning)
        if prepared.training is None:
            return _fit(classifier, unit, prepared.learning, rows)
        sample, pool = prepared.training
        if not draws_from_pool(classifier):
            return _fit(classifier, unit, sample)
        n = len(sample)
        validation = sample.take(np.linspace(0, n - 1, min(n, VALIDATION)).astype(np.intp))
        pair = pool.class_means if _by_class_means(unit) else training_costs(unit.train_costs)
        if pair is not None:
            pool, validation = pool.with_costs(pair), replace(validation, costs=pair)
        return fit_pool(classifier, pool, validation)


def _fit(classifier: Any, unit: Unit, records: Records, rows: Indices | None = None) -> Any:
    some = records.with_features(None)
    some = some if rows is None else some.take(rows)
    positive, costs, known = some.positive, some.costs, some.known_costs
    y = positive.astype(np.int64)
    pair = costs.class_means(y) if _by_class_means(unit) else training_costs(unit.train_costs)
    if pair is not None:
        costs, known = pair, None
    # Otherwise the real ones: methods that train without costs use them on their validation records only, and those
    # that know constant costs alone reduce them to class means themselves.
    X = features_for(unit, records, rows)
    return classifier.fit(X, y, fp_cost=costs.fp, fn_cost=costs.fn, known_costs=known)


def _by_class_means(unit: Unit) -> bool:
    return unit.train_costs == "class means" and unit.entry.costs != "constant"


def run_unit(data: StudyData, config: Config, unit: Unit) -> UnitResult:
    """Train the ensemble of a unit in every fold and on all learning records, and return a row for each decision.

    The model is that of the first repeat; other repeats have none, and no figures on the test records.
    """
    prepared = prepare(data, config, unit.repeat)
    folds = data.folds(config.folds, repeat=unit.repeat, seed=config.seed)
    run = _Run(config, unit, folds, prepared)
    trained_by = run.prepared[unit.decision_costs[0]]
    # A model that is trained on no learning record judges them all.
    whole = fit_unit(config, unit, trained_by) if prepared.training is not None else None
    for k in range(len(folds)):
        model = fit_unit(config, unit, trained_by, folds.trained(k)) if whole is None else whole
        run.read(model, OUT_OF_FOLD, folds.judged(k))
    if unit.repeat:
        return UnitResult(run.table(), None)
    whole = fit_unit(config, unit, trained_by) if whole is None else whole
    run.read(whole, TEST)
    return UnitResult(run.table(), whole)


class _Run:
    """The scores of a unit's models, as they come in, and what decisions make of them."""

    def __init__(self, config: Config, unit: Unit, folds: Folds, prepared: Prepared) -> None:
        self.config = config
        self.unit = unit
        self.folds = folds
        self.prepared = {setting: prepared.priced(setting) for setting in unit.decision_costs}
        self.decisions: list[Decision] = []
        self.readings: dict[tuple[str, str], list[Readings]] = defaultdict(list)  # by part and setting
        self.paid: dict[str, Paid] = {}

    def read(self, model: Any, part: str, rows: Indices | None = None) -> None:
        """Read records of a part by a model that was not trained on them."""
        self.decisions = self.decisions or self._wanted(model)
        of_part = {s: prepared.test if part == TEST else prepared.learning for s, prepared in self.prepared.items()}
        some = next(iter(of_part.values()))
        X = features_for(self.unit, some, rows)  # the same at all costs
        needs_costs, readings = Reader(self.decisions, model.votes_).needs_costs, None
        for setting, records in of_part.items():
            if needs_costs or readings is None:  # otherwise the scores are the same at all costs, too
                known = records.known if rows is None else records.known[rows]
                readings = model.read(self.decisions, X, fp_cost=known.fp, fn_cost=known.fn)
            self.readings[part, setting].append(readings)
        if self.config.feature_costs is not None:
            if part not in self.paid:
                costs = FeatureCosts.of(self.config.feature_costs, some.X.binning.names_)
                self.paid[part] = Paid(costs, self.decisions, len(some))
            self.paid[part].add(model, X, np.arange(len(some)) if rows is None else rows)

    def _wanted(self, model: Any) -> list[Decision]:
        offered = [option.decision for option in decisions_for(model)]
        # A single member decides alone: no ways to vote are offered.
        wanted = [decision for decision in offered if decision.member in self.unit.members] or offered
        if model.validation_ is None:
            # Nothing to judge members by: what is to be chosen about them would need records held out.
            wanted = [decision for decision in wanted if not decision.tunes_members]
        if self.config.decisions == "follow-costs":
            wanted = [decision for decision in wanted if follows_costs(decision)]
        return wanted

    def table(self) -> pl.DataFrame:
        """Return a row for each decision and setting of costs."""
        return pl.concat([self._table(setting) for setting in self.prepared])

    def _table(self, setting: str) -> pl.DataFrame:
        judged = self.folds.all_judged
        prepared, fold = self.prepared[setting], self.folds.fold[judged]
        records = prepared.learning.with_features(None).take(judged)
        rows = [np.flatnonzero(fold == k) for k in range(len(self.folds))]
        readings = Readings.join(self.readings[OUT_OF_FOLD, setting], rows)
        tested = next((Read(test, prepared.test) for test in self.readings[TEST, setting]), None)
        method, family = self.unit.method, self.unit.family
        by_cost = [decision.member != "label" and family != "boosting" for decision in self.decisions]
        about = {
            "repeat": self.unit.repeat,
            "method": method,
            "name": [("dm-" if by else "") + method for by in by_cost],
            "family": family,
            "train_costs": self.unit.train_costs,
            "tree": self.unit.tree,
            "decision_costs": setting,
            **self._for_teams(readings, tested and tested.readings),
        }
        paid = {part: paid.per_record for part, paid in self.paid.items()}
        return make_table(about, self.decisions, Read(readings, records), fold, self.config, test=tested, paid=paid)

    def _for_teams(self, readings: Readings, tested: Readings | None) -> dict[str, list[bytes | None]]:
        """Return the columns that a team needs, of the first plain decision by T_cs: its score may join one."""
        plain = [d.threshold == "cost" and d.calibration is None and d.leaf == "frequency" for d in self.decisions]
        if True not in plain:
            return {}
        at, judged = plain.index(True), self.folds.all_judged
        source = readings.source(self.decisions[at])
        found = {
            f"{part}_used": pack(paid.used if part == TEST else paid.used[judged]) for part, paid in self.paid.items()
        }
        found |= {
            f"{part}_score": pack_scores(read.scores[source])
            for part, read in ((OUT_OF_FOLD, readings), (TEST, tested))
            if read is not None
        }
        return {name: [value if i == at else None for i in range(len(plain))] for name, value in found.items()}
