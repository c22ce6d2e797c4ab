"""Ensembles of the bagging kind: members by sampling and weights (FRAMEWORK 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._ensemble import EnsembleClassifier
from stakes._fitting import takes
from stakes._learners import ModelLearner, TreeLearner
from stakes._member_classifier import CLASS_WEIGHT, MemberClassifier, ValidationRecords
from stakes._members import LeafAssignment, ModelMembers, TreeMembers
from stakes._progress import progress
from stakes._typing import Bools, Floats, Int32s
from stakes._validation import Constraint, boolean, choice, fraction, whole
from stakes.cost_tree import CostTreeClassifier
from stakes.decision.decision import Decision
from stakes.decision.reader import Votes
from stakes.decision.readings import Readings
from stakes.metrics import savings_score, total_cost
from stakes.records import Records
from stakes.sampling.base import MemberSampler, Sample
from stakes.sampling.draws import Draws
from stakes.sampling.rejection import Bootstrap
from stakes.tree.leaves import CHEAPEST, SMOOTHED_MEAN
from stakes.tree.nodes import Nodes
from stakes.tree.recipe import TreeRecipe
from stakes.tree.trees import Trees

__all__ = ["PLAIN_TREE", "CostBaggingClassifier", "given_away"]

Learner = TypeVar("Learner", bound=TreeLearner | ModelLearner)

# Members that are ensembles, fitted to fewer records than this, are made one after the other (measured).
FEW_RECORDS = 4096
# Trees grown on bootstraps rank better, and cost less by T_cs, with some records in a leaf; samples drawn by cost are
# small, or made of copies, and their trees are best fully grown. Measured: docs/benchmarks/forests.md.
PLAIN_TREE: dict[str, Any] = {"min_samples_leaf": 5}


PER_MEMBER = "balanced_subsample"
PER_MEMBER_WEIGHT = Constraint(
    lambda value: CLASS_WEIGHT.accepts(value) or (isinstance(value, str) and value == PER_MEMBER),
    f"is not valid: give a dict from labels to weights, 'balanced', '{PER_MEMBER}' or None",
)
MAX_SAMPLES = Constraint(
    lambda value: whole(1, optional=True).accepts(value) or (isinstance(value, float) and 0 < value < inf),
    "is not valid: give a whole number of at least 1, a share of the records, or None",
)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CostBaggingClassifier(EnsembleClassifier):
    """Bagging, random forests and random decision forests, in all their cost-sensitive forms.

    Parameters
    ----------
    estimator : classifier, default=None
        What the members are: a `CostTreeClassifier`, whose parameters are followed by the fast engine, or any
        scikit-learn classifier. None is an unpruned tree: with at least 5 records in a leaf where there is no
        `sampling`, and otherwise fully grown, as ``CostTreeClassifier()`` is.
    n_estimators : int, default=100
        How many members.
    sampling : {"under", "over", "hybrid", "smote", "cpr"} or sampler, default=None
        How each member's sample is drawn by the costs, instead of the bootstrap (None), which also takes the place of
        samples that equal costs would leave as large as the records. Samplers of imbalanced-learn are accepted too.
    max_samples : int or float, default=None
        How many records to draw for each member where there is no `sampling`: a number, or a share of all. None draws
        as many as there are.
    bootstrap : bool, default=True
        Whether records are drawn with replacement where there is no `sampling`.
    presample : bool, default=False
        Sample once, and bootstrap the result for each member.
    weighted : bool, default=False
        Weigh records by their costs, and votes by the mean weight in the leaf reached.
    features : {"all", "per_split", "per_tree"}, default="all"
        Bagging; random forests, which draw features anew for each split; or random decision forests, which draw
        them once for each member. How many is up to the estimator's `max_features`: by default the square root for
        each split, and half of them for each tree.
    bootstrap_features : bool, default=False
        Whether features are drawn with replacement for each member (``features="per_tree"``); one that is drawn twice
        counts once.
    decision : Decision, default=None
        None decides by 0.5 where costs acted in training, and by T_cs on the mean probability otherwise: also of trees
        that were grown by cost but not pruned by it, whose leaves are of one class whatever it costs. After
        over-sampling it takes "supported" leaves, because a leaf of copies is pure however many there are; after SMOTE
        it shrinks them.
    validation : float, "auto", "oob" or None, default="auto"
        Where tuning and pruning get their records if fit is given none: out of the bag ("oob"); a share of the
        training records, held out; or the training records themselves (None). "auto" is out-of-bag where sampling
        leaves a fair sample of both classes out, and otherwise holds out a fifth where something needs it.
    prior_correction : bool, default=False
        Take the costs out of the members' probabilities again: correct them for the class ratio of the samples (Elkan's
        formula), and count records instead of their weights in the leaves of weighted trees.
    warm_start : bool, default=False
        Keep the members of the last `fit`, and add to them up to `n_estimators`. The records must be the same. With a
        seed the members are those of a new fit.
    class_weight : dict, "balanced" or "balanced_subsample", default=None
        How often the records of each class count, besides `sample_weight`: a number for each label, or numbers by which
        both classes weigh the same, among all records or in the sample of each member. In trees whose leaves are pure,
        weights change the splits alone. What mistakes cost is better told by `fp_cost` and `fn_cost`.
    {costs_and_label}
    n_jobs : int, default=None
        How many threads to use; a joblib backend in force is used instead. Members that are ensembles themselves, on
        few records, are made one after the other: threads would slow them down.
    {seed_and_progress}

    Attributes
    ----------
    {classes_and_members}
    {decision_in_force}
    feature_importances_ : ndarray of shape (n_features,)
        For members that are trees, the mean gain of all splits on a feature: as shares of the whole, or, for the cost
        criterion, in units of money.
    oob_cost_, oob_savings_ : float
        Total cost and savings of the decision in force on the records out of the bag, where there are any. The savings
        are also `oob_score_`, because they are what `score` returns.
    oob_decision_function_ : ndarray of shape (n_records, 2)
        What `predict_proba` would return for the training records by the members that were not trained on them; NaN
        where all were.
    estimators_ : list
        The members as classifiers of their own; ``len(forest)`` and ``forest[0]`` work, too.
    estimators_samples_ : list of ndarray
        The rows that each member was trained on, as often as they were drawn, where there are records out of the bag
        and no `sampling`.
    estimators_features_ : list of ndarray
        The features that each member was shown.

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

    max_samples: float | None = None
    bootstrap: bool = True
    presample: bool = False
    weighted: bool = False
    features: str = "all"
    bootstrap_features: bool = False
    prior_correction: bool = False

    _constraints = EnsembleClassifier._constraints | {
        "features": choice("all", "per_split", "per_tree"),
        "max_samples": MAX_SAMPLES,
        "bootstrap": boolean(),
        "bootstrap_features": boolean(),
        "presample": boolean(),
        "class_weight": PER_MEMBER_WEIGHT,
        "weighted": boolean(),
        "prior_correction": boolean(),
        "validation": fraction("auto", "oob", None),
    }

    @property
    def _default_tree(self) -> CostTreeClassifier:
        return CostTreeClassifier(**(PLAIN_TREE if self.sampling is None else {}))

    def _recipe(self) -> TreeRecipe:
        recipe = super()._recipe()
        if self.features == "per_split" and recipe.max_features is None:
            return replace(recipe, max_features="sqrt")
        if self.features == "per_tree":
            return replace(recipe, max_features=None)
        return recipe

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.sampling is not None and (self.max_samples is not None or not self.bootstrap):
            raise ValueError("max_samples= and bootstrap= are about samples without sampling=: choose one of the two")
        if self.bootstrap_features and self.features != "per_tree":
            raise ValueError("bootstrap_features=True is about features that are drawn: choose features='per_tree'")
        if self.presample and self.sampling is None:
            raise ValueError("presample=True has nothing to do without sampling=: choose one, or presample=False")
        if self._tree is None:
            if self.features == "per_split":
                raise ValueError(f"features='per_split' is about trees, and the members are {self.estimator!r}")
            if self.weighted and not takes(self.estimator, "sample_weight"):
                raise ValueError(f"weighted=True needs members that take sample_weight: {self.estimator!r} does not")
            if self.weighted and self.prior_correction:
                raise ValueError(
                    "prior_correction=True is about samples and trees, and the members are weighted models: choose one"
                )
        elif self.weighted and self._tree.criterion == "cost":
            raise ValueError("weighted=True and criterion='cost' both count the costs: choose one of the two")

    def _sampler(self) -> MemberSampler:
        if self.sampling is None:
            return Bootstrap(self.max_samples, replace=self.bootstrap)
        return super()._sampler()

    def _leaves_records_out(self) -> bool:
        """Whether the records that a member's sample lacks are a fair sample of both classes."""
        sampler = self._sampler()
        return not sampler.repeats_records if self.presample else sampler.leaves_records_out

    def _needs_validation(self, positive: Bools) -> bool:
        # Out-of-bag records serve where there are any: nothing has to be held out.
        return not self._leaves_records_out() and super()._needs_validation(positive)

    def _train(self, records: Records, X: Any, rng: np.random.Generator) -> ValidationRecords | None:
        self._warn_of_ignored_parameters()
        everyone, shown, records = records, records.with_features(X).counted, records.counted
        sampler = self._sampler()
        # Samplers that go by the ratio of costs change nothing where it is 1. Members on bootstraps then differ.
        changes = sampler.changes(records.positive, records.costs)
        if not self._goes_on():
            self._seed = int(rng.integers(2**63))
        first, *seeds = self._seeds()
        kept = self._kept_members()
        if kept:
            self._check_warm_start(kept[0].seen.size, len(records))
        seeds = seeds[len(kept) :]
        presample = self.presample or not changes
        draws = Draws(sampler, shown, np.random.default_rng(first), self.n_estimators, presample=presample)
        maker = self._maker()
        alone, pass_costs = False, not self.weighted and not sampler.uses_costs
        learner: TreeLearner | ModelLearner
        if self._tree is not None:
            learner = maker._tree_learner(records)
        else:
            learner = ModelLearner(shown, self.estimator, self._class_labels, pass_costs=pass_costs)
            # Ensembles fitted to few records are mostly Python code: threads would wait for one another.
            few = bool(seeds) and isinstance(self.estimator, MemberClassifier)
            alone = few and draws.draw(np.random.default_rng(seeds[0])).counts.sum() < FEW_RECORDS
        made = [*kept, *self._run(partial(maker._make, learner, draws), seeds, alone=alone)]
        seen = np.stack([one.seen for one in made]).T  # a transposed copy would take longer
        self._keep(samples=[one[1:] for one in made])
        if self._tree is not None:
            base_rate = float(np.average(records.positive, weights=records.weight))
            growth = float(np.mean([one.growth for one in made]))
            sizes = np.bincount(records.positive, minlength=2)
            trees = (one.member for one in given_away(made))
            self._set_trees(trees, base_rate, sizes, sampler.grows_by if changes else "", growth)
        else:
            self.members_ = ModelMembers(
                [one.member for one in made],
                self._class_labels[1],
                None if self._n_drawn() is None else [one.features for one in made],
                base_rate=float(np.mean(records.positive)) if self.prior_correction else None,
                sampled_rates=np.array([one.base_rate for one in made]),
            )
            acted = self.weighted or self._costs_sample or (pass_costs and self.members_.costs_acted)
            self.votes_ = Votes()
            self.default_decision_ = Decision(threshold="half" if acted else "cost")
        return self._out_of_bag(everyone, seen)

    @property
    def _costs_sample(self) -> bool:
        """Whether costs act by samples: the prior correction takes them out again."""
        return self._sampler().uses_costs and not self.prior_correction

    def _set_trees(
        self, nodes: Iterable[Nodes], base_rate: float, sizes: NDArray[Any], grown_by: str, growth: float = 1.0
    ) -> None:
        """Set the members, and how they vote and decide by default.

        `base_rate` is the share of positive records, and `sizes` are those of the classes that samples were drawn from.
        """
        assert self._tree is not None
        trees, copies = Trees.join(nodes), np.ones(2)
        if grown_by == "copies":
            copies = np.maximum(trees.nodes.counts[trees.roots].mean(axis=0) / sizes, 1.0)
        self.members_ = TreeMembers(
            trees,
            weighted=self.weighted,
            base_rate=base_rate if self.prior_correction else None,
            grown_by=grown_by,
            growth=growth,
            copies=(float(copies[0]), float(copies[1])),
        )
        by_weight, prunes_by_cost = self.weighted and not self.prior_correction, self._recipe().prunes_by_cost
        acted = by_weight or self._costs_sample or prunes_by_cost
        # Trees that only grew by cost end in leaves of one class, whose labels are the same whatever it costs.
        self.votes_ = Votes(output="vote" if by_weight or prunes_by_cost else "average", by_node=by_weight)
        leaf = self._tree.leaf
        if grown_by and leaf == "frequency":
            # A leaf of copies is pure however many there are, and so nearly is one of neighbours.
            leaf = SMOOTHED_MEAN[grown_by]
        self.default_decision_ = Decision(leaf=leaf, threshold="half" if acted else "cost")

    def _seeds(self) -> list[np.random.SeedSequence]:
        """Return the seeds of what samples share, and of each member."""
        return np.random.SeedSequence(self._seed).spawn(1 + self.n_estimators)

    def _kept_members(self) -> list[Made]:
        """Return the members of the last fit that are to be kept."""
        if not self._goes_on():
            return []
        made = self.members_
        members = list(map(made.trees.tree, range(len(made)))) if isinstance(made, TreeMembers) else made.models
        return [Made(member, *sample) for member, sample in zip(members, self._last_fit["samples"], strict=True)]

    def _out_of_bag(self, records: Records, seen: Bools) -> ValidationRecords | None:
        """Return the training records with the members that saw them, where they can serve for validation."""
        counted = records.weights > 0
        if not counted.all():
            of_counted, seen = seen, np.zeros((len(records), self.n_estimators), np.bool_)
            seen[counted] = of_counted
        outside = ~seen.all(axis=1) & counted
        both = bool(outside[records.positive].any() and outside[~records.positive].any())
        if self.validation == "oob" and self.validation_ is None and not both:
            raise ValueError(
                "validation='oob' needs records of both classes out of the bag, and this sampling leaves none out: "
                "choose a fraction to hold out, or pass X_val"
            )
        fair = self.validation == "oob" or self._leaves_records_out()
        return ValidationRecords(records, seen) if both and fair else None

    @property
    def _balances(self) -> bool:
        """Whether both classes weigh the same in the sample of each member."""
        return isinstance(self.class_weight, str) and self.class_weight == PER_MEMBER

    @property
    def _class_weight(self) -> Any:
        return None if self._balances else self.class_weight

    def _maker(self) -> Self:
        """Return what makes the members: this ensemble without those of the last fit, as it is sent to processes."""
        maker = self._shared_with(clone(self))
        maker.validation_ = self.validation_ if self._prunes else None
        return maker

    def _make(self, learner: TreeLearner | ModelLearner, draws: Draws, seed: Any) -> Made:
        """Return a member that is fitted to a sample of its own."""
        rng = np.random.default_rng(seed)
        sample, features = draws.draw(rng), self._draw_features(rng)
        made = Made(self._fit_member(learner, sample, rng, features), sample.counts > 0, features)
        if isinstance(learner, TreeLearner) and not sample.n_new:  # the nodes of a tree tell the rest
            return made
        old = np.bincount(learner.records.positive, sample.counts, minlength=2)
        new = np.zeros(2) if sample.y_new is None else np.bincount(sample.y_new, minlength=2)
        base_rate, growth = (old + new)[1] / (old + new).sum(), 1.0 + np.max(new / np.maximum(old, 1.0))
        return made._replace(base_rate=float(base_rate), growth=float(growth))

    def _fit_member(
        self, learner: TreeLearner | ModelLearner, sample: Sample, rng: np.random.Generator, features: Int32s | None
    ) -> Any:
        """Return the nodes of a tree, or a model, fitted to a sample of the features that it is shown."""
        records = learner.records
        member = _balanced(learner, sample) if self._balances else learner
        if isinstance(member, ModelLearner):
            return member.fit(sample, _mean_one if self.weighted else None, rng, features=features)
        validation = records if self.validation_ is None else self.validation_.records
        if self.validation_ is None and self.validation is not None and self._prunes:
            outside = records.take(np.flatnonzero(sample.counts == 0))
            validation = outside if np.unique(outside.positive).size == 2 else records
        return member.fit(sample, _by_cost if self.weighted else None, rng, features=features, validation=validation)

    def _draw_features(self, rng: np.random.Generator) -> Int32s | None:
        """Draw the features of a member, each once, in their order; None if it gets all."""
        n_features, n_drawn = self.n_features_in_, self._n_drawn()
        if n_drawn is None:
            return None
        if self.bootstrap_features:
            return np.unique(rng.integers(n_features, size=n_drawn)).astype(np.int32)
        return np.sort(rng.permutation(n_features)[:n_drawn]).astype(np.int32)

    def _n_drawn(self) -> int | None:
        """Return how many features are drawn for each member; None if it gets all."""
        if self.features != "per_tree":
            return None
        if self._tree is not None and self._tree.max_features is not None:
            return self._tree.recipe().n_features(self.n_features_in_)
        return max(1, self.n_features_in_ // 2)

    def _run(self, make: Callable[[Any], Any], seeds: list[Any], *, alone: bool = False) -> list[Any]:
        """Return what is made of each seed, by all threads or `alone`."""
        # In parts that are small enough to share the work and to show progress.
        size = max(1, len(seeds) // (8 * self._n_threads))
        parts = [seeds[start : start + size] for start in range(0, len(seeds), size)]
        # joblib's multiprocessing has no generators.
        backend, _ = get_active_backend(prefer="threads")
        as_they_come = "generator" if backend.supports_return_generator else "list"
        parallel = Parallel(n_jobs=1 if alone else self.n_jobs, prefer="threads", return_as=as_they_come)
        results = parallel(delayed(_made)(make, part) for part in parts)
        return [made for part in progress(results, len(parts), f"{len(seeds)} members", self.verbose) for made in part]

    @property
    def feature_importances_(self) -> Floats:
        """The mean gain of all splits on each feature: shares of the whole or, for the cost criterion, money."""
        trees = self._trees("feature_importances_")
        assert self._tree is not None
        return trees.feature_importances(self.n_features_in_, in_money=self._tree.criterion == "cost")

    @property
    def has_oob_(self) -> bool:
        """Whether there are out-of-bag records of both classes, and no others were used for validation."""
        check_is_fitted(self)
        return self.validation_ is not None and self.validation_.out_of_bag is not None

    def _oob_readings(self) -> tuple[Records, Readings]:
        """Return the training records, and their scores by the members that were not trained on them.

        Where the leaf probability was chosen on these records, each half of them is read by the one that is cheapest on
        the other half, so that none of them judges what it has chosen.
        """
        if not self.has_oob_:
            raise AttributeError("there are no out-of-bag records of both classes, or others were used for validation")
        members, validation, reader = self.members_, self.validation_, self.reader_
        assert validation is not None
        if CHEAPEST not in reader.leaves or not isinstance(members, TreeMembers) or members.cheapest_leaf is None:
            return validation.records, self._validation_readings(reader)
        ids, out_of_bag = validation.assignment(members, self._n_threads).ids, validation.out_of_bag
        assert out_of_bag is not None
        every = np.arange(len(validation.records))
        halves, parts = (every[::2], every[1::2]), []
        for rows, others in (halves, halves[::-1]):
            leaves = replace(members, cheapest_leaf=self._cheapest_leaf([(validation, others)])).leaves
            known = validation.records.known[rows]
            part = LeafAssignment(ids[rows], leaves)
            parts.append(reader.read(part, known, out_of_bag=out_of_bag[rows], n_threads=self._n_threads))
        return validation.records, Readings.join(parts, halves)

    def _oob_measure(self, measure: Callable[..., float]) -> float:
        records, readings = self._oob_readings()
        known = readings.known
        counted, outcome = records.with_features(None).take(known), self.cut_.outcomes(readings, records.known)[known]
        return measure(
            counted.positive.astype(int),
            outcome.astype(int),
            fp_cost=counted.costs.fp,
            fn_cost=counted.costs.fn,
            sample_weight=counted.weight,
        )

    def _redrawn(self) -> Iterator[tuple[Int32s, Int32s | None]]:
        """Draw the rows and features of all members once more."""
        if self.sampling is not None or not self.has_oob_:
            raise AttributeError("samples can be drawn again without sampling=, where there are records out of the bag")
        assert self.validation_ is not None
        records = self.validation_.records.with_features(None)
        rows = np.flatnonzero(records.weights)
        records = records.take(rows)
        first, *seeds = self._seeds()
        draws = Draws(self._sampler(), records, np.random.default_rng(first), self.n_estimators)
        for rng in map(np.random.default_rng, seeds):
            yield np.repeat(rows, draws.draw(rng).counts).astype(np.int32), self._draw_features(rng)

    @property
    def estimators_samples_(self) -> list[Int32s]:
        """The rows that each member was trained on, as often as they were drawn."""
        return [rows for rows, _ in self._redrawn()]

    @property
    def estimators_features_(self) -> list[Int32s]:
        """The features that each member was shown."""
        check_is_fitted(self)
        if self._n_drawn() is None:
            return [np.arange(self.n_features_in_, dtype=np.int32)] * len(self)
        if isinstance(self.members_, ModelMembers) and self.members_.columns is not None:
            return [columns.astype(np.int32) for columns in self.members_.columns]
        return [features for _, features in self._redrawn() if features is not None]

    def predict_oob(self) -> NDArray[Any]:
        """Decide on the training records, each by the members that were not trained on it.

        A record that all members were trained on is decided by all of them.

        Returns
        -------
        labels : ndarray of shape (n_records,)
        """
        records, readings = self._oob_readings()
        costs, known = records.known, readings.known
        outcome = self.cut_.outcomes(readings, costs)
        if not known.all():
            assert self.validation_ is not None
            assignment = self.validation_.assignment(self.members_, self._n_threads)
            by_all = self.reader_.read(assignment, costs, n_threads=self._n_threads)
            outcome = np.where(known, outcome, self.cut_.outcomes(by_all, costs))
        return self._decode(outcome)

    @property
    def oob_decision_function_(self) -> Floats:
        """The shares of the classes for the training records, by the members that were not trained on them."""
        _, readings = self._oob_readings()
        return self._shares(self.cut_.scores(readings))

    @property
    def oob_score_(self) -> float:
        """The score of the decision in force on the records out of the bag: the savings."""
        return self.oob_savings_

    @property
    def oob_cost_(self) -> float:
        """Total cost of the decision in force on the records out of the bag."""
        return self._oob_measure(total_cost)

    @property
    def oob_savings_(self) -> float:
        """Savings of the decision in force on the records out of the bag."""
        return self._oob_measure(savings_score)


class Made(NamedTuple):
    """A member, and what is known of its sample."""

    member: Any  # the nodes of a tree, or a model
    seen: Bools  # which records it was trained on
    features: Int32s | None  # that it was shown, None for all
    base_rate: float = 0.0  # the share of positives in the sample of a model
    growth: float = 1.0  # how many records of a class there are for each original one, where some are synthetic


def _made(make: Callable[[Any], Any], seeds: list[Any]) -> list[Any]:
    return [make(seed) for seed in seeds]


def _balanced(learner: Learner, sample: Sample) -> Learner:
    """Return a learner of records with weights by which both classes weigh the same in a sample."""
    records = learner.records
    drawn = np.bincount(records.positive, sample.counts, minlength=2)
    weight = (drawn.sum() / (2.0 * drawn))[records.positive.view(np.int8)]
    return replace(learner, records=replace(records, weight=weight * records.weights))


def _by_cost(records: Records, times: Any) -> Floats | None:
    """Weigh records by cost, so that the weights of a sample sum to 1; not at all where no mistake costs anything."""
    total = records.loss @ times
    return records.cost / total if total > 0 else None


def _mean_one(records: Records, times: Any) -> Floats | None:
    """Weigh records by cost, times sample weights, with a mean of 1 over the sample."""
    total = records.loss @ times
    return records.loss * (records.weights @ times / total) if total > 0 else records.weight


def given_away(made: list[Any]) -> Iterator[Any]:
    """Return what is in a list one by one, and keep none of it: trees that are joined are then in memory once."""
    made.reverse()
    while made:
        yield made.pop()
