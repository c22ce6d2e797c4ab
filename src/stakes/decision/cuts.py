"""Cuts: the calibration and threshold that take a score to an outcome, chosen on scores alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Bools, Floats
from stakes.costs import Costs
from stakes.decision.calibration import Calibration, fit_calibration
from stakes.decision.decision import Decision
from stakes.decision.readings import Readings, Source
from stakes.decision.threshold_rules import THRESHOLDS, Threshold
from stakes.decision.thresholds import check_shares
from stakes.exceptions import DecisionError
from stakes.records import Records

__all__ = ["Cut", "Evaluation", "apply_cuts", "fit_cuts", "fixed_cut"]


NO_RECORDS = (
    "this decision chooses something on validation records, and none were kept: fit with validation= or X_val=, or "
    "choose a decision without tuned thresholds, platt, isotonic, and vote weights by error"
)


@dataclass(frozen=True)
class Cut:
    """The last steps of a decision, from scores to outcomes, with everything chosen that has to be."""

    decision: Decision
    calibration: Calibration | None
    threshold: Threshold

    def scores(self, readings: Readings) -> Floats:
        """Return the calibrated scores of records."""
        source = readings.source(self.decision)
        score = readings.scores[source]
        return score if self.calibration is None else self.calibration(score, readings.total_weight.get(source))

    def thresholds(self, costs: Costs | None = None) -> float | Floats:
        """Return what the scores are compared with: one number, or one per record.

        `costs` are those of the records, needed where the threshold depends on them.
        """
        return self.threshold(costs)

    def outcomes(self, readings: Readings, costs: Costs | None = None) -> Bools:
        """Return whether each record is decided to be positive; records without a score are not."""
        return self.scores(readings) > self.thresholds(costs)


class Evaluation(NamedTuple):
    """What several decisions make of the same records.

    `scores` and `thresholds` have an entry for each decision: an array of n_records, and a number or such an array.
    Decisions that differ in their threshold only share the array of scores, those with the same threshold its array.
    `outcomes` has a row for each decision.
    """

    scores: list[Floats]
    outcomes: Bools
    thresholds: list[float | Floats]


def apply_cuts(cuts: Sequence[Cut], readings: Readings, costs: Costs | None = None) -> Evaluation:
    """Return scores, outcomes and thresholds of many decisions.

    `costs` are those of the records as known when deciding; None is enough where no threshold depends on them.
    """
    calibrated: dict[tuple[Source, Calibration | None], Floats] = {}
    scores: list[Floats] = []
    for cut in cuts:
        key = (readings.source(cut.decision), cut.calibration)
        if key not in calibrated:
            calibrated[key] = cut.scores(readings)
        scores.append(calibrated[key])
    # T_cs of all records takes its time: once for all cuts that compare with it.
    found = {threshold: threshold(costs) for threshold in {cut.threshold for cut in cuts}}
    thresholds = [found[cut.threshold] for cut in cuts]
    outcomes = np.empty((len(cuts), len(readings)), np.bool_)
    for i, (score, threshold) in enumerate(zip(scores, thresholds, strict=True)):
        np.greater(score, threshold, out=outcomes[i])
    return Evaluation(scores, outcomes, thresholds)


def fixed_cut(decision: Decision) -> Cut:
    """Return the cut of a decision that chooses neither calibration nor threshold on records."""
    if decision.tunes_cut:
        raise DecisionError(NO_RECORDS)
    calibration = None if decision.calibration is None else fit_calibration(decision.calibration)
    return Cut(decision, calibration, THRESHOLDS[decision.threshold]())


def fit_cuts(
    decisions: Sequence[Decision],
    readings: Readings,
    records: Records,
    *,
    max_fpr: float | None = None,
    max_acted: float | None = None,
    rows: NDArray[np.intp] | None = None,
) -> list[Cut]:
    """Choose the calibration and the threshold of each decision on records with scores.

    Parameters
    ----------
    decisions : sequence of Decision
        Among those that the scores were read for.
    readings : Readings
        The scores of the records, by models that were not trained on them: out-of-fold, out-of-bag or held out.
    records : Records
        Their classes, costs and weights; features are not needed. Mistakes are charged by ``records.costs``.
    max_fpr, max_acted : float, default=None
        Tune thresholds so that on these records the false positive rate, or the share of positive outcomes, is at most
        this.
    rows : ndarray, default=None
        Choose on these of the records only.

    Returns
    -------
    cuts : list of Cut

    Examples
    --------
    >>> from stakes import CostBaggingClassifier, Decision
    >>> from stakes.datasets import make_churn
    >>> from stakes.decision.cuts import fit_cuts
    >>> from stakes.records import Records
    >>> train, other = make_churn(400, random_state=0), make_churn(400, random_state=1)
    >>> forest = CostBaggingClassifier(n_estimators=10, random_state=0)
    >>> forest = forest.fit(train.frame, train.target, fp_cost=1, fn_cost=5)
    >>> decisions = [Decision(threshold="tuned"), Decision(calibration="platt", threshold="cost")]
    >>> readings = forest.read(decisions, other.frame)
    >>> records = Records(None, other.target == 1, Costs(fp=1, fn=5))
    >>> tuned, calibrated = fit_cuts(decisions, readings, records)
    >>> 0 < tuned.thresholds() < 1
    True
    >>> moved = forest.with_decision(decisions[0], cut=tuned)
    >>> bool(((moved.predict(other.frame) == 1) == tuned.outcomes(readings)).all())
    True
    """
    check_shares(max_fpr=max_fpr, max_acted=max_acted)
    known = np.flatnonzero(readings.known)
    known = known if rows is None else np.intersect1d(rows, known)
    records = records.with_features(None).take(known)
    limits = [(np.where(records.positive, 0.0, records.weights), max_fpr), (records.weights, max_acted)]
    calibrations: dict[tuple[Source, str | None], Calibration | None] = {}
    thresholds: dict[tuple[Source, str | None, str], Threshold] = {}
    cuts = []
    for decision in decisions:
        source, name, kind = readings.source(decision), decision.calibration, THRESHOLDS[decision.threshold]
        if (key := (source, name, decision.threshold)) not in thresholds:
            # One source at a time: a copy of all scores would take as much memory as they do.
            score, total = readings.scores[source][known], readings.total_weight.get(source)
            if (source, name) not in calibrations:
                weight = records.weight
                fitted = None if name is None else fit_calibration(name, score, records.positive, sample_weight=weight)
                calibrations[source, name] = fitted
            calibration = calibrations[source, name]
            if calibration is not None and kind.needs_data:
                score = calibration(score, None if total is None else total[known])
            thresholds[key] = kind.fit(score, records, limits)
        cuts.append(Cut(decision, calibrations[source, name], thresholds[key]))
    return cuts
