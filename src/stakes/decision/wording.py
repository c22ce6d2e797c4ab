"""Decisions in words that need no training to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["decision_words"]

SCORES = {
    ("average", "label"): "probability",
    ("vote", "label"): "votes",
    ("vote", "cost"): "votes by cost",
    ("vote", "tuned"): "votes by tuned thresholds",
    (None, "label"): "score",
}
THRESHOLDS = {
    "half": "above one half",
    "cost": "above break-even",
    "scaled": "above scaled break-even",
    "tuned": "above a tuned threshold",
}


def decision_words(decision: Mapping[str, Any]) -> str:
    """Return which score a decision goes by, and which threshold: the fields of a `Decision` in plain words.

    "Break-even" is T_cs, the probability at which acting and doing nothing are expected to cost the same.

    Examples
    --------
    >>> from dataclasses import asdict
    >>> from stakes import Decision
    >>> from stakes.decision.wording import decision_words
    >>> decision_words(asdict(Decision(output="average", calibration="platt", threshold="cost")))
    'calibrated probability above break-even'
    >>> decision_words(asdict(Decision(member="cost", vote_weight="log_odds")))
    'weighted votes by cost above one half'
    >>> decision_words(asdict(Decision(member="cost", vote_weight="pruned")))
    'votes by cost of the best few members above one half'
    """
    vote_weight, threshold = decision["vote_weight"], decision["threshold"]
    calibrated = "calibrated " if decision["calibration"] else ""
    pruned = vote_weight is not None and vote_weight.startswith("pruned")
    weighted = "weighted " if vote_weight not in (None, "equal") and not pruned else ""
    of_few = " of the best few members" if pruned else ""
    score = SCORES.get((decision["output"], decision["member"]), "score") + of_few
    # A threshold that is not in the table is one of another package, or of a later version.
    return f"{calibrated}{weighted}{score} {THRESHOLDS.get(threshold, f'above the threshold {threshold!r}')}"
