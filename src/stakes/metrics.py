"""What decisions are worth: costs, savings, profit, and scorers that choose models by them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from stakes.costs import Costs, per_record
from stakes.decision.thresholds import positives, record_weights, tuned_threshold
from stakes.exceptions import CostsError, CostsNeededError

__all__ = [
    "CostScorer",
    "Interval",
    "amount_detected",
    "cost_difference_interval",
    "cost_interval",
    "cost_reduction",
    "g_mean",
    "make_cost_scorer",
    "profit",
    "roi",
    "savings_score",
    "total_cost",
    "tuned_threshold",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def total_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the total cost of decisions.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_records,)
        True and predicted classes, with any two labels.
    fp_cost, fn_cost : float or array-like of shape (n_records,)
        Cost of a false positive and of a false negative.
    tp_cost, tn_cost : float or array-like of shape (n_records,), default=0
        Cost of a true positive and of a true negative. Gains are negative costs.
    sample_weight : array-like of shape (n_records,), default=None
        How often each record counts.
    pos_label : label, default=1
        The label of the positive class.

    Returns
    -------
    cost : float
        The sum over all records, each counted by its outcome.

    Examples
    --------
    >>> from stakes.metrics import total_cost
    >>> total_cost([1, 1, 0, 0], [1, 0, 1, 0], fp_cost=5, fn_cost=[20, 95, 20, 20])
    100.0
    """
    bill = _Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    return bill.total(bill.acted[0])


def savings_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the cost that is saved relative to the cheaper of all-negative and all-positive.

    Parameters
    ----------
    y_true, y_pred, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label
        As in `total_cost`.

    Returns
    -------
    savings : float
        ``1 - cost / baseline``: 1 when nothing is lost, 0 for the cheaper trivial decision, negative for anything
        dearer. A baseline that is a gain (a negative cost) divides by its size, so that more is still better. A
        baseline of exactly 0 gives 0 for a cost of 0 and minus infinity for any loss.

    Examples
    --------
    Acting on everyone would cost 10, on nobody 115; these decisions cost 5:

    >>> from stakes.metrics import savings_score
    >>> savings_score([1, 1, 0, 0], [1, 1, 1, 0], fp_cost=5, fn_cost=[20, 95, 20, 20])
    0.5
    """
    bill = _Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    baseline = min(bill.total(False), bill.total(True))
    return _share(baseline - bill.total(bill.acted[0]), abs(baseline))


def cost_reduction(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the cost of doing nothing that is saved (Cost%, FRAMEWORK 11.9).

    Parameters
    ----------
    y_true, y_pred, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label
        As in `total_cost`.

    Returns
    -------
    reduction : float
        ``1 - cost / baseline``, where the baseline is the cost of predicting all records negative: no campaign,
        no alarm. Baselines of 0 or less as in `savings_score`.

    Examples
    --------
    Without a campaign the two churners are lost for 120; contacting one of them and one loyal customer in vain
    costs 40 + 10:

    >>> from stakes.metrics import cost_reduction
    >>> round(cost_reduction([1, 1, 0], [1, 0, 1], fp_cost=10, fn_cost=[80, 40, 60]), 4)
    0.5833
    """
    bill = _Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    baseline = bill.total(False)
    return _share(baseline - bill.total(bill.acted[0]), abs(baseline))


def amount_detected(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    amount: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the share of the amount of all positives that is detected (TotF%, FRAMEWORK 12).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_records,)
        True and predicted classes, with any two labels.
    amount : float or array-like of shape (n_records,)
        What is at stake with each record, for instance the amount of a transaction.
    sample_weight : array-like of shape (n_records,), default=None
        How often each record counts.
    pos_label : label, default=1
        The label of the positive class.

    Returns
    -------
    share : float
        Between 0 and 1; 0 where the positives have no amount to detect.

    Examples
    --------
    >>> from stakes.metrics import amount_detected
    >>> amount_detected([1, 1, 0, 1], [1, 0, 1, 1], amount=[60, 20, 900, 20])
    0.8
    """
    positive, acted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    at_stake = record_weights(sample_weight, positive.size) * _not_negative(amount, "amount", positive.size)
    return _share(at_stake[positive & acted].sum(), at_stake[positive].sum())


def profit(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the benefits of the positives among those contacted, minus the cost of all contacts.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_records,)
        Who responds and who is contacted, with any two labels.
    benefit : float or array-like of shape (n_records,)
        What a response brings, for instance the donation. Counted for positives only.
    contact_cost : float or array-like of shape (n_records,)
        What contacting a record costs.
    sample_weight : array-like of shape (n_records,), default=None
        How often each record counts.
    pos_label : label, default=1
        The label of the positive class.

    Returns
    -------
    profit : float
        0 where nobody is contacted.

    Examples
    --------
    >>> from stakes.metrics import profit, roi
    >>> profit([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    11.0
    >>> roi([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    2.75
    """
    income, expenditure = _campaign(y_true, y_pred, benefit, contact_cost, sample_weight, pos_label)
    return income - expenditure


def roi(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
) -> float:
    """Return the return on investment: profit divided by the cost of all contacts.

    Parameters
    ----------
    y_true, y_pred, benefit, contact_cost, sample_weight, pos_label
        As in `profit`.

    Returns
    -------
    roi : float
        0 where nothing is spent and nothing earned; infinite where something is earned for nothing.

    Examples
    --------
    Two letters for 2 each bring 15:

    >>> from stakes.metrics import roi
    >>> roi([1, 0, 0, 1], [1, 1, 0, 0], benefit=[15, 0, 0, 20], contact_cost=2)
    2.75
    """
    income, expenditure = _campaign(y_true, y_pred, benefit, contact_cost, sample_weight, pos_label)
    return _share(income - expenditure, expenditure)


def g_mean(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Any = 1
) -> float:
    """Return the geometric mean of the true positive rate and the true negative rate.

    Parameters
    ----------
    y_true, y_pred, sample_weight, pos_label
        As in `total_cost`.

    Returns
    -------
    g_mean : float
        Between 0 and 1; 0 where a class is never found, or absent.

    Examples
    --------
    >>> from stakes.metrics import g_mean
    >>> g_mean([1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0])
    0.5
    """
    positive, acted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    weight = record_weights(sample_weight, positive.size)
    rates = [
        _share(weight[of_class & right].sum(), weight[of_class].sum())
        for of_class, right in ((positive, acted), (~positive, ~acted))
    ]
    return float(np.sqrt(rates[0] * rates[1]))


class Interval(NamedTuple):
    """An estimate with its confidence interval.

    Examples
    --------
    >>> from stakes.metrics import cost_interval
    >>> y_true, y_pred = [1, 1, 0, 0] * 25, [1, 0, 0, 1] * 25
    >>> found = cost_interval(y_true, y_pred, fp_cost=1, fn_cost=3, random_state=0)
    >>> found.low < found.estimate < found.high
    True
    """

    estimate: float
    low: float
    high: float


def cost_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return the total cost with a percentile bootstrap confidence interval.

    Parameters
    ----------
    y_true, y_pred, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label
        As in `total_cost`.
    confidence_level : float in (0, 1), default=0.95
        How often intervals made this way contain the expected total cost of as many records.
    n_resamples : int, default=2000
        How often the records are drawn anew, with replacement.
    random_state : int, Generator or None, default=None
        Fix it for the same interval each time.

    Returns
    -------
    interval : Interval
        `estimate` (the total cost), `low` and `high`.

    Examples
    --------
    >>> from stakes.metrics import cost_interval
    >>> y_true, y_pred = [1, 1, 0, 0] * 25, [1, 0, 0, 1] * 25
    >>> cost_interval(y_true, y_pred, fp_cost=1, fn_cost=3, random_state=0)
    Interval(estimate=100.0, low=7..., high=12...)
    """
    bill = _Bill.of(y_true, [y_pred], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    return _percentile_interval(bill.per_record(bill.acted[0]), confidence_level, n_resamples, random_state)


def cost_difference_interval(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    y_pred_other: ArrayLike,
    *,
    fp_cost: ArrayLike,
    fn_cost: ArrayLike,
    tp_cost: ArrayLike = 0.0,
    tn_cost: ArrayLike = 0.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = 1,
    confidence_level: float = 0.95,
    n_resamples: int = 2000,
    random_state: int | np.random.Generator | None = None,
) -> Interval:
    """Return how much more decisions cost than others on the same records, with a confidence interval.

    The comparison is paired: both are charged for the same resampled records, so what they decide alike cancels.

    Parameters
    ----------
    y_true, y_pred, fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label
        As in `total_cost`.
    y_pred_other : array-like of shape (n_records,)
        The decisions to compare with.
    confidence_level, n_resamples, random_state
        As in `cost_interval`.

    Returns
    -------
    interval : Interval
        The cost of `y_pred` minus that of `y_pred_other`. An interval below 0 says that `y_pred` is cheaper.

    Examples
    --------
    >>> from stakes.metrics import cost_difference_interval
    >>> y_true, careful, bold = [1, 1, 0, 0] * 25, [0, 1, 0, 0] * 25, [1, 1, 1, 0] * 25
    >>> cost_difference_interval(y_true, bold, careful, fp_cost=1, fn_cost=3, random_state=0).high < 0
    True
    """
    bill = _Bill.of(y_true, [y_pred, y_pred_other], fp_cost, fn_cost, tp_cost, tn_cost, sample_weight, pos_label)
    one, other = (bill.per_record(acted) for acted in bill.acted)
    return _percentile_interval(one - other, confidence_level, n_resamples, random_state)


COST_NAMES = ("fp_cost", "fn_cost", "tp_cost", "tn_cost")
METADATA_NAMES = (*COST_NAMES, "amount", "benefit", "contact_cost")


def make_cost_scorer(
    metric: Callable[..., float] = total_cost, *, greater_is_better: bool | None = None, **fixed: Any
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
        A function ``metric(y_true, y_pred, **metadata)``, of this module or your own.
    greater_is_better : bool or None, default=None
        Whether more is better; otherwise the score is minus the metric. None: yes, for all metrics but `total_cost`.
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
    return CostScorer(metric, greater_is_better=greater_is_better, fixed=fixed)


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

    def __init__(self, metric: Callable[..., float], *, greater_is_better: bool | None, fixed: dict[str, Any]) -> None:
        unknown = set(fixed) - set(COST_NAMES) - set(_metadata_of(metric))
        if unknown:
            raise TypeError(f"{_name(metric)} takes no argument {', '.join(sorted(unknown))}")
        self.metric = metric
        self.greater_is_better = metric is not total_cost if greater_is_better is None else greater_is_better
        self.fixed = fixed
        # What is not known to be metadata is left undecided (None): scikit-learn then asks the user to decide.
        names = dict.fromkeys((*COST_NAMES, *_metadata_of(metric)))
        self.requests: dict[str, bool | str | None] = {
            name: True if name in METADATA_NAMES else None for name in names if name not in fixed
        }

    def __repr__(self) -> str:
        settings = "".join(f", {name}={value!r}" for name, value in self.fixed.items())
        return f"make_cost_scorer({_name(self.metric)}, greater_is_better={self.greater_is_better}{settings})"

    def __call__(
        self, estimator: Any, X: Any, y_true: ArrayLike, *, sample_weight: ArrayLike | None = None, **metadata: Any
    ) -> float:
        """Return the score of the estimator's decisions on `X`; higher is better."""
        given = {**self.fixed, **metadata}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        for_metric = _metadata_of(self.metric)
        missing = [name for name, needed in for_metric.items() if needed and name not in given]
        if missing:
            raise CostsNeededError(
                f"{_name(self.metric)} needs {', '.join(missing)}: pass them as metadata (params= of cross_validate, "
                "or fit of GridSearchCV) after sklearn.set_config(enable_metadata_routing=True), "
                "or fix constants in make_cost_scorer"
            )
        costs = {name: given[name] for name in COST_NAMES if name in given}
        # A grid search predicts by its best estimator, and would not hand on costs: nested searches need this.
        estimator = getattr(estimator, "best_estimator_", estimator)
        y_pred = estimator.predict(X, **{name: costs[name] for name in _taken_by_predict(estimator, costs)})
        # Costs may be for predict only; anything else that the metric does not know is an error of the caller.
        value = self.metric(
            y_true, y_pred, **{name: v for name, v in given.items() if name in for_metric or name not in costs}
        )
        return value if self.greater_is_better else -value

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


def _metadata_of(metric: Callable[..., float]) -> dict[str, bool]:
    """Return the arguments of a metric after y_true and y_pred, and whether it needs them."""
    parameters = list(signature(metric).parameters.values())[2:]
    return {p.name: p.default is Parameter.empty for p in parameters if p.kind is not Parameter.VAR_KEYWORD}


def _taken_by_predict(estimator: Any, names: dict[str, Any]) -> Iterator[str]:
    """Yield those of `names` that the estimator's `predict` takes, itself or by handing them on."""
    parameters = signature(estimator.predict).parameters
    hands_on = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    routed = get_routing_for_object(estimator).consumes("predict", names) if hands_on else ()
    return (name for name in names if name in parameters or name in routed)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


class _Bill(NamedTuple):
    """What each record costs if decided negative and if decided positive, and the decisions to charge for."""

    if_negative: Floats
    if_positive: Floats
    acted: list[Mask]

    @classmethod
    def of(
        cls,
        y_true: ArrayLike,
        y_preds: list[ArrayLike],
        fp_cost: ArrayLike,
        fn_cost: ArrayLike,
        tp_cost: ArrayLike,
        tn_cost: ArrayLike,
        sample_weight: ArrayLike | None,
        pos_label: Any,
    ) -> _Bill:
        names = ("y_pred", "y_pred_other")
        positive, *acted = positives(pos_label, y_true=y_true, **dict(zip(names, y_preds, strict=False)))
        n = positive.size
        Costs(fp=fp_cost, fn=fn_cost, tp=tp_cost, tn=tn_cost).for_records(n, "y_true")  # the checks of the front door
        fp, fn, tp, tn = (
            per_record(cost, name, n)
            for cost, name in zip((fp_cost, fn_cost, tp_cost, tn_cost), COST_NAMES, strict=True)
        )
        weight = record_weights(sample_weight, n)
        if_negative, if_positive = weight * np.where(positive, fn, tn), weight * np.where(positive, tp, fp)
        return cls(if_negative, if_positive, acted)

    def per_record(self, acted: Mask | bool) -> Floats:
        return np.where(acted, self.if_positive, self.if_negative)

    def total(self, acted: Mask | bool) -> float:
        return float(self.per_record(acted).sum())


def _campaign(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    benefit: ArrayLike,
    contact_cost: ArrayLike,
    sample_weight: ArrayLike | None,
    pos_label: Any,
) -> tuple[float, float]:
    """Return what those contacted bring, and what contacting them costs."""
    positive, contacted = positives(pos_label, y_true=y_true, y_pred=y_pred)
    n = positive.size
    weight = record_weights(sample_weight, n)
    income = (weight * per_record(benefit, "benefit", n))[positive & contacted].sum()
    expenditure = (weight * _not_negative(contact_cost, "contact_cost", n))[contacted].sum()
    return float(income), float(expenditure)


def _not_negative(value: ArrayLike, argument: str, n: int) -> Floats:
    numbers = per_record(value, argument, n)
    if (numbers < 0).any():
        row = np.argmax(numbers < 0)
        raise CostsError(f"{argument} is negative in row {row}, {numbers[row]:g}: give numbers of 0 or more")
    return numbers


def _share(part: float, whole: float) -> float:
    """Return part / whole, where nothing of nothing is 0 and something of nothing infinite."""
    if whole == 0:
        return 0.0 if part == 0 else float(np.copysign(np.inf, part))
    return float(part / whole)


def _percentile_interval(
    values: Floats, confidence_level: float, n_resamples: int, random_state: int | np.random.Generator | None
) -> Interval:
    """Bootstrap the sum of `values`."""
    if not values.size:
        raise ValueError("an interval needs at least one record")
    if not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level must be between 0 and 1, got {confidence_level!r}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples!r}")
    sums = _resampled_sums(values, n_resamples, np.random.default_rng(random_state))
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(sums, [tail, 1 - tail])
    return Interval(float(values.sum()), float(low), float(high))


def _resampled_sums(values: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Return sums of as many values drawn with replacement.

    Only how often each distinct value is drawn matters. Most decisions are right and cost nothing, so there are
    far fewer distinct values than records.
    """
    distinct, counts = np.unique(values, return_counts=True)
    at_once = max(1, 1_000_000 // distinct.size)  # bounds the memory
    blocks = [min(at_once, n_resamples - done) for done in range(0, n_resamples, at_once)]
    return np.concatenate([rng.multinomial(values.size, counts / values.size, size=n) @ distinct for n in blocks])
