"""The test records as the report needs them to work out what other costs, or acting on more or fewer, would save."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stakes._typing import Bools, Floats, Indices
from stakes.delivered import Decided, DeliveredClassifier
from stakes.measures import sums_of
from stakes.records import Records

__all__ = ["playable"]

# So many records are enough for a page; where there are more, as many positives as negatives if there are enough.
MOST_RECORDS = 5000
SAMPLE = 5  # what is drawn
# What the ratio of costs is changed by, for models whose scores depend on it.
RATIOS = 2.0 ** np.arange(-4.0, 4.5, 0.5)
JUST_BELOW_1 = np.float32(1.0 - 1e-6)


def playable(model: DeliveredClassifier, test: Records, *, most: float, seed: int) -> dict[str, Any]:
    """Return what a page needs of the test records, as plain data.

    Multiplying the costs changes decisions only by the ratio of both factors, that of misses over that of needless
    actions. A record is acted on where this ratio is above its `critical` one: 1 separates the decisions at the costs
    given. `totals` are those of all test records, so that a page that draws on some of them has only changes to
    estimate; `most` is the share of the records that may be acted on.
    """
    known = test.known
    decided = model.decide(test.X.X, fp_cost=known.fp, fn_cost=known.fn)
    rows = _sample(test.positive, np.random.default_rng([seed, SAMPLE]))
    part = test.take(rows)
    some = Decided(decided.positive[rows], decided.score[rows], decided.threshold[rows], decided.probability[rows])
    fp, fn = part.known.arrays(rows.size)
    critical = _critical(model, part, some)
    sums = sums_of(decided.positive[None], test.positive, test.costs)
    share = np.bincount(test.positive, minlength=2) / np.maximum(np.bincount(part.positive, minlength=2), 1)
    return {
        "n": len(test),
        "kept": rows.size,
        "most": most,
        "follows": bool(np.isfinite(critical[~some.positive]).any() or (critical[some.positive] > 0).any()),
        "thresholds": np.quantile(decided.threshold, [0.05, 0.95]).tolist(),
        "weight": {"negative": float(share[0]), "positive": float(share[1])},
        "totals": {
            "nothing": float(sums.all_fn),
            "everything": float(sums.all_fp),
            "missed": float(sums.all_fn - sums.found[0]),
            "wasted": float(sums.wasted[0]),
            "found": int(sums.true_positives[0]),
            "alarms": int(sums.false_positives[0]),
            "positives": int(sums.positives),
        },
        "positive": _packed(part.positive, "u1"),
        "probability": _packed(np.clip(some.probability, 0.0, 1.0), "<f4"),
        "critical": _packed(critical, "<f4"),
        "fp": _packed(fp, "<f4"),
        "fn": _packed(fn, "<f4"),
        "cost": _packed(part.cost, "<f8"),
    }


def _packed(values: NDArray[Any], dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=dtype).tobytes()).decode()


def _sample(positive: Bools, rng: np.random.Generator) -> Indices:
    """Return which records to take: all, or so many of both classes, in a random order."""
    order = rng.permutation(positive.size)
    if positive.size <= MOST_RECORDS:
        return order
    positives, negatives = order[positive[order]], order[~positive[order]]
    n_positives = min(positives.size, max(MOST_RECORDS // 2, MOST_RECORDS - negatives.size))
    return np.concatenate([positives[:n_positives], negatives[: MOST_RECORDS - n_positives]])


def _critical(model: DeliveredClassifier, part: Records, decided: Decided) -> Floats:
    """Return the change of the ratio of costs above which each record is acted on."""

    def at(ratio: float) -> Decided:
        return model.decide(part.X.X, fp_cost=part.known.fp, fn_cost=ratio * np.asarray(part.known.fn))

    changed = at(2.0)
    if not np.array_equal(changed.score, decided.score):
        acted = np.array([at(ratio).positive for ratio in RATIOS])
        # Between the last ratio without and the first with an action.
        found = np.array([0.0, *np.sqrt(RATIOS[1:] * RATIOS[:-1]), np.inf])[(~acted).sum(axis=0)]
    elif np.array_equal(changed.threshold, decided.threshold):
        found = np.where(decided.positive, 0.0, np.inf)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            odds, needed = (values / (1.0 - values) for values in (decided.score, decided.threshold))
            found = np.nan_to_num(needed / odds, nan=np.inf, posinf=np.inf)
    return np.where(decided.positive, np.minimum(found, JUST_BELOW_1), np.maximum(found, 1.0))
