"""Gradient boosting on LightGBM, with costs in its weights, its loss or its decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._forks import threads_here
from stakes._member_classifier import CONSTRAINTS, MemberClassifier, ValidationRecords
from stakes._members import ModelMembers
from stakes._objectives import OBJECTIVES, SoftCost
from stakes._typing import Bools, Floats
from stakes._validation import Constraint, choice, number, whole
from stakes.decision.decision import Decision
from stakes.encoded import Encoder
from stakes.explain.models import Margins
from stakes.records import Records
from stakes.table import read_table

if TYPE_CHECKING:
    from lightgbm import Booster, Dataset

__all__ = ["BoostedTrees", "CostGradientBoostingClassifier"]

MakeLoss = Callable[[Records], SoftCost]

# In so many parts scores of records that a model was not trained on are found.
FOLDS = 4
# The L2 regularisation of the expected cost, in mean costs: scores hardly change where less is in the balance.
DOUBT = 10.0
# LightGBM keeps weights in single precision: weights whose mean is outside of these bounds are rescaled to a mean of 1.
WEIGHT_BOUNDS = (1e-30, 1e30)


END_OF_TREES = "end of trees"


def bare_text(text: str) -> str:
    """Return the text of a model of LightGBM without parameters, such as the number of threads, and sizes of trees.

    Models need neither to predict, and equal models have equal texts. Sizes would be trusted if they were there.
    """
    return re.sub(r"\ntree_sizes=[^\n]*", "", text.partition(END_OF_TREES)[0], count=1) + f"{END_OF_TREES}\n"


class BoostedTrees:
    """Trained models of LightGBM whose scores add up to a log-odds, kept as their texts."""

    classes_ = np.array([False, True])

    def __init__(self, texts: Sequence[str], n_threads: int = 1) -> None:
        self.texts = [bare_text(text) for text in texts]
        self.n_threads = n_threads

    def __getstate__(self) -> dict[str, Any]:
        return {"texts": self.texts, "n_threads": self.n_threads}

    @cached_property
    def boosters(self) -> list[Booster]:
        """The models, read from their texts."""
        import lightgbm  # takes a second, which only those who use it should wait for

        return [lightgbm.Booster(model_str=text) for text in self.texts]

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return the shares of the classes."""
        score = sum(_scores(booster, X, self.n_threads) for booster in self.boosters)
        return np.column_stack([expit(-score), expit(score)])

    def features_used(self, X: NDArray[Any]) -> Bools:
        """Return which features are asked of each record: all that some tree splits on."""
        used = np.any([booster.feature_importance("split") > 0 for booster in self.boosters], axis=0)
        return np.tile(used, (len(X), 1))

    def margins(self, X: NDArray[Any]) -> Margins:
        """Return what each feature adds to the log-odds, as exact Shapley values."""
        parts: Any = [
            booster.predict(X, pred_contrib=True, num_threads=threads_here(self.n_threads)) for booster in self.boosters
        ]
        found: Floats = np.sum(parts, axis=0)
        return Margins(found[:, :-1], float(found[0, -1]))


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostGradientBoostingClassifier(MemberClassifier):
    """Gradient boosting of trees (LightGBM), trained and decided by costs that may differ from record to record.

    Missing values and categories are split on as they are. Results depend on neither threads nor the unit of costs.

    Parameters
    ----------
    objective : {"logistic", "weighted", "cost"}, default="cost"
        What is minimised: the log loss, for a probability that is compared with T_cs; the log loss of records weighted
        by their costs, for a score that is compared with one half; or, from the logistic solution on, the expected cost
        of each record under a soft decision about its own T_cs. See the user guide.
    n_estimators : int, default=100
        How many trees.
    refinement : int, default=30
        How many trees the expected cost may add to those of the log loss, for ``objective="cost"``. As many are added
        as cost least in cross-validation, which may be none.
    learning_rate : float, default=0.1
        The share of a tree's values that is added to the score.
    num_leaves : int, default=8
        The largest number of leaves of a tree; LightGBM's own default is 31.
    max_depth : int, default=None
        The largest depth.
    min_child_samples : int, default=20
        The least number of records in a leaf.
    max_delta_step : float, default=1
        The largest value of a leaf, before the learning rate; 0 for no limit, as in LightGBM by default. Without it the
        value of a leaf of rare positives, gradient over curvature, is as large as the odds against them.
    reg_alpha, reg_lambda : float, default=0 and 1
        L1 and L2 regularisation of the values of leaves.
    subsample, colsample_bytree : float, default=1
        The share of records drawn anew, and of features, for each tree.
    lightgbm_params : dict, default=None
        Further parameters of LightGBM, in place of those above where both are given.
    early_stopping : int, default=None
        Stop when the cost of validation records has not fallen for so many trees of the log loss, and keep those up to
        the cheapest. The records are those that `validation` says.
    decision : Decision, default=None
        What becomes of the score: only its `calibration` and `threshold` can be chosen. None is T_cs, or 0.5 where the
        records were weighted.
    {validation}
    {costs_and_label}
    {n_jobs}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the records and features drawn, and of the records held out.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    boosters_ : list of lightgbm.Booster
        The trained models, whose scores add up: of the log loss, and of the expected cost where it adds trees.
    n_trees_ : int
        How many trees they have.
    feature_importances_ : ndarray of shape (n_features,)
        The gain of all splits on a feature in the model of the log loss, as a share of the whole.
    {decision_in_force}

    Examples
    --------
    >>> from stakes import CostGradientBoostingClassifier
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(4000, random_state=0)
    >>> clf = CostGradientBoostingClassifier(random_state=0)
    >>> clf = clf.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> labels = clf.predict(data.frame, fp_cost=5.0, fn_cost=data.costs.fn)
    """

    _constraints = CONSTRAINTS | {
        "objective": choice(*OBJECTIVES),
        "n_estimators": whole(1),
        "refinement": whole(0),
        "learning_rate": number(1e-6, 1.0),
        "num_leaves": whole(2, 131072),
        "max_depth": whole(1, optional=True),
        "min_child_samples": whole(1),
        "max_delta_step": number(0.0, 1e6),
        "reg_alpha": number(0.0, 1e100),
        "reg_lambda": number(0.0, 1e100),
        "subsample": number(1e-6, 1.0),
        "colsample_bytree": number(1e-6, 1.0),
        "lightgbm_params": Constraint(
            lambda value: isinstance(value, Mapping | None),
            "is not valid: give a dict of parameters, or None",
        ),
        "early_stopping": whole(1, optional=True),
    }

    objective: str = "cost"
    n_estimators: int = 100
    refinement: int = 30
    learning_rate: float = 0.1
    num_leaves: int = 8
    max_depth: int | None = None
    min_child_samples: int = 20
    max_delta_step: float = 1.0
    reg_alpha: float = 0.0
    reg_lambda: float = 1.0
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    lightgbm_params: Mapping[str, Any] | None = None
    early_stopping: int | None = None
    decision: Decision | None = None
    validation: float | str | None = "auto"
    n_jobs: int | None = None

    def _needs_validation(self, positive: Bools) -> bool:
        return self.early_stopping is not None or super()._needs_validation(positive)

    def _read(self, X: Any, *, reset: bool) -> NDArray[Any]:
        table = read_table(self, X, reset=reset)
        if reset:
            self.encoder_ = Encoder(table)
        return self.encoder_.matrix(table)

    def _params(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the parameters of LightGBM."""
        return {
            "objective": "binary",
            "metric": "None",
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "max_depth": -1 if self.max_depth is None else self.max_depth,
            "min_data_in_leaf": self.min_child_samples,
            "max_delta_step": self.max_delta_step,
            "lambda_l1": self.reg_alpha,
            "lambda_l2": self.reg_lambda,
            "bagging_fraction": self.subsample,
            "bagging_freq": int(self.subsample < 1),
            "feature_fraction": self.colsample_bytree,
            **(self.lightgbm_params or {}),
            "seed": int(rng.integers(2**31)),
            "num_threads": threads_here(self._n_threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        del X  # the encoded features are in the records
        records = records.counted
        if (weight := records.weight) is not None and not WEIGHT_BOUNDS[0] <= weight.mean() <= WEIGHT_BOUNDS[1]:
            records = replace(records, weight=weight / weight.mean())
        objective, params = OBJECTIVES[self.objective], self._params(rng)
        boosters = [self._boost(records, params)]
        if objective.loss is not None:
            boosters += self._refined(records, objective.loss, params)
        texts = [booster.model_to_string() for booster in boosters]
        self.members_ = ModelMembers([BoostedTrees(texts, self._n_threads)], True)
        self.default_decision_ = Decision(output="average", threshold=objective.threshold)
        return None

    def _refined(self, records: Records, loss: MakeLoss, params: dict[str, Any]) -> list[Booster]:
        """Return the model that the loss adds to the logistic one, if it lowers the cost.

        It starts from scores of the logistic solution for records that it was not trained on: those for training
        records are too far from their thresholds, on the right side of them, and a bounded loss does not keep them
        there.
        """
        n_folds = min(FOLDS, *np.bincount(records.positive))
        if n_folds < 2 or not self.refinement:
            return []
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=params["seed"])
        parts = list(folds.split(records.positive, records.positive))
        start = np.empty(len(records))
        for train, test in parts:
            booster = self._boost(records.take(train), params)
            if not booster.feature_importance().any():  # no feature can be split on: LightGBM refuses a loss of our own
                return []
            start[test] = _scores(booster, records.X[test], self._n_threads)
        costs = np.zeros(self.refinement + 1)
        for train, test in parts:
            added = self._add(records.take(train), loss, params, self.refinement, start[train])
            costs += self._staged_costs(added, records.take(test), start[test])
        n_trees = int(costs.argmin())
        return [self._add(records, loss, params, n_trees, start)] if n_trees else []

    def _staged_costs(self, booster: Booster, records: Records, start: Floats) -> Floats:
        """Return what decisions on records cost with the first 0, 1, 2, ... trees added to their scores."""
        score, threshold = start.copy(), records.known.threshold()
        costs = np.empty(self.refinement + 1)
        for k in range(self.refinement + 1):
            costs[k] = records.loss[(expit(score) > threshold) != records.positive].sum()
            if k < booster.num_trees():
                score += _scores(booster, records.X, self._n_threads, k)
        return costs

    def _add(self, records: Records, loss: MakeLoss, params: dict[str, Any], n_trees: int, start: Floats) -> Booster:
        """Return the trees by which a loss goes on from some scores."""
        import lightgbm

        data = self._dataset(records, start=start)
        return lightgbm.train(params | {"objective": loss(records), "lambda_l2": DOUBT}, data, n_trees)

    def _dataset(
        self, records: Records, weight: Floats | None = None, reference: Any = None, start: float | Floats | None = None
    ) -> Dataset:
        import lightgbm

        categories = np.flatnonzero(self.encoder_.categorical).tolist()
        label = records.positive.astype(np.float64)
        return lightgbm.Dataset(
            records.X,
            label,
            weight=weight,
            reference=reference,
            init_score=None if start is None else np.full(len(records), start),
            categorical_feature=categories,
        )

    def _start(self, records: Records, weight: Floats) -> float | None:
        """Return the score that weighted records start from; None for their log-odds, as in LightGBM.

        Few trees of bounded leaves cannot lead a score back from the log-odds of dear positives to the other side of
        one half, and would act on all. Training starts no farther from it than half the way that they can go. How far
        that is with other parameters of LightGBM is not known.
        """
        if OBJECTIVES[self.objective].threshold != "half" or not self.max_delta_step or self.lightgbm_params:
            return None
        reach = self.n_estimators * self.learning_rate * self.max_delta_step
        positive = weight[records.positive].sum()
        with np.errstate(divide="ignore"):
            log_odds = np.log(positive) - np.log(weight.sum() - positive)
        return None if abs(log_odds) <= reach / 2 else float(np.copysign(reach / 2, log_odds))

    def _boost(self, records: Records, params: dict[str, Any]) -> Booster:
        """Return a model of the log loss, up to the tree that costs least on validation records with early stopping."""
        import lightgbm

        weight = OBJECTIVES[self.objective].weight(records)
        start = self._start(records, weight)
        data = self._dataset(records, weight, start=start)
        if self.early_stopping is None:
            return _from(start, lightgbm.train(params, data, self.n_estimators))
        held_out = records if self.validation_ is None else self.validation_.records
        found = lightgbm.train(
            params,
            data,
            self.n_estimators,
            valid_sets=[self._dataset(held_out, reference=data, start=start)],
            feval=self._cost_of(held_out),
            callbacks=[lightgbm.early_stopping(self.early_stopping, verbose=False)],
        )
        return _from(start, lightgbm.Booster(model_str=found.model_to_string(num_iteration=found.best_iteration)))

    def _cost_of(self, records: Records) -> Callable[[Floats, Any], tuple[str, float, bool]]:
        """Return a metric of LightGBM (`feval`): the cost of decisions on records by their probabilities."""
        threshold = 0.5 if OBJECTIVES[self.objective].threshold == "half" else records.known.threshold()

        def cost(probability: Floats, _data: Any) -> tuple[str, float, bool]:
            return "cost", float(records.loss[(probability > threshold) != records.positive].sum()), False

        return cost

    @property
    def boosters_(self) -> list[Booster]:
        """The trained models of LightGBM, whose scores add up."""
        check_is_fitted(self)
        return self.members_.models[0].boosters

    @property
    def n_trees_(self) -> int:
        """How many trees the models have."""
        return sum(booster.num_trees() for booster in self.boosters_)

    @property
    def feature_importances_(self) -> Floats:
        """The gain of all splits on each feature in the model of the log loss, as a share of the whole."""
        gains = np.asarray(self.boosters_[0].feature_importance("gain"), dtype=np.float64)
        return gains / (gains.sum() or 1.0)


def _from(start: float | None, booster: Booster) -> Booster:
    """Return a model whose first tree adds the score that training started from, as LightGBM's own start is kept."""
    if start is not None:
        for leaf in range(booster.dump_model(num_iteration=1)["tree_info"][0]["num_leaves"]):
            booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + start)
    return booster


def _scores(booster: Booster, X: NDArray[Any], n_threads: int, tree: int | None = None) -> Floats:
    """Return the scores of records by all trees of a model, or by one."""
    trees: dict[str, Any] = {} if tree is None else {"start_iteration": tree, "num_iteration": 1}
    return np.asarray(
        booster.predict(X, raw_score=True, num_threads=threads_here(n_threads), **trees), dtype=np.float64
    )
