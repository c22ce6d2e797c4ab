"""The decision: everything that happens after training, as one small immutable value (FRAMEWORK 8)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from html import escape

from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.threshold_rules import THRESHOLDS
from stakes.decision.weights import CHOSEN, VOTE_WEIGHTS
from stakes.decision.wording import decision_words
from stakes.exceptions import DecisionError
from stakes.tree.leaves import LEAVES

__all__ = ["MEMBERS", "Decision"]

# How members come to their votes.
MEMBERS = {"label": "votes by label", "cost": "votes by T_cs", "tuned": "votes by T_thr"}
CHOICES: dict[str, tuple[str | None, ...]] = {
    "leaf": (None, *LEAVES),
    "member": tuple(MEMBERS),
    "output": (None, "average", "vote"),
    "vote_weight": (None, *VOTE_WEIGHTS),
    "calibration": (None, *CALIBRATIONS),
    "threshold": tuple(THRESHOLDS),
}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """How a trained ensemble decides: from leaves to members, to one score, to an outcome.

    Parameters
    ----------
    leaf : str, default=None
        The probability of a leaf: "frequency", "laplace", "m_estimate" or another name in `stakes.tree.leaves.LEAVES`.
        None is "frequency", but for members that compare it with a threshold: the leaves of deep trees are pure, so
        that their frequencies are on the same side of any threshold. There it is "supported" for trees
        ("supported_shrunk" where samples have synthetic records, "frequency" for stumps of boosting), and nothing for
        other models, which have no leaves.
        For votes by T_cs, boosting's aside, it is "laplace" or "m_estimate" where that costs clearly less, by two
        standard errors, on records that members were not trained on: out of the bag, held out or given. None are held
        out for it.
    member : {"label", "cost", "tuned"}, default="label"
        How each member comes to its vote: by the label of the leaf; by its probability and the record's costs,
        P+ > T_cs; or by its probability and the threshold that is cheapest on validation records, P+ > T_thr. The
        last two make a DMECC ensemble (FRAMEWORK 8.2).
    output : {"average", "vote"}, default=None
        The score of the ensemble: the mean of its members' probabilities, or the weighted share of positive votes
        (FRAMEWORK 8.1). None takes votes where another parameter is about them, and otherwise what is natural: the
        mean probability for bagging, votes for boosting.
    vote_weight : str, default=None
        The weight of a member's vote: "equal"; by its error on validation records, such as "log_odds" or another name
        in `stakes.decision.weights.VOTE_WEIGHTS`; or "node", the mean weight of the records in the leaf, for weighted
        ensembles. "pruned" counts the votes of a few members alone, those that together cost least on validation
        records ("pruned_error" and "pruned_margin" find them by errors and margins), and predicts as much faster. None
        is what is natural: equal for bagging, node for weighted ensembles, the rule's own alpha for boosting.
    calibration : str, default=None
        What makes a probability of the score (FRAMEWORK 7.5): "logistic", "platt", "isotonic" or another name in
        `stakes.decision.calibration.CALIBRATIONS`.
    threshold : {"half", "cost", "scaled", "tuned"}, default="half"
        Positive iff the score is above 0.5; above the record's T_cs; above T_cs with its odds times the factor that is
        cheapest on validation records, which follows costs and mends probabilities that are off by a factor; or above
        the threshold that is cheapest on validation records. On uncalibrated votes "cost" and "tuned" are majority
        threshold adjustment; MEC-voting, which multiplies each vote by the cost of its being wrong, has the same
        outcomes as "cost" on votes (FRAMEWORK 8.3).

    Examples
    --------
    >>> from stakes import Decision
    >>> Decision(member="cost", vote_weight="squared_odds")
    Decision(member='cost', output='vote', vote_weight='squared_odds')
    >>> Decision(output="average", vote_weight="log_odds")
    Traceback (most recent call last):
        ...
    stakes.exceptions.DecisionError: output='average' has no votes: leave out vote_weight, or choose output='vote'
    """

    leaf: str | None = None
    member: str = "label"
    output: str | None = None
    vote_weight: str | None = None
    calibration: str | None = None
    threshold: str = "half"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                raise DecisionError(f"{name}={value!r} is not known: choose from {', '.join(map(repr, choices))}")
        about_votes = {"member": self.member != "label", "vote_weight": self.vote_weight is not None}
        named = [name for name, is_so in about_votes.items() if is_so]
        if named and self.output == "average":
            raise DecisionError(
                f"output='average' has no votes: leave out {' and '.join(named)}, or choose output='vote'"
            )
        if named and self.output is None:
            object.__setattr__(self, "output", "vote")
        if self.leaf is None and self.member == "label":
            object.__setattr__(self, "leaf", "frequency")

    def __repr__(self) -> str:
        usual = {f.name: f.default for f in fields(self)} | ({"leaf": "frequency"} if self.member == "label" else {})
        changed = [f"{name}={getattr(self, name)!r}" for name in usual if getattr(self, name) != usual[name]]
        return f"Decision({', '.join(changed)})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code><br>acts on: {escape(decision_words(asdict(self)))}"

    @property
    def needs_costs(self) -> bool:
        """Whether the costs of the records to be decided on are needed (FRAMEWORK 8.5)."""
        return self.member == "cost" or THRESHOLDS[self.threshold].needs_costs

    @property
    def needs_validation(self) -> bool:
        """Whether something is chosen on validation records."""
        return self.tunes_members or self.tunes_cut

    @property
    def tunes_members(self) -> bool:
        """Whether thresholds or vote weights of the members are chosen on validation records."""
        return self.member == "tuned" or self.vote_weight in CHOSEN

    @property
    def tunes_cut(self) -> bool:
        """Whether the calibration or the threshold of the ensemble's score is chosen on validation records."""
        calibrates = self.calibration is not None and CALIBRATIONS[self.calibration].needs_data
        return calibrates or self.tunes_threshold

    @property
    def tunes_threshold(self) -> bool:
        """Whether the threshold of the ensemble's score is chosen on validation records."""
        return THRESHOLDS[self.threshold].needs_data
