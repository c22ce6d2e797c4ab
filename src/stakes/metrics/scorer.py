"""A scorer that hands the costs of records to `predict` and to a metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from stakes._fitting import last_step
from stakes._validation import check_value, choice
from stakes.exceptions import CostsNeededError
from stakes.metrics.bill import COST_NAMES
from stakes.metrics.decisions import total_cost
from stakes.metrics.probabilities import expected_cost

__all__ = ["CostScorer", "make_cost_scorer", "taken_by"]

LOSSES = (total_cost, expected_cost)
NO_ALIASES: dict[str, Any] = {}
METADATA_NAMES = (*COST_NAMES, "acquisition_cost", "amount", "benefit", "contact_cost")


def make_cost_scorer(
    metric: Callable[..., float] = total_cost,
    *,
    greater_is_better: bool | None = None,
    response_method: str = "predict",
    **fixed: Any,
) -> CostScorer:
    """Make a scorer that charges decisions with the costs of their records.

    The costs of each fold go to the metric and, where it takes them, to the estimator's `predict`, so that a model that
    decides by the costs of the day is judged by how it will be used. scikit-learn's own scorers
    give them to the metric only.

    Record-dependent costs reach the scorer by metadata routing, which must be enabled with
    ``sklearn.set_config(enable_metadata_routing=True)``. The scorer asks for ``fp_cost``, ``fn_cost``, ``tp_cost``,
    ``tn_cost`` and, if the metric takes them, ``amount``, ``benefit`` and ``contact_cost``; whether it uses other
    metadata, such as ``sample_weight``, is said with its method ``set_score_request``. Constants can be fixed here
    instead, and then need no routing.

    Parameters
    ----------
    metric : callable, default=total_cost
        A function ``metric(y_true, y_pred, **metadata)``, of this module, of scikit-learn (`f1_score`) or your own.
    greater_is_better : bool or None, default=None
        Whether more is better; otherwise the score is minus the metric. None: yes, for all metrics but `total_cost` and
        `expected_cost`.
    response_method : {"predict", "predict_proba"}, default="predict"
        What the metric is given: the decisions, or the scores of the positive class (of ``pos_label=``, where that is
        fixed; else of the larger label).
    **fixed
        Costs and other arguments of the metric that are the same in all calls, for instance ``fp_cost=5``
        or ``pos_label="yes"``.

    Returns
    -------
    scorer : CostScorer
        To be used as ``scoring=`` in GridSearchCV, cross_validate and the like, or called as
        ``scorer(estimator, X, y, **metadata)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn import config_context
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from stakes.metrics import make_cost_scorer, savings_score
    >>> rng = np.random.default_rng(0)
    >>> X, amount = rng.normal(size=(200, 2)), rng.lognormal(3, size=200)
    >>> y = (X[:, 0] + rng.normal(size=200) > 1).astype(int)
    >>> scorer = make_cost_scorer(savings_score, fp_cost=5)
    >>> with config_context(enable_metadata_routing=True):
    ...     scores = cross_validate(LogisticRegression(), X, y, scoring=scorer, params={"fn_cost": amount})
    >>> scores["test_score"].shape
    (5,)
    """
    return CostScorer(metric, greater_is_better, response_method, fixed)


@dataclass(eq=False, repr=False)
class CostScorer:
    """A scorer that passes costs to `predict` and to the metric; made by `make_cost_scorer`.

    Examples
    --------
    Called by hand, with the costs of the records at hand:

    >>> import numpy as np
    >>> from stakes import CostTreeClassifier
    >>> from stakes.metrics import make_cost_scorer
    >>> X, y, amount = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1], [10, 10, 30, 90]
    >>> tree = CostTreeClassifier(random_state=0).fit(X, y, fp_cost=5, fn_cost=amount)
    >>> scorer = make_cost_scorer(fp_cost=5)
    >>> scorer
    make_cost_scorer(total_cost, greater_is_better=False, fp_cost=5)
    >>> scorer(tree, X[::-1], y, fn_cost=amount)
    -130.0
    """

    metric: Callable[..., float]
    greater_is_better: bool | None
    response_method: str
    fixed: dict[str, Any]

    def __post_init__(self) -> None:
        known = dict.fromkeys((*COST_NAMES, *_metadata_of(self.metric)))
        if unknown := set(self.fixed) - set(known):
            raise TypeError(f"{_name(self.metric)} takes no argument {', '.join(sorted(unknown))}")
        check_value("response_method", self.response_method, choice("predict", "predict_proba"))
        if self.greater_is_better is None:
            self.greater_is_better = self.metric not in LOSSES
        # What is not known to be metadata is left undecided (None): scikit-learn then asks the user to decide.
        self.requests: dict[str, bool | str | None] = {
            name: True if name in METADATA_NAMES else None for name in known if name not in self.fixed
        }

    def __repr__(self) -> str:
        settings = "" if self.response_method == "predict" else f", response_method={self.response_method!r}"
        settings += "".join(f", {name}={value!r}" for name, value in self.fixed.items())
        return f"make_cost_scorer({_name(self.metric)}, greater_is_better={self.greater_is_better}{settings})"

    def __call__(
        self, estimator: Any, X: Any, y_true: ArrayLike, *, sample_weight: ArrayLike | None = None, **metadata: Any
    ) -> float:
        """Return the score of the estimator's decisions on `X`; higher is better."""
        given = {**self.fixed, **metadata}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        missing = [name for name, needed in _metadata_of(self.metric).items() if needed and name not in given]
        if missing:
            raise CostsNeededError(
                f"{_name(self.metric)} needs {', '.join(missing)}: pass them as metadata (params= of cross_validate, "
                "or fit of GridSearchCV) after sklearn.set_config(enable_metadata_routing=True), "
                "or fix constants in make_cost_scorer"
            )
        # A grid search predicts by its best estimator, and would not hand on costs: nested searches need this.
        estimator = getattr(estimator, "best_estimator_", estimator)
        costs = {name: given[name] for name in COST_NAMES if name in given}
        names = taken_by(estimator, costs, self.response_method, self.requests)
        answer = getattr(estimator, self.response_method)(X, **{alias: costs[name] for name, alias in names.items()})
        if self.response_method == "predict_proba":
            answer = answer[:, list(estimator.classes_).index(given.get("pos_label", estimator.classes_[-1]))]
        if "acquisition_cost" in _metadata_of(self.metric) and getattr(estimator, "feature_costs_", None) is not None:
            given.setdefault("acquisition_cost", estimator.acquisition_cost(X))
        return self._sign * self._score_func(y_true, answer, **given)

    # scikit-learn's TunedThresholdClassifierCV tries thresholds of its own: it asks scorers for these three.

    @property
    def _score_func(self) -> Callable[..., float]:
        """The metric; it may be given costs that are for `predict` only."""
        known = _metadata_of(self.metric)

        @wraps(self.metric)
        def score(y_true: ArrayLike, y_pred: ArrayLike, **given: Any) -> float:
            # Anything else that the metric does not know is an error of the caller.
            taken = {name: value for name, value in given.items() if name in known or name not in COST_NAMES}
            return self.metric(y_true, y_pred, **taken)

        return score

    @property
    def _sign(self) -> int:
        return 1 if self.greater_is_better else -1

    @property
    def _kwargs(self) -> dict[str, Any]:
        return self.fixed

    def set_score_request(self, **requests: bool | str | None) -> CostScorer:
        """Say which metadata to use: True, False, or the name under which it is passed."""
        self.requests.update(requests)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata this scorer asks for."""
        request = MetadataRequest(owner=repr(self))
        for name, alias in self.requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    # The same under the name by which scikit-learn 1.8 asks.
    _get_metadata_request = get_metadata_routing


def _metadata_of(metric: Callable[..., float]) -> dict[str, bool]:
    """Return the arguments of a metric after y_true and y_pred, and whether it needs them."""
    parameters = list(signature(metric).parameters.values())[2:]
    return {p.name: p.default is Parameter.empty for p in parameters if p.kind is not Parameter.VAR_KEYWORD}


def taken_by(
    estimator: Any, names: Iterable[str], method: str = "predict", aliases: Mapping[str, Any] = NO_ALIASES
) -> dict[str, str]:
    """Return those of `names` that a method of the estimator takes, itself or by handing them on, and as what.

    Estimators that hand metadata on may know it by another name, which is one of `aliases`. Those that do not decide by
    costs are not given any.
    """
    if not getattr(last_step(estimator)[1], "needs_costs_", True):
        return {}
    parameters = signature(getattr(estimator, method)).parameters
    if not any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return {name: name for name in names if name in parameters}
    spelt = {name: [name, alias] if isinstance(alias := aliases.get(name), str) else [name] for name in names}
    routed = get_routing_for_object(estimator).consumes(method, [s for both in spelt.values() for s in both])
    return {name: next(s for s in both if s in routed) for name, both in spelt.items() if routed.intersection(both)}


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))
