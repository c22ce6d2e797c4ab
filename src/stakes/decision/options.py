"""All decisions that a trained ensemble can be asked for (FRAMEWORK 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from stakes._members import TreeMembers
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.decision import MEMBERS, Decision
from stakes.decision.threshold_rules import THRESHOLDS as KINDS
from stakes.decision.weights import BY_ERROR, VOTE_WEIGHTS
from stakes.tree.leaves import LEAVES, shrunk

__all__ = ["DecisionOption", "decisions_for", "describe"]

VOTE_THRESHOLDS = ("half", "cost", "tuned")
# Scaled odds mean something where the score is a probability.
THRESHOLDS = ("half", "cost", "scaled", "tuned")

Votes = Sequence[tuple[str, str | None]]
# Which members to keep takes time to find, and hardly depends on the probability of leaves: the usual one.
PRUNED: Votes = (("label", None), ("cost", None), ("tuned", None))


def _calibrations(*, fitted: bool) -> list[str]:
    """Return the calibrations that are fitted to scores of any kind, or the closed forms for votes of boosting."""
    return [name for name, kind in CALIBRATIONS.items() if kind.needs_data == fitted]


class DecisionOption(NamedTuple):
    """A decision, and what it is in a line.

    Examples
    --------
    >>> from stakes import CostTreeClassifier, decisions_for
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(500, random_state=0)
    >>> tree = CostTreeClassifier(max_depth=3).fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    >>> option = decisions_for(tree)[1]
    >>> option.description
    'mean probability, above T_cs'
    >>> same_tree = tree.with_decision(option.decision)
    """

    decision: Decision
    description: str


def decisions_for(estimator: Any) -> list[DecisionOption]:
    """Return every decision that makes sense for a trained classifier.

    Parameters
    ----------
    estimator : fitted classifier
        A CostTreeClassifier, CostBaggingClassifier, CostBoostClassifier, CostDecisionClassifier,
        CostGradientBoostingClassifier, a team or a stack, or a delivered model of one of them.

    Returns
    -------
    options : list of DecisionOption
        Each has a `decision` for ``estimator.with_decision``, and a `description`.
        Decisions that always give the same outcomes as another are left out.

    Examples
    --------
    >>> from stakes import CostBaggingClassifier, decisions_for
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(500, random_state=0)
    >>> forest = CostBaggingClassifier(n_estimators=5, random_state=0).fit(data.frame, data.target)
    >>> options = decisions_for(forest)
    >>> len(options) > 200
    True
    >>> print(options[1].description)
    mean probability, above T_cs
    """
    check_is_fitted(estimator)
    estimator = getattr(estimator, "model", estimator)  # of a delivered one, which takes the same decisions
    if not hasattr(estimator, "with_decision"):
        raise TypeError(f"{type(estimator).__name__} has no members to decide by: its decision is trained in")
    return [DecisionOption(decision, describe(decision)) for decision in _decisions(estimator)]


def _decisions(estimator: Any) -> Iterator[Decision]:
    members, votes = estimator.members_, estimator.votes_
    if not votes.averages:
        yield from _of_boosting(estimator.decision_)
    elif isinstance(members, TreeMembers):
        yield from _of_trees(members, votes.by_node)
    else:
        yield from _of_averages(["frequency"], _calibrations(fitted=True))
        if votes.voting and len(members) > 1:
            yield from _of_votes(PRUNED if members.has_probabilities else PRUNED[:1], (*BY_ERROR, "pruned"))


def _of_averages(leaves: Sequence[str], calibrations: Sequence[str]) -> Iterator[Decision]:
    for leaf, threshold in product(leaves, THRESHOLDS):
        yield Decision(leaf=leaf, output="average", threshold=threshold)
    for calibration, threshold in product(calibrations, THRESHOLDS):
        yield Decision(output="average", calibration=calibration, threshold=threshold)


def _of_votes(votes: Votes, weights: Sequence[str]) -> Iterator[Decision]:
    for (member, leaf), weight, threshold in product(votes, weights, VOTE_THRESHOLDS):
        yield Decision(leaf=leaf, member=member, output="vote", vote_weight=weight, threshold=threshold)


def _of_trees(members: TreeMembers, by_node: bool) -> Iterator[Decision]:
    # Without synthetic records there is nothing to shrink.
    leaves = [name for name, leaf in LEAVES.items() if members.growth > 1 or leaf.smoothing is not shrunk]
    yield from _of_averages(leaves, [] if by_node else _calibrations(fitted=True))
    if len(members) == 1 and not by_node:
        # One vote is the outcome: only how it is cast matters. By T_cs or T_thr it is the mean probability's decision.
        yield Decision(output="vote")
        return
    # How members vote, and the leaf probability that they go by.
    votes: Votes = [("label", "frequency"), *product(("cost", "tuned"), leaves)]
    # Where the share of weights is taken out of the probabilities, votes do not count weights either.
    yield from _of_votes(votes, ("node", *BY_ERROR) if by_node else BY_ERROR)
    yield from _of_votes(PRUNED, ("pruned",))


def _of_boosting(trained: Decision) -> Iterator[Decision]:
    """Return the decisions of boosting, whose members voted in a certain way while they were trained."""
    votes = Decision(member=trained.member, leaf=trained.leaf, output="vote")
    probabilities = product((*_calibrations(fitted=False), *_calibrations(fitted=True)), THRESHOLDS)
    for calibration, threshold in [*product((None,), VOTE_THRESHOLDS), *probabilities]:
        yield replace(votes, calibration=calibration, threshold=threshold)
    for weight, threshold in product(BY_ERROR, VOTE_THRESHOLDS):
        yield replace(votes, vote_weight=weight, threshold=threshold)


def describe(decision: Decision) -> str:
    """Return a decision in a line.

    Examples
    --------
    >>> from stakes import Decision
    >>> from stakes.decision.options import describe
    >>> describe(Decision(member="cost", output="vote", vote_weight="accuracy", threshold="tuned"))
    'votes by T_cs, weights 1-eps, above T_thr'
    """
    parts = ["mean probability" if decision.output == "average" else MEMBERS[decision.member]]
    if decision.leaf not in (None, "frequency"):
        parts[0] += f" ({LEAVES[decision.leaf].words})"
    if decision.vote_weight is not None:
        parts.append(VOTE_WEIGHTS[decision.vote_weight].words)
    if decision.calibration is not None:
        parts.append(f"calibrated by {CALIBRATIONS[decision.calibration].words}")
    return ", ".join([*parts, KINDS[decision.threshold].words])
