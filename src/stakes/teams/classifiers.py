"""Classifiers that train several models, and let a team or a stack of them decide."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from stakes._base import COST_NAMES, check_features
from stakes._docs import documented
from stakes._fitting import fit_model, takes
from stakes._member_classifier import CONSTRAINTS, MemberClassifier, ValidationRecords
from stakes._members import NO_METADATA, ModelMembers
from stakes._random import seeded
from stakes._routing import Route, answering
from stakes._typing import Bools, Floats, Indices
from stakes._validation import boolean, check_value, choice, classifier, number, whole
from stakes.catalog import make_classifier
from stakes.costs import Costs
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.cuts import Cut
from stakes.decision.decision import Decision
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Readings, Source
from stakes.explain.contributions import Contributions
from stakes.explain.models import contributions_of
from stakes.explain.permutations import Sampling
from stakes.records import Records
from stakes.teams.blends import CALIBRATION, Blend, cross_fit, fit_best, fit_stack, fit_team

__all__ = ["CostStackingClassifier", "CostTeamClassifier"]

# The models that `estimators=None` stands for: different in kind, by record-dependent costs or without. On nine data
# sets their blends are as good as those of twice as many.
DEFAULT_ESTIMATORS = ("rf", "bg", "rdf", "wrf", "cprrf", "cprbg", "cprrdf", "ab", "ncsab", "ac2", "gb", "lr")
PROBABILITY = Source.of(Decision(output="average"), "average")


class OutOfFold(ValidationRecords):
    """The training records, without features, with their scores by models that were not trained on them.

    `scores` has the shape (n_records, n_models); `folds` has the fold in which each record was held out.
    """

    _computed = ("_probability",)

    def __init__(self, records: Records, scores: Floats, folds: Indices) -> None:
        super().__init__(records)
        self.scores = scores
        self.folds = folds

    @classmethod
    def of(cls, records: Records, scores: Floats, splits: Sequence[tuple[Indices, Indices]]) -> OutOfFold:
        """Return the records that are held out in one of the splits."""
        rows = np.concatenate([held_out for _, held_out in splits])
        folds = np.repeat(np.arange(len(splits)), [held_out.size for _, held_out in splits])
        order = np.argsort(rows)
        return cls(records.with_features(None).take(rows[order]), scores[rows[order]], folds[order])

    def probability(self, fit: Callable[[Floats, Records], Blend]) -> Floats:
        """Return the probability of each record by a blend that was chosen on the other folds."""
        if "_probability" not in vars(self):
            self._probability = cross_fit(fit, self.scores, self.records, self.folds)
        return self._probability


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class BlendClassifier(MemberClassifier):
    """Base of teams and stacks: models, and a blend of their scores, which is chosen on out-of-fold scores.

    A subclass says how the blend is chosen (`_fit_blend`).
    """

    estimators: Sequence[Any] | None = field(default=None, kw_only=False)
    calibration: str | None = CALIBRATION
    cv: Any = 5
    decision: Decision | None = None
    n_jobs: int | None = None

    _constraints = CONSTRAINTS | {
        "calibration": choice(None, *(name for name, kind in CALIBRATIONS.items() if not kind.needs_total_weight)),
    }

    # Blends are chosen, and decisions tuned, on out-of-fold scores of all training records: none are held out.
    validation = "auto"

    @abstractmethod
    def _fit_blend(self, scores: Floats, records: Records) -> Blend:
        """Return the blend chosen on out-of-fold scores."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = all(get_tags(model).input_tags.allow_nan for _, model in self._named_estimators())
        return tags

    def _named_estimators(self) -> list[tuple[str, Any]]:
        given = DEFAULT_ESTIMATORS if self.estimators is None else self.estimators
        return [_named(entry) for entry in ([given] if isinstance(given, str) else given)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = self._named_estimators()
        if not named:
            raise ValueError("estimators is empty: give at least one, or None for the default")
        names = [name for name, _ in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"estimators has {twice[0]!r} more than once: give each a name of its own")
        for name, estimator in named:
            check_value(f"estimators: {name}", estimator, classifier())
            if not hasattr(estimator, "predict_proba"):
                raise TypeError(f"estimators: {name}={estimator!r} has no predict_proba, which a blend is made of")

    # The models are combined by their probabilities only.
    votes_ = Votes(output="average", voting=False)
    default_decision_ = Decision(output="average", threshold="cost")

    def _needs_validation(self, positive: Bools) -> bool:
        return False

    def _routes(self) -> dict[str, Route]:
        return {name: (estimator, answering(estimator)) for name, estimator in self._named_estimators()}

    def _metadata(self, method: str, metadata: dict[str, Any]) -> dict[str, Any]:
        routed = self._routed(method, metadata)
        return metadata if method == "fit" else routed  # in training each model picks what it asks for by itself

    def _read(self, X: Any, *, reset: bool) -> Any:
        return check_features(self, X, reset=reset)

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> OutOfFold:
        named = self._named_estimators()
        given = self.validation_
        splits = self._splits(records if given is None else given.records, rng)
        seeds = rng.integers(2**31, size=(len(named), len(splits) + 1))
        everything = np.arange(len(records))
        asked = self._routed("fit", records.metadata)

        def train(model: int, rows: Indices, split: int) -> Any:
            name, estimator = named[model]
            try:
                some = replace(records, metadata=asked[name]).take(rows)
                fresh = seeded(estimator, np.random.default_rng(seeds[model, split]))
                return fit_model(fresh, some, self._class_labels, pass_costs=True)
            except Exception as error:
                error.add_note(f"This happened while the estimator {name!r} was trained.")
                raise

        def judge(model: int, split: int) -> Floats:
            rows, held_out = splits[split]
            some = records.take(held_out)
            return self._scores(train(model, rows, split), some.X, some.known)

        def train_all(models: Iterable[int]) -> list[Any]:
            return self._parallel(delayed(train)(model, everything, -1) for model in models)

        # With validation records of the caller's, the models are trained once; without, once more for every fold.
        if given is None:
            pairs = list(product(range(len(named)), range(len(splits))))
            scores = np.full((len(records), len(named)), np.nan)
            for (model, split), score in zip(pairs, self._parallel(delayed(judge)(*p) for p in pairs), strict=True):
                scores[splits[split][1], model] = score
            found = OutOfFold.of(records, scores, splits)
            blend = self._fit_blend(found.scores, found.records)
            models = train_all(blend.used)
        else:
            trained = train_all(range(len(named)))
            scores = np.column_stack([self._scores(model, given.records.X, given.records.known) for model in trained])
            self.validation_ = found = OutOfFold.of(given.records, scores, splits)
            blend = self._fit_blend(found.scores, found.records)
            models = [trained[model] for model in blend.used]
        self._set_models([(named[model][0], fitted) for model, fitted in zip(blend.used, models, strict=True)], blend)
        return found

    def _scores(self, model: Any, X: Any, costs: Costs | None, metadata: dict[str, Any] | None = None) -> Floats:
        """Return the score of the positive class; costs are passed to the models that take them."""
        shares = model.predict_proba(X, **_costs_for(model, costs) | (metadata or {}))
        return np.asarray(shares[:, list(model.classes_).index(self.classes_[self._positive])], dtype=np.float64)

    def _parallel(self, tasks: Any) -> list[Any]:
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks))

    def _splits(self, records: Records, rng: np.random.Generator) -> list[tuple[Indices, Indices]]:
        """Return the rows to train on and the rows to hold out, for every fold."""
        positive, cv = records.positive, self.cv
        seed = int(rng.integers(2**31))
        if isinstance(cv, Integral):
            smaller = int(np.bincount(positive).min())
            if smaller < int(cv):
                raise ValueError(f"the smaller class has {smaller} record(s), too few for cv={cv}: choose fewer folds")
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
        splits = list(check_cv(cv, positive, classifier=True).split(np.zeros(len(records)), positive))
        if np.bincount(np.concatenate([held_out for _, held_out in splits])).max() > 1:
            raise ValueError("cv holds out some records more than once: choose a splitter whose parts are disjoint")
        return splits

    def _set_models(self, named: Sequence[tuple[str, Any]], blend: Blend) -> None:
        """Keep the models with a weight, and the blend of their scores."""
        self.names_ = [name for name, _ in named]
        self.blend_ = blend.take(blend.used)
        self.members_ = ModelMembers([estimator for _, estimator in named], self.classes_[self._positive])

    @property
    def estimators_(self) -> list[Any]:
        """The trained models."""
        models: list[Any] = self.members_.models
        return models

    @property
    def named_estimators_(self) -> dict[str, Any]:
        """The trained models by their names."""
        return dict(zip(self.names_, self.estimators_, strict=True))

    @property
    def weights_(self) -> Floats:
        """The weight of each model in `estimators_`."""
        return self.blend_.weights

    @property
    def calibrations_(self) -> tuple[Any, ...]:
        """What makes a probability of the score of each model in `estimators_`."""
        return self.blend_.calibrations

    def _validation_readings(self, reader: Reader) -> Readings:
        assert isinstance(self.validation_, OutOfFold)
        return Readings({PROBABILITY: self.validation_.probability(self._fit_blend)}, {})

    def _readings(
        self, reader: Reader, features: Any, costs: Costs | None, metadata: Mapping[str, Any] = NO_METADATA
    ) -> Readings:
        # The metadata is by the names of the models.
        named = self.named_estimators_.items()
        scores = np.column_stack([self._scores(model, features, costs, metadata.get(name)) for name, model in named])
        return Readings({PROBABILITY: self.blend_(scores)}, {})

    def _contributions(
        self, X: Any, given: dict[str, Any], sampling: Sampling | None
    ) -> tuple[Contributions | None, Costs | None]:
        X = self._read(X, reset=False)
        costs = self._costs_to_explain(X, X.shape[0], given, needed=False)
        parts = []
        for model in self.estimators_:
            given = dict.fromkeys(COST_NAMES) | _costs_for(model, costs)
            part = contributions_of(model, X, self.classes_[self._positive], given, sampling, self.background_)
            if part is None:
                return None, costs
            parts.append(part)
        return self.blend_.explained(parts).through(self.cut_.calibration), costs

    @classmethod
    def from_fitted(
        cls,
        estimators: Sequence[tuple[str, Any]],
        blend: Blend,
        *,
        decision: Decision | None = None,
        cut: Cut | None = None,
        fp_cost: float | None = None,
        fn_cost: float | None = None,
        pos_label: Any = None,
    ) -> Self:
        """Return a fitted classifier of models that are trained already, and a blend that was chosen elsewhere.

        Parameters
        ----------
        estimators : sequence of (str, fitted classifier)
            One for each weight of the blend; those without a weight are dropped.
        blend : Blend
            Of `stakes.teams.blends`: `Team` for a team, `Stack` for a stack.
        decision : Decision, default=None
            T_cs on the probability by default.
        cut : Cut, default=None
            Calibration and threshold of the decision, where it chooses them on records.
        fp_cost, fn_cost : float, default=None
            Costs to be remembered for `predict`; None where they differ from record to record.
        {positive_label}

        Returns
        -------
        classifier

        Examples
        --------
        >>> from stakes import CostTeamClassifier, make_classifier
        >>> from stakes.datasets import make_churn
        >>> from stakes.teams.blends import Team
        >>> import numpy as np
        >>> data = make_churn(500, random_state=0)
        >>> names = ["rf", "bg"]
        >>> models = [(name, make_classifier(name, random_state=0).fit(data.frame, data.target)) for name in names]
        >>> blend = Team(weights=np.array([0.5, 0.5]), calibrations=(None, None))
        >>> team = CostTeamClassifier.from_fitted(models, blend, fp_cost=1, fn_cost=5)
        >>> team.predict(data.frame).shape
        (500,)
        """
        if len(estimators) != blend.weights.size:
            raise ValueError(f"{len(estimators)} estimators were given, and the blend has {blend.weights.size} weights")
        for _, estimator in estimators:
            check_is_fitted(estimator)
        used = [estimators[model] for model in blend.used]
        classes = [estimator.classes_ for _, estimator in used]
        for (name, _), found in zip(used, classes, strict=True):
            if found.size != 2 or not np.array_equal(found, classes[0]):
                raise ValueError(
                    f"estimators: {name!r} was trained on the classes {found.tolist()}, and {used[0][0]!r} on "
                    f"{classes[0].tolist()}: train all on the same two"
                )
        self = cls(list(used), decision=decision, pos_label=pos_label)
        self.classes_ = classes[0]
        for attribute in ("n_features_in_", "feature_names_in_"):
            for _, estimator in used:
                if hasattr(estimator, attribute):
                    setattr(self, attribute, getattr(estimator, attribute))
        self.cost_estimators_ = {}
        remembered = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": 0.0, "tn_cost": 0.0}
        self.constant_costs_ = {name: float(cost) for name, cost in remembered.items() if cost is not None}
        self.validation_ = self.background_ = None
        self._set_models(used, blend.take(blend.used))
        self._decide_by(decision, cut)
        return self


def _named(entry: Any) -> tuple[str, Any]:
    """Return a classifier and its name, by a pair of them or by a name of the catalogue."""
    if isinstance(entry, str):
        return entry, make_classifier(entry)
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise TypeError(
            f"estimators: {entry!r} is neither a name of the catalogue nor a pair of a name and a classifier"
        )
    return entry[0], entry[1]


def _costs_for(model: Any, costs: Costs | None) -> dict[str, Any]:
    """Return the costs as a model takes them; nothing where it takes none."""
    return {"fp_cost": costs.fp, "fn_cost": costs.fn} if costs is not None and takes(model, "fp_cost") else {}


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostTeamClassifier(BlendClassifier):
    """A weighted mean of a few calibrated models, chosen on what its decisions by T_cs cost out of fold.

    Every model is trained in every fold, so that each record is scored by models that have not seen it. The scores are
    calibrated, and a few models are chosen whose mean probability decides cheapest (Caruana et al. 2004, 2006). Those
    are then trained on all records.

    Parameters
    ----------
    {blended_models}
    choose : {"greedy", "best"}, default="greedy"
        A greedy search, with replacement and bagged; or the plain mean of the models that are best by themselves.
    size : int, default=5
        At most so many models are in the team.
    n_bags : int, default=20
        How many greedy searches, on bootstrapped records, are averaged.
    {blending}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the models that have none. The bags of the search are always the same.

    Attributes
    ----------
    {blended}

    Examples
    --------
    >>> from stakes import CostTeamClassifier
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(800, random_state=0)
    >>> team = CostTeamClassifier(["rf", "wrf", "ncsab"], cv=3, random_state=0)
    >>> team = team.fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    >>> set(team.names_) <= {"rf", "wrf", "ncsab"}
    True
    >>> labels = team.predict(data.frame, fp_cost=data.costs.fp, fn_cost=2 * data.costs.fn)
    """

    choose: str = "greedy"
    size: int = 5
    n_bags: int = 20

    _constraints = BlendClassifier._constraints | {
        "choose": choice("greedy", "best"),
        "size": whole(1),
        "n_bags": whole(1),
    }

    def _fit_blend(self, scores: Floats, records: Records) -> Blend:
        if self.choose == "best":
            return fit_best(scores, records, calibration=self.calibration, size=self.size)
        return fit_team(scores, records, calibration=self.calibration, size=self.size, n_bags=self.n_bags)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostStackingClassifier(BlendClassifier):
    """A regularised logistic model on the logits of calibrated models, decided by T_cs.

    Every model is trained in every fold, so that each record is scored by models that have not seen it. A logistic
    model is fitted to the logits of the models that decide cheapest by themselves, with weights that are pulled towards
    the mean of the five best. Those models are then trained on all records.

    Parameters
    ----------
    {blended_models}
    size : int, default=12
        At most so many models have a weight.
    strength : float, default=30
        Of the pull towards the mean of the five best: this times the squared distance is added to the log loss, summed
        over the records.
    by_stakes : bool, default=False
        Whether records are weighted by what is at stake, fp_cost + fn_cost.
    {blending}
    random_state : int, Generator, RandomState or None, default=None
        Seed of the folds, and of the models that have none.

    Attributes
    ----------
    {blended}

    Examples
    --------
    >>> from stakes import CostStackingClassifier
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(800, random_state=0)
    >>> stack = CostStackingClassifier(["rf", "wrf", "ncsab"], cv=3, random_state=0)
    >>> stack = stack.fit(data.frame, data.target, fp_cost=data.costs.fp, fn_cost=data.costs.fn)
    >>> sorted(stack.names_)
    ['ncsab', 'rf', 'wrf']
    """

    size: int = 12
    strength: float = 30.0
    by_stakes: bool = False

    _constraints = BlendClassifier._constraints | {
        "size": whole(1),
        "strength": number(0, inf),
        "by_stakes": boolean(),
    }

    def _fit_blend(self, scores: Floats, records: Records) -> Blend:
        names = ("calibration", "size", "strength", "by_stakes")
        return fit_stack(scores, records, **{name: getattr(self, name) for name in names})
