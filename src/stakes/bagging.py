"""Ensembles of the bagging kind: members by sampling and weights (FRAMEWORK 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes._rows import append_rows, take_columns, take_rows
from stakes.base import (
    MemberClassifier,
    ValidationRecords,
    check_classifier,
    check_features,
    check_n_estimators,
)
from stakes.cost_tree import CostTreeClassifier, plot_of
from stakes.costs import Costs
from stakes.decision.decision import Decision
from stakes.decision.reader import Votes
from stakes.members import ModelMembers, TreeMembers
from stakes.metrics import savings_score, total_cost
from stakes.progress import progress
from stakes.records import Records
from stakes.sampling.base import MemberSampler, Sample, with_class_means
from stakes.sampling.registry import make_sampler
from stakes.sampling.rejection import Bootstrap
from stakes.sampling.rows import drawn_rows
from stakes.tree.nodes import FeatureBins, Nodes
from stakes.tree.recipe import Plot, TreeRecipe
from stakes.tree.trees import Trees

__all__ = ["CostBaggingClassifier"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Boosting of fewer records than this is mostly Python code: threads would wait for one another (measured).
MANY = 4096


class CostBaggingClassifier(MemberClassifier):
    """Bagging, random forests and random decision forests, in all their cost-sensitive forms.

    Parameters
    ----------
    estimator : classifier, default=None
        What the members are: a `CostTreeClassifier`, whose parameters are followed by the fast engine, or any
        scikit-learn classifier. None is an unpruned `CostTreeClassifier()`.
    n_estimators : int, default=100
        How many members.
    sampling : {"under", "over", "hybrid", "smote", "cpr"} or sampler, default=None
        How each member's sample is drawn by the costs, instead of the bootstrap (None). Samplers of imbalanced-learn
        are accepted too.
    presample : bool, default=False
        Sample once, and bootstrap the result for each member.
    weighted : bool, default=False
        Weigh records by their costs, and votes by the mean weight in the leaf reached.
    features : {"all", "per_split", "per_tree"}, default="all"
        Bagging; random forests, which draw features anew for each split; or random decision forests, which draw
        them once for each member. How many is up to the estimator's `max_features`: by default the square root for
        each split, and half of them for each tree.
    decision : Decision, default=None
        None decides by 0.5 where costs acted in training, and by T_cs on the mean probability otherwise: also of trees
        that were grown by cost but not pruned by it, whose leaves are of one class whatever it costs. After
        over-sampling it curtails small leaves, because a leaf of copies is pure however many there are.
    validation : float, "auto", "oob" or None, default="auto"
        Where tuning and pruning get their records if fit is given none: out of the bag ("oob"); a share of the
        training records, held out; or the training records themselves (None). "auto" is out-of-bag where sampling
        leaves a fair sample of both classes out, and otherwise holds out a fifth where something needs it.
    prior_correction : bool, default=False
        Correct probabilities for the class ratio of the samples (Elkan's formula).
    fp_cost, fn_cost : float, default=1
        Constant costs, for where fit is given none.
    cost_estimator : regressor or dict, default=None
        Estimates costs that are not known when predicting.
    pos_label : label, default=None
        The positive class; the larger of the two labels by default.
    n_jobs : int, default=None
        How many threads to use; a joblib backend in force is used instead. Members that are ensembles themselves, on
        few records, are made one after the other: threads would slow them down.
    random_state : int, Generator, RandomState or None, default=None
        Seed. Results do not depend on the number of threads.
    verbose : int, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    members_ : TreeMembers or ModelMembers
        The trained members.
    decision_ : Decision
        The decision in force.
    feature_importances_ : ndarray of shape (n_features,)
        For members that are trees, the mean gain of all splits on a feature: as shares of the whole, or, for the cost
        criterion, in units of money.
    oob_cost_, oob_savings_ : float
        Total cost and savings of the decision in force on the records out of the bag, where there are any.

    Examples
    --------
    >>> from stakes import CostBaggingClassifier, Decision
    >>> from stakes.datasets import make_transactions
    >>> data = make_transactions(4000, random_state=0)
    >>> forest = CostBaggingClassifier(features="per_split", random_state=0)
    >>> forest = forest.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)
    >>> labels = forest.predict(data.frame, fp_cost=5.0, fn_cost=data.costs.fn)

    New costs and other decisions need no training:

    >>> dearer = forest.predict(data.frame, fp_cost=50.0, fn_cost=data.costs.fn)
    >>> int(dearer.sum()) < int(labels.sum())
    True
    >>> voting = forest.with_decision(Decision(member="cost", vote_weight="squared_odds"))
    >>> voting.members_ is forest.members_
    True
    """

    members_: TreeMembers | ModelMembers

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        sampling: Any = None,
        presample: bool = False,
        weighted: bool = False,
        features: str = "all",
        decision: Decision | None = None,
        validation: float | str | None = "auto",
        prior_correction: bool = False,
        fp_cost: float = 1.0,
        fn_cost: float = 1.0,
        cost_estimator: Any = None,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.sampling = sampling
        self.presample = presample
        self.weighted = weighted
        self.features = features
        self.decision = decision
        self.validation = validation
        self.prior_correction = prior_correction
        self.fp_cost = fp_cost
        self.fn_cost = fn_cost
        self.cost_estimator = cost_estimator
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self._tree is None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @property
    def _tree(self) -> CostTreeClassifier | None:
        """The tree that members are made like; None if they are something else."""
        if self.estimator is None:
            return CostTreeClassifier()
        return self.estimator if isinstance(self.estimator, CostTreeClassifier) else None

    def _recipe(self) -> TreeRecipe:
        tree = self._tree
        assert tree is not None
        recipe = tree.recipe()
        if self.features == "per_split" and recipe.max_features is None:
            return replace(recipe, max_features="sqrt")
        if self.features == "per_tree":
            return replace(recipe, max_features=None)
        return recipe

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.features not in ("all", "per_split", "per_tree"):
            raise ValueError(f"features={self.features!r} is not known: choose from 'all', 'per_split', 'per_tree'")
        check_n_estimators(self.n_estimators)
        if self.presample and self.sampling is None:
            raise ValueError("presample=True has nothing to do without sampling=: choose one, or presample=False")
        if self.prior_correction and self.weighted:
            raise ValueError("prior_correction=True is about samples, and weights shift the prior too: choose one")
        if self._tree is None:
            check_classifier("estimator", self.estimator)
            if self.features == "per_split":
                raise ValueError(f"features='per_split' is about trees, and the members are {self.estimator!r}")
            if self.weighted and not has_fit_parameter(self.estimator, "sample_weight"):
                raise ValueError(f"weighted=True needs members that take sample_weight: {self.estimator!r} does not")
            return
        self._tree._check_parameters()
        if self.weighted and self._recipe().criterion == "cost":
            raise ValueError("weighted=True and criterion='cost' both count the costs: choose one of the two")

    def _validations(self) -> tuple[str | None, ...]:
        return ("auto", "oob", None)

    def _sampler(self) -> MemberSampler:
        negative, positive = self.classes_[1 - self._positive], self.classes_[self._positive]
        return make_sampler(self.sampling, classes=(negative, positive))

    def _leaves_records_out(self) -> bool:
        """Whether the records that a member's sample lacks are a fair sample of both classes."""
        sampler = self._sampler()
        return not sampler.repeats_records if self.presample else sampler.leaves_records_out

    def _needs_validation(self) -> bool:
        # Out-of-bag records serve where there are any: nothing has to be held out.
        if self._leaves_records_out():
            return False
        prunes = self._tree is not None and self._tree.pruning is not None
        return prunes or super()._needs_validation()

    def _read(self, X: Any, *, reset: bool) -> Any:
        if self._tree is None:
            return check_features(self, X, reset=reset)
        return self._bin(X, self._tree.max_bins, reset=reset)

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        everyone, counted = records, np.ones(len(records), np.bool_)
        if records.weight is not None and not records.weight.all():
            # Who does not count is in no sample.
            counted = records.weight > 0
            records, X = records.take(np.flatnonzero(counted)), take_rows(X, np.flatnonzero(counted))
        sampler = self._sampler()
        costs = records.costs
        if sampler.constant_costs_only and not costs.constant:
            costs = with_class_means(costs, records.positive, type(sampler).__name__)
        positive = records.positive.astype(np.int64)
        first, *seeds = np.random.SeedSequence(int(rng.integers(2**63))).spawn(1 + self.n_estimators)
        once = np.random.default_rng(first)
        presampled = None
        if self.presample:
            presampled = sampler.draw(positive, costs, once, X)
        else:
            sampler = sampler.prepare(positive, costs, once, self.n_estimators, X)
        # Equal costs copy nothing, and a bootstrap of the records as they are is plain bagging.
        self._has_copies = sampler.only_copies and (presampled is None or int(presampled.counts.max()) > 1)
        shared = _Shared(
            records=records,
            X=X,
            sampler=sampler,
            costs=costs,
            presampled=presampled,
            weighted=self.weighted,
            n_features=self.n_features_in_,
            n_drawn=self._n_drawn(),
        )
        make = self._make_trees if self._tree is not None else self._make_models
        seen = make(shared, seeds)
        if not counted.all():
            of_counted, seen = seen, np.zeros((len(everyone), self.n_estimators), np.bool_)
            seen[counted] = of_counted
        outside: Bools = np.logical_not(seen.all(axis=1)) & counted
        both = outside[everyone.positive].any() and outside[~everyone.positive].any()
        if self.validation == "oob" and self.validation_ is None and not both:
            raise ValueError(
                "validation='oob' needs records of both classes out of the bag, and this sampling leaves none out: "
                "choose a fraction to hold out, or pass X_val"
            )
        fair = self.validation == "oob" or self._leaves_records_out()
        return ValidationRecords(everyone, seen) if both and fair else None

    def _n_drawn(self) -> int | None:
        """Return how many features are drawn for each member; None if it gets all."""
        if self.features != "per_tree":
            return None
        if self._tree is not None and self._tree.max_features is not None:
            return self._tree.recipe().n_features(self.n_features_in_)
        return max(1, self.n_features_in_ // 2)

    def _make_trees(self, shared: _Shared, seeds: list[Any]) -> Bools:
        plot, recipe, space = plot_of(shared.records), self._recipe(), self.binning_.feature_bins_
        validation = plot if self.validation is None else None
        if self.validation_ is not None:
            validation = plot_of(self.validation_.records)
        jobs = (
            delayed(_grow_trees)(shared, part, plot, recipe, space, validation, self._read)
            for part in _parts(seeds, self._n_threads)
        )
        grown: list[Nodes] = []
        seen: list[Bools] = []
        for trees, drawn in self._run(jobs, len(seeds), n_jobs=self.n_jobs):
            grown += trees
            seen += drawn
        rate = float(np.average(plot.positive, weights=plot.weight)) if self.prior_correction else None
        self.members_ = TreeMembers(Trees.join(_given_away(grown)), weighted=self.weighted, base_rate=rate)
        return np.stack(seen).T

    def _make_models(self, shared: _Shared, seeds: list[Any]) -> Bools:
        labels = self._decode(np.array([False, True]))
        jobs = (delayed(_fit_models)(shared, part, self.estimator, labels) for part in _parts(seeds, self._n_threads))
        models: list[Any] = []
        columns: list[Any] = []
        rates: list[float] = []
        seen: list[Bools] = []
        alone = isinstance(self.estimator, MemberClassifier) and shared.sample_size(seeds[0]) < MANY
        for made in self._run(jobs, len(seeds), n_jobs=1 if alone else self.n_jobs):
            for model, chosen, rate, drawn in made:
                models.append(model)
                columns.append(chosen)
                rates.append(rate)
                seen.append(drawn)
        self.members_ = ModelMembers(
            models,
            labels[1],
            columns if shared.n_drawn is not None else None,
            base_rate=float(shared.records.positive.mean()) if self.prior_correction else None,
            sampled_rates=np.array(rates),
        )
        return np.stack(seen).T

    def _run(self, jobs: Any, n_members: int, *, n_jobs: int | None) -> Any:
        n_parts = len(_parts(list(range(n_members)), self._n_threads))
        results = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(jobs)
        return progress(results, n_parts, f"{n_members} members", self.verbose)

    @property
    def votes_(self) -> Votes:
        """How the members vote where a decision does not say."""
        if self.weighted and self._tree is not None:
            return Votes(output="vote", by_node=True)
        # Members that were pruned by cost say what is cheaper by their labels, not by their probabilities.
        return Votes(output="vote" if self._pruned_by_cost else "average")

    @property
    def _pruned_by_cost(self) -> bool:
        # Trees that only grew by cost end in leaves of one class, and these have the same label whatever it costs.
        return self._tree is not None and self._recipe().prunes_by_cost

    def _default_decision(self) -> Decision:
        # The prior correction takes the costs out of the samples again.
        acted = self.weighted or (self._sampler().uses_costs and not self.prior_correction)
        acted = acted or self._pruned_by_cost
        leaf = "frequency" if self._tree is None else self._tree.leaf
        if self._has_copies and self._tree is not None and leaf == "frequency":
            # A leaf of copies is pure however many there are: they count where small leaves ask their ancestors.
            leaf = "curtailment"
        return Decision(leaf=leaf, threshold="half" if acted else "cost")

    @property
    def feature_importances_(self) -> Floats:
        """The mean gain of all splits on each feature: shares of the whole or, for the cost criterion, money."""
        check_is_fitted(self)
        if not isinstance(self.members_, TreeMembers):
            raise AttributeError("only ensembles of trees have feature_importances_")
        gains = self.members_.trees.feature_importances(self.n_features_in_)
        if self._recipe().criterion == "cost":
            return gains
        return gains / (gains.sum() or 1.0)

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members, where they are not trees of the engine."""
        check_is_fitted(self)
        if not isinstance(self.members_, ModelMembers):
            raise AttributeError("members are trees of the engine: see members_.trees")
        return self.members_.models

    @property
    def has_oob_(self) -> bool:
        """Whether there are out-of-bag records of both classes, and no others were used for validation."""
        check_is_fitted(self)
        return self.validation_ is not None and self.validation_.out_of_bag is not None

    def _oob(self) -> tuple[Records, Bools, Bools]:
        """Return the records, their outcomes by members that did not see them, and for which there are any."""
        if not self.has_oob_:
            raise AttributeError("there are no out-of-bag records of both classes, or others were used for validation")
        assert self.validation_ is not None
        records, readings = self.validation_.records, self._validation_readings(self.reader_)
        return records, self.cut_.outcomes(readings, records.known), readings.known

    def _oob_measure(self, measure: Callable[..., float]) -> float:
        records, outcome, known = self._oob()
        counted = records.with_features(None).take(known)
        return measure(
            counted.positive.astype(int),
            outcome[known].astype(int),
            fp_cost=counted.costs.fp,
            fn_cost=counted.costs.fn,
            sample_weight=counted.weight,
        )

    def predict_oob(self) -> NDArray[Any]:
        """Decide on the training records, each by the members that were not trained on it.

        A record that all members were trained on is decided by all of them.

        Returns
        -------
        labels : ndarray of shape (n_records,)
        """
        records, outcome, known = self._oob()
        if not known.all():
            assert self.validation_ is not None
            assignment = self.validation_.assignment(self.members_, self._n_threads)
            readings = self.reader_.read(assignment, records.known, n_threads=self._n_threads)
            outcome = np.where(known, outcome, self.cut_.outcomes(readings, records.known))
        return self._decode(outcome)

    @property
    def oob_cost_(self) -> float:
        """Total cost of the decision in force on the records out of the bag."""
        return self._oob_measure(total_cost)

    @property
    def oob_savings_(self) -> float:
        """Savings of the decision in force on the records out of the bag."""
        return self._oob_measure(savings_score)


@dataclass(frozen=True)
class _Shared:
    """What all members are made of."""

    records: Records
    X: Any
    sampler: MemberSampler
    costs: Costs
    presampled: Sample | None
    weighted: bool
    n_features: int
    n_drawn: int | None

    def sample(self, rng: np.random.Generator) -> Sample:
        """Draw the sample of a member."""
        positive = self.records.positive.view(np.int8)
        if self.presampled is None:
            return self.sampler.draw(positive, self.costs, rng, self.X)
        # Each copy of a record, and each synthetic one, is drawn for itself.
        pre = self.presampled
        rows = drawn_rows(pre.counts, self.n_features)
        new = np.empty(0, np.int64) if pre.y_new is None else pre.y_new
        drawn = Bootstrap().counts(np.concatenate([positive[rows], new]), self.costs, rng)
        counts = np.bincount(rows, drawn[: rows.size], minlength=positive.size).astype(np.int64)
        if not new.size:
            return Sample(counts)
        new_rows = np.repeat(np.arange(new.size), drawn[rows.size :])
        return Sample(counts, take_rows(pre.X_new, new_rows), new[new_rows])

    def sample_size(self, seed: Any) -> int:
        """Return how many records the sample of a member has, synthetic ones aside."""
        return int(self.sample(np.random.default_rng(seed)).counts.sum())

    def draw_features(self, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw the features of a member."""
        if self.n_drawn is None:
            return np.arange(self.n_features, dtype=np.int32)
        return np.sort(rng.permutation(self.n_features)[: self.n_drawn]).astype(np.int32)


def _parts(seeds: list[Any], n_threads: int) -> list[list[Any]]:
    """Cut the members into parts, small enough to share the work and to show progress."""
    size = max(1, len(seeds) // (8 * n_threads))
    return [seeds[start : start + size] for start in range(0, len(seeds), size)]


def _grow_trees(
    shared: _Shared,
    seeds: list[Any],
    plot: Plot,
    recipe: TreeRecipe,
    space: FeatureBins,
    validation: Plot | None,
    read: Callable[..., Any],
) -> tuple[list[Nodes], list[Bools]]:
    """Return some trees, and which records each has seen."""
    grown, seen = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = shared.sample(rng)
        features = shared.draw_features(rng)
        ground, times = plot, sample.counts
        if sample.y_new is not None and sample.y_new.size:
            ground = _with_new(plot, read(sample.X_new, reset=False), sample.y_new)
            times = np.concatenate([times, np.ones(sample.y_new.size, times.dtype)])
        cost_weight = None
        if shared.weighted and (total := ground.cost @ (times if ground.weight is None else times * ground.weight)) > 0:
            cost_weight = ground.cost / total
        prune_on = validation
        if prune_on is None and recipe.pruning is not None:
            outside = plot.take(np.flatnonzero(sample.counts == 0))
            prune_on = outside if np.unique(outside.positive).size == 2 else plot
        grown.append(
            recipe.grow(
                ground,
                space,
                features=features,
                seed=int(rng.integers(2**31)),
                multiplicity=times,
                cost_weight=cost_weight,
                validation=prune_on,
            )
        )
        seen.append(sample.counts > 0)
    return grown, seen


def _given_away(items: list[Nodes]) -> Iterator[Nodes]:
    """Return the items one by one, and keep none of them."""
    items.reverse()
    while items:
        yield items.pop()


def _with_new(plot: Plot, bins: Any, y: NDArray[Any]) -> Plot:
    """Return the records with synthetic ones behind them, which cost the mean of their class."""
    means = np.array([plot.cost[plot.positive == side].mean() for side in (0, 1)])
    weight = plot.weight
    if weight is not None:
        mean_weights = np.array([weight[plot.positive == side].mean() for side in (0, 1)])
        weight = np.concatenate([weight, mean_weights[y]])
    return Plot(
        np.concatenate([plot.bins, bins]),
        np.concatenate([plot.positive, y.astype(np.uint8)]),
        np.concatenate([plot.cost, means[y]]),
        weight,
    )


def _fit_models(
    shared: _Shared, seeds: list[Any], estimator: Any, labels: NDArray[Any]
) -> list[tuple[Any, NDArray[np.intp], float, Bools]]:
    """Return some models with their features, the base rates of their samples, and which records each has seen."""
    made = []
    records = shared.records
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = shared.sample(rng)
        features = shared.draw_features(rng).astype(np.intp)
        rows = drawn_rows(sample.counts, shared.n_features)
        drawn = replace(records, X=None).take(rows)
        X, y = take_rows(shared.X, rows), drawn.positive.astype(np.int64)
        weight = drawn.cost_weight() if shared.weighted else drawn.weight
        if sample.y_new is not None and sample.y_new.size:
            if weight is not None:
                # Of all records: a sample may have none of a class but synthetic ones.
                whole = records.cost_weight() if shared.weighted else records.weight
                assert whole is not None
                means = np.array([whole[records.positive == side].mean() for side in (False, True)])
                weight = np.concatenate([weight, means[sample.y_new]])
            X, y = append_rows(X, sample.X_new), np.concatenate([y, sample.y_new])
        if shared.n_drawn is not None:
            X = take_columns(X, features)
        model = clone(estimator)
        if "random_state" in model.get_params():
            model.set_params(random_state=int(rng.integers(2**31)))
        options = {} if weight is None else {"sample_weight": weight}
        model.fit(X, labels[y], **options)
        made.append((model, features, float(y.mean()), sample.counts > 0))
    return made
