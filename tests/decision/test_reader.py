"""Every decision against plain loops from the counts in the leaves to the outcome (FRAMEWORK 2, 5.3, 7.5, 8)."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from stakes import CostBaggingClassifier, CostBoostClassifier, Costs, CostTreeClassifier, Decision
from stakes.decision.cuts import apply_cuts, fit_cuts, fixed_cut
from stakes.decision.reader import Reader, Votes, cost_share
from stakes.decision.readings import Readings, Source
from stakes.exceptions import CostsNeededError, DecisionError
from stakes.members import LeafAssignment, LeafTable
from stakes.records import Records
from stakes.sampling import Bootstrap, MemberSampler

LEAVES = ["frequency", "laplace", "m_estimate", "curtailment", "curtailment_laplace", "curtailment_m_estimate"]
VOTE_WEIGHTS = ["equal", "log_odds", "accuracy", "exp_odds", "squared_odds"]
CALIBRATIONS = [None, "logistic_bounded", "platt", "isotonic"]
THRESHOLDS = ["half", "cost", "tuned"]


def all_decisions(leaves: list[str], vote_weights: list[str]) -> list[Decision]:
    """Every decision that is valid for bagging."""
    ends = [{"calibration": c, "threshold": t} for c, t in product(CALIBRATIONS, THRESHOLDS)]
    averages = [Decision(output="average", leaf=leaf, **end) for leaf, end in product(leaves, ends)]
    ways = [{"member": "label"}, *({"member": m, "leaf": leaf} for m, leaf in product(("cost", "tuned"), leaves))]
    votes = [
        Decision(output="vote", vote_weight=weight, **way, **end)
        for way, weight, end in product(ways, vote_weights, ends)
    ]
    return averages + votes


# The reference: records are looked at one by one, thresholds tried one by one


class PlainTree:
    """One tree of an ensemble, read node by node."""

    def __init__(self, clf: Any, number: int) -> None:
        trees = clf.members_.trees
        self.nodes, self.root = trees.nodes, int(trees.roots[number])
        self.leaves = [
            node for node in range(self.root, self.root + int(trees.sizes[number])) if self.nodes.feature[node] < 0
        ]
        self.weighted = clf.weighted

    def leaf(self, bins: Any) -> int:
        at, nodes = self.root, self.nodes
        while nodes.feature[at] >= 0:
            value = bins[nodes.feature[at]]
            left = nodes.missing_left[at] if value == 0 else value <= nodes.threshold[at]
            at = int(nodes.left[at]) + (0 if left else 1)
        return at

    def label(self, leaf: int) -> bool:
        return bool(self.nodes.weights[leaf, 1] > self.nodes.weights[leaf, 0])

    def probability(self, leaf: int, kind: str) -> float:
        if self.weighted:
            return self.nodes.weights[leaf, 1] / self.nodes.weights[leaf].sum()
        n = self.nodes.counts
        base_rate = n[self.root, 1] / n[self.root].sum()
        m = 10 / base_rate
        if kind.startswith("curtailment"):
            while n[leaf].sum() < m and leaf != self.root:
                leaf = int(self.nodes.parent[leaf])
        negative, positive = (int(count) for count in n[leaf])
        if kind.endswith("laplace"):
            return (positive + 1) / (positive + negative + 2)
        if kind.endswith("m_estimate"):
            return (positive + 10) / (positive + negative + m)
        return positive / (positive + negative)

    def mean_weight(self, leaf: int) -> float:
        return self.nodes.weights[leaf].sum() / self.nodes.counts[leaf].sum()


class PlainModel:
    """One model of an ensemble of other classifiers: each record is a leaf."""

    def __init__(self, clf: Any, number: int, X: Any) -> None:
        self.p = clf.estimators_[number].predict_proba(X)[:, 1]
        self.leaves = range(len(X))

    def label(self, leaf: int) -> bool:
        return bool(self.p[leaf] > 0.5)

    def probability(self, leaf: int, kind: str) -> float:
        return self.p[leaf]


class Reference:
    """The decisions of an ensemble.

    Parameters
    ----------
    clf : CostBaggingClassifier
    val, new : records
        To choose on, and to decide on.
    judges : ndarray of shape (n_val, n_members)
        Which members judge which validation record.
    """

    def __init__(self, clf: Any, val: Any, judges: Any, new: Any, weight: Any = None) -> None:
        self.m = range(clf.n_estimators)
        if hasattr(clf, "binning_"):
            self.members: list[Any] = [PlainTree(clf, j) for j in self.m]
            at = {
                records: [[tree.leaf(row) for tree in self.members] for row in clf._read(data.X, reset=False)]
                for records, data in (("val", val), ("new", new))
            }
            known = [tree.leaves for tree in self.members]
        else:
            self.members = [PlainModel(clf, j, np.concatenate([val.X, new.X])) for j in self.m]
            rows = [[i] * len(self.m) for i in range(len(val) + len(new))]
            at = {"val": rows[: len(val)], "new": rows[len(val) :]}
            known = [range(len(val)) for _ in self.m]
        self.at, self.known = at, known
        self.y = val.y == 1
        self.loss = np.where(self.y, val.fn, val.fp) * (1.0 if weight is None else weight)
        self.weight = np.ones(len(val)) if weight is None else weight
        # To the last bit as it is elsewhere: a leaf's probability may be the very same fraction.
        self.t_cs = {name: Costs(fp=data.fp, fn=data.fn).threshold() for name, data in (("val", val), ("new", new))}
        self.judges = {"val": judges, "new": np.ones((len(new), len(self.m)), bool)}
        self._memory: dict[Any, Any] = {}

    def once(self, work: Any, *key: Any) -> Any:
        key = (work.__name__, *key)
        if key not in self._memory:
            self._memory[key] = work(*key[1:])
        return self._memory[key]

    def member_threshold(self, leaf: str, j: int) -> float:
        mine = np.flatnonzero(self.judges["val"][:, j])
        p = np.array([self.members[j].probability(self.at["val"][i][j], leaf) for i in mine])
        values = [self.members[j].probability(node, leaf) for node in self.known[j]]
        return cheapest_cut(values, p, self.y[mine], self.loss[mine])

    def outcome(self, member: str, leaf: str, j: int, name: str, i: int) -> bool:
        at = self.at[name][i][j]
        if member == "label":
            return self.members[j].label(at)
        cut = self.t_cs[name][i] if member == "cost" else self.once(self.member_threshold, leaf, j)
        return self.members[j].probability(at, leaf) > cut

    def error(self, member: str, leaf: str, j: int) -> float:
        mine = np.flatnonzero(self.judges["val"][:, j])
        wrong = [self.outcome(member, leaf, j, "val", i) != self.y[i] for i in mine]
        return self.loss[mine][wrong].sum() / self.loss[mine].sum()

    def vote_weights(self, member: str, leaf: str, name: str) -> list[float]:
        if name in ("equal", "node"):
            return [1.0 for _ in self.m]
        error = [self.error(member, leaf, j) for j in self.m]
        odds = [(1 - e) / e if e else inf for e in error]
        return {
            "accuracy": [1 - e for e in error],
            "log_odds": [max(log(o), 0.0) for o in odds],
            "exp_odds": [exp(max(o - max(odds), -600)) for o in odds],
            "squared_odds": [o**2 for o in odds],
        }[name]

    def score(self, output: str, member: str, leaf: str, weights: str, name: str) -> Any:
        found = np.full(len(self.at[name]), np.nan)
        weight = self.once(self.vote_weights, member, leaf, weights) if output == "vote" else []
        for i, row in enumerate(self.at[name]):
            judges = np.flatnonzero(self.judges[name][i])
            if not judges.size:
                continue
            if output == "average":
                found[i] = sum(self.members[j].probability(row[j], leaf) for j in judges) / len(judges)
                continue
            ayes = total = 0.0
            for j in judges:
                vote = weight[j] * (self.members[j].mean_weight(row[j]) if weights == "node" else 1.0)
                total += vote
                if self.outcome(member, leaf, j, name, i):
                    ayes += vote
            found[i] = ayes / total if total else 0.5
        return found

    def calibrated(self, source: tuple[str, ...], calibration: str | None, name: str) -> Any:
        score = self.once(self.score, *source, name)
        if calibration is None:
            return score
        fitted = self.once(self.score, *source, "val")
        known = ~np.isnan(fitted)
        return calibrate(calibration, fitted[known], self.y[known], self.weight[known], score)

    def threshold(self, source: tuple[str, ...], calibration: str | None) -> float:
        score = self.once(self.calibrated, source, calibration, "val")
        known = ~np.isnan(score)
        return cheapest_cut(score[known], score[known], self.y[known], self.loss[known])

    def decide(self, d: Decision) -> tuple[Any, Any, Any]:
        """Return scores, outcomes, and how far each record is from the other outcome."""
        assert d.output is not None
        leaf = "" if d.output == "vote" and d.member == "label" else d.leaf
        source = (d.output, d.member, leaf, d.vote_weight or "")
        score = self.once(self.calibrated, source, d.calibration, "new")
        cut = {
            "half": lambda: 0.5,
            "cost": lambda: self.t_cs["new"],
            "tuned": lambda: self.once(self.threshold, source, d.calibration),
        }[d.threshold]()
        return score, score > cut, np.abs(score - cut)


def cheapest_cut(values: Any, scores: Any, positive: Any, loss: Any) -> float:
    """Try every cut between the values; take the middle of the widest interval of equally cheap ones."""
    ordered = sorted(set(values))
    # Sums in another order than the engine's differ in the last bits: scores this close are one.
    distinct = [v for k, v in enumerate(ordered) if k == 0 or v - ordered[k - 1] > 1e-12]
    bills = [loss[(scores >= v - 1e-12) != positive].sum() for v in distinct] + [loss[positive].sum()]
    ends = [0.0, *distinct, 1.0]
    intervals: list[list[float]] = []
    for k, bill in enumerate(bills):
        if bill == min(bills) and k and bills[k - 1] == bill:
            intervals[-1][1] = ends[k + 1]
        elif bill == min(bills):
            intervals.append([ends[k], ends[k + 1]])
    widest = max(high - low for low, high in intervals)
    # The first of those that are equally wide but for rounding.
    low, high = next(interval for interval in intervals if interval[1] - interval[0] >= widest * (1 - 1e-12))
    # Nothing is below a score of 0 but negative numbers.
    return -1.0 if high == 0.0 else (low + high) / 2


def calibrate(name: str, scores: Any, positive: Any, weight: Any, new: Any) -> Any:
    if name == "logistic_bounded":
        return 1 / (1 + np.exp(-2 * (2 * new - 1)))
    if name == "isotonic":
        fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weight)
        return np.where(np.isnan(new), np.nan, fitted.predict(np.nan_to_num(new)))
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def unlikelihood(ab: Any) -> float:
        z = ab[0] * scores + ab[1]
        return float((weight * (target * np.logaddexp(0, z) + (1 - target) * np.logaddexp(0, -z))).sum())

    a, b = minimize(unlikelihood, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return 1 / (1 + np.exp(a * new + b))


# Ensembles, each with its own validation records


class Remembering(MemberSampler):
    """The bootstrap, which remembers what it has drawn."""

    uses_costs = False
    leaves_records_out = True

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def counts(self, y: Any, costs: Costs, rng: np.random.Generator, X: Any = None) -> Any:
        self.drawn.append(Bootstrap().counts(y, costs, rng))
        return self.drawn[-1]


N_MEMBERS = 7


def ensemble(estimator: Any = None, **options: Any) -> CostBaggingClassifier:
    tree = CostTreeClassifier(max_depth=4) if estimator is None else estimator
    return CostBaggingClassifier(tree, n_estimators=N_MEMBERS, random_state=0, **options)


def make_case(
    where: str, records: Any, fresh: Any, estimator: Any = None, **options: Any
) -> tuple[Any, Reference, Any]:
    """Return an ensemble, its reference, and records to decide on."""
    new, other = fresh.take(slice(0, 45)), fresh.take(slice(45, None))
    # A cost of its own for each record, by which those held out are known again.
    fn = (1.0 + np.random.default_rng(0).permutation(len(records))) / 8
    records = replace(records, fn=fn)
    if where == "oob":
        sampler = Remembering()
        clf = ensemble(estimator, sampling=sampler, **options).fit(records.X, records.y, **records.costs)
        return clf, Reference(clf, records, np.column_stack(sampler.drawn) == 0, new), new
    if where == "explicit":
        validation = {"X_val": other.X, "y_val": other.y, "fp_cost_val": other.fp, "fn_cost_val": other.fn}
        clf = ensemble(estimator, **options).fit(records.X, records.y, **records.costs, **validation)
        return clf, Reference(clf, other, np.ones((len(other), N_MEMBERS), bool), new), new
    if where == "training":
        clf = ensemble(estimator, validation=None, **options).fit(records.X, records.y, **records.costs)
        return clf, Reference(clf, records, np.ones((len(records), N_MEMBERS), bool), new), new
    weight = np.random.default_rng(1).integers(1, 4, len(records)) if where == "holdout, weighed" else None
    clf = ensemble(estimator, validation=0.25, **options)
    clf.fit(records.X, records.y, **records.costs, sample_weight=weight)
    held_out = [int(np.flatnonzero(fn == cost)[0]) for cost in clf.validation_.records.costs.fn]
    judges = np.ones((len(held_out), N_MEMBERS), bool)
    weight = None if weight is None else weight[held_out]
    return clf, Reference(clf, records.take(held_out), judges, new, weight), new


WHERE = ["oob", "holdout", "holdout, weighed", "explicit", "training"]


def check(clf: Any, reference: Reference, new: Any, decisions: list[Decision]) -> None:
    """Compare all decisions with the reference, made ready together and, some of them, one at a time."""
    scores, outcomes, _ = clf.evaluate(decisions, new.X, fp_cost=new.fp, fn_cost=new.fn)
    undecided = 0
    for i, decision in enumerate(decisions):
        score, outcome, margin = reference.decide(decision)
        close = 1e-5 if decision.calibration == "platt" else 1e-9
        np.testing.assert_allclose(scores[i], score, atol=close, err_msg=str(decision))
        exact = decision.calibration is None and decision.vote_weight in (None, "equal")
        clear = (margin > close) | exact
        undecided += np.sum(~clear)
        np.testing.assert_array_equal(outcomes[i][clear], outcome[clear], err_msg=str(decision))
        if i % 17 == 0:
            alone = clf.with_decision(decision).predict(new.X, fp_cost=new.fp, fn_cost=new.fn)
            np.testing.assert_array_equal(alone == 1, outcomes[i], err_msg=str(decision))
    assert undecided < 0.02 * len(decisions) * len(new)


@pytest.mark.parametrize("where", WHERE)
def test_trees_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    decisions = all_decisions(LEAVES, VOTE_WEIGHTS)
    assert len(set(decisions)) == len(decisions) == 6 * 12 + 13 * 5 * 12
    check(*make_case(where, holes, fresh), decisions)


@pytest.mark.parametrize("where", WHERE)
def test_weighted_trees_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    decisions = all_decisions(["frequency"], [*VOTE_WEIGHTS, "node"])
    check(*make_case(where, holes, fresh, weighted=True), decisions)


@pytest.mark.parametrize("where", ["oob", "holdout", "explicit"])
def test_other_classifiers_decide_as_the_reference(where: str, small: Any, fresh: Any) -> None:
    fresh = replace(fresh, X=np.nan_to_num(fresh.X))
    check(*make_case(where, small, fresh, LogisticRegression()), all_decisions(["frequency"], VOTE_WEIGHTS))


@pytest.mark.parametrize("where", ["oob", "training"])
def test_trees_grown_and_pruned_by_cost_decide_as_the_reference(where: str, holes: Any, fresh: Any) -> None:
    tree = CostTreeClassifier(criterion="cost", pruning="reduced_error", pruning_measure="cost")
    check(*make_case(where, holes, fresh, tree), all_decisions(["laplace"], ["equal", "squared_odds"]))


# MEC-voting is MTA with T_cs (FRAMEWORK 8.3)

costs_with_ties = st.one_of(st.integers(0, 12).map(float), st.floats(1e-100, 1e100), st.floats(1e-100, 1e-90))


@st.composite
def polls(draw: st.DrawFn) -> tuple[LeafAssignment, LeafAssignment, Any, Costs]:
    """Random votes on records to validate on and to decide on, and random costs."""
    n, m = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    p = np.array(draw(st.lists(st.integers(0, 8), min_size=2 * n * m, max_size=2 * n * m))) / 8
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    fp, fn = (np.array(draw(st.lists(costs_with_ties, min_size=n, max_size=n))) for _ in range(2))
    ids = np.arange(n * m, dtype=np.int32).reshape(n, m)
    member = np.tile(np.arange(m), n)
    val, new = (
        LeafAssignment(ids, LeafTable(member, half > 0.5, lambda leaf, half=half: half))
        for half in (p[: n * m], p[n * m :])
    )
    return val, new, positive, Costs(fp=fp, fn=fn)


@given(polls(), st.sampled_from(["label", "cost", "tuned"]), st.sampled_from(VOTE_WEIGHTS))
@settings(max_examples=400)
def test_mec_voting_is_majority_threshold_adjustment(poll: Any, member: str, vote_weight: str) -> None:
    val, new, positive, costs = poll
    decision = Decision(member=member, vote_weight=vote_weight, output="vote", threshold="cost")
    reader = Reader([decision]).fit(val, Records(None, positive, costs))
    readings = reader.read(new, costs)
    weighed = cost_share(readings.scores[readings.source(decision)], costs)
    assert np.isfinite(weighed).all()
    assert (weighed >= 0).all()
    assert (weighed <= 1).all()
    np.testing.assert_array_equal(weighed > 0.5, fixed_cut(decision).outcomes(readings, costs))


def test_mec_voting_is_majority_threshold_adjustment_also_where_votes_and_costs_tie() -> None:
    """All shares k / m of equal votes against all ratios of small whole costs, among them thousands of ties."""
    fp, fn = (side.ravel().astype(float) for side in np.meshgrid(np.arange(21), np.arange(21)))
    costs = Costs(fp=fp, fn=fn)
    for m in (1, 2, 3, 7, 10, 30):
        for k in range(m + 1):
            share = np.full(fp.size, k / m)
            np.testing.assert_array_equal(cost_share(share, costs) > 0.5, share > costs.threshold())


@given(st.floats(0, 1), costs_with_ties, costs_with_ties, st.sampled_from([-1, 0, 1]))
def test_share_of_cost_weighed_votes(share: float, fp: float, fn: float, step: int) -> None:
    costs = Costs(fp=fp, fn=fn)
    threshold = costs.threshold()
    near = np.clip(np.nextafter(threshold, step) if step else threshold, 0.0, 1.0)
    for s in (share, float(near)):
        weighed = float(cost_share(np.array([s]), costs)[0])
        assert 0 <= weighed <= 1
        assert (weighed > 0.5) == (s > threshold)
        if min(fp, fn) > 1e-6 and max(fp, fn) < 1e6:
            assert weighed == pytest.approx(s * fn / (s * fn + (1 - s) * fp), abs=1e-9)


# What boosting asks of the reader (FRAMEWORK 7.2)


@pytest.fixture
def leaves_with_weights() -> tuple[LeafAssignment, Any, Costs]:
    """Five records in three trees of two leaves each, with weights in the leaves."""
    weights = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [0.0, 5.0], [4.0, 1.0], [1.0, 1.0]])
    leaves = LeafTable(
        np.array([0, 0, 1, 1, 2, 2]),
        weights[:, 1] > weights[:, 0],
        lambda leaf: weights[:, 1] / weights.sum(axis=1),
        weights,
        None,
    )
    ids = np.array([[0, 2, 4], [1, 2, 5], [0, 3, 5], [1, 3, 4], [1, 2, 4]], dtype=np.int32)
    costs = Costs(fp=[1.0, 2.0, 1.0, 3.0, 5.0], fn=[4.0, 1.0, 1.0, 2.0, 0.0])
    return LeafAssignment(ids, leaves), np.array([0.5, 2.0, 1.0]), costs


def test_votes_cast_by_cost_count_their_cost(leaves_with_weights: Any) -> None:
    assignment, alpha, costs = leaves_with_weights
    reader = Reader([Decision(output="vote")], Votes("vote", averages=False, weight=alpha, cast="by_cost"))
    (score,) = reader.read(assignment, costs).scores.values()
    for i in range(5):
        votes = [(alpha[m], assignment.leaves.label[assignment.ids[i, m]]) for m in range(3)]
        ayes = sum(a * costs.fn[i] for a, positive in votes if positive)
        noes = sum(a * costs.fp[i] for a, positive in votes if not positive)
        assert score[i] == pytest.approx(ayes / (ayes + noes) if ayes + noes else 0.5)


def test_signed_votes_count_the_costs_in_the_leaf_and_their_score_keeps_the_order_of_the_sum(
    leaves_with_weights: Any,
) -> None:
    assignment, alpha, costs = leaves_with_weights
    decision = Decision(output="vote")
    reader = Reader([decision], Votes("vote", averages=False, weight=alpha, cast="signed"))
    readings = reader.read(assignment, costs)
    (score,) = readings.scores.values()
    outcome = fixed_cut(decision).outcomes(readings)
    for i in range(5):
        votes = []
        for m in range(3):
            negative, positive = assignment.leaves.weights[assignment.ids[i, m]]
            votes.append(alpha[m] * (positive * costs.fn[i] - negative * costs.fp[i]))
        largest = 0.5 * 3 + 2.0 * 5 + 1.0 * 4  # alpha times the heaviest class of all leaves
        assert score[i] == pytest.approx(0.5 + sum(votes) / (costs.fp[i] + costs.fn[i]) / (2 * largest))
        assert outcome[i] == (sum(votes) > 0)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000))
def test_signed_score_is_above_one_half_iff_the_sum_of_votes_is_positive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, (4, 2)) * 10.0 ** rng.integers(-12, 3, (4, 1))
    label = weights[:, 1] > weights[:, 0]
    leaves = LeafTable(np.array([0, 0, 1, 1]), label, len, weights)
    assignment = LeafAssignment(np.array([[0, 2], [0, 3], [1, 2], [1, 3]], np.int32), leaves)
    alpha, costs = 10.0 ** rng.uniform(-3, 2, 2), Costs(fp=rng.integers(0, 3, 4), fn=rng.integers(0, 3, 4))
    reader = Reader([Decision(output="vote")], Votes("vote", averages=False, weight=alpha, cast="signed"))
    (score,) = reader.read(assignment, costs).scores.values()
    threshold = costs.threshold()
    total = np.zeros(4)
    for i in range(4):
        for m in range(2):
            negative, positive = weights[assignment.ids[i, m]]
            total[i] += alpha[m] * (positive * (1 - threshold[i]) - negative * threshold[i])
    np.testing.assert_array_equal(score > 0.5, total > 0)
    assert ((score >= 0) & (score <= 1)).all()


@pytest.mark.parametrize("cast", ["by_cost", "signed"])
def test_votes_that_depend_on_costs_need_them(cast: str, leaves_with_weights: Any) -> None:
    assignment, alpha, _ = leaves_with_weights
    votes = Votes("vote", averages=False, weight=alpha, cast=cast)
    reader = Reader([Decision(output="vote")], votes)
    assert reader.needs_costs
    with pytest.raises(CostsNeededError, match="fp_cost= and fn_cost="):
        reader.read(assignment, None)
    # Other weights are asked for by the decision, and votes are plain again.
    assert not Reader([Decision(vote_weight="equal")], votes).needs_costs


# Limits, gaps and errors


@pytest.mark.parametrize(("limit", "value"), [("max_fpr", 0.05), ("max_acted", 0.1), ("max_fpr", 0.0)])
def test_tuned_thresholds_can_be_limited(limit: str, value: float, holes: Any, fresh: Any) -> None:
    """The cheapest of all cuts that keep to the limit, tried one by one."""
    clf = ensemble().fit(holes.X, holes.y, **holes.costs, X_val=fresh.X, y_val=fresh.y, fp_cost_val=1, fn_cost_val=9)
    decisions = [Decision(threshold="tuned")]
    readings, records = clf.read_validation(decisions)
    (cut,) = fit_cuts(decisions, readings, records, **{limit: value})
    score = cut.scores(readings)

    def bill(threshold: float) -> float:
        acted, positive = score > threshold, fresh.y == 1
        if (acted[~positive].mean() if limit == "max_fpr" else acted.mean()) > value:
            return inf
        return float((acted & ~positive).sum() + 9 * (~acted & positive).sum())

    assert bill(cut.thresholds()) == min(bill(t) for t in [-1.0, *score])


@pytest.mark.parametrize("calibration", [None, "platt"])
@pytest.mark.parametrize("output", ["average", "vote"])
def test_a_record_that_nobody_judges_has_no_score_and_no_say(output: str, calibration: str | None, holes: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    assignment, records = clf.validation_.assignment(clf.members_, 1), clf.validation_.records
    out_of_bag = clf.validation_.out_of_bag.copy()
    out_of_bag[:120] = False
    decision = Decision(output=output, calibration=calibration, threshold="tuned")
    readings = Reader([decision]).read(assignment, records.costs, out_of_bag=out_of_bag)
    np.testing.assert_array_equal(readings.known, out_of_bag.any(axis=1))
    (cut,) = fit_cuts([decision], readings, records)
    assert not cut.outcomes(readings)[~readings.known].any()
    rest = np.arange(120, len(records))
    (of_half,) = fit_cuts([decision], readings.take(rest), records.take(rest))
    assert cut.thresholds() == of_half.thresholds()
    everyone = Reader([decision]).read(assignment, records.costs, out_of_bag=clf.validation_.out_of_bag)
    (of_rows,) = fit_cuts([decision], everyone, records, rows=rest)
    assert cut.thresholds() == of_rows.thresholds()


def test_votes_of_leaves_that_cost_nothing_leave_the_question_open() -> None:
    leaves = LeafTable(
        np.array([0, 0, 1]), np.array([True, False, True]), lambda leaf: np.ones(3), None, np.array([0.0, 0, 2])
    )
    assignment = LeafAssignment(np.array([[0, 2], [1, 2]], dtype=np.int32), leaves)
    reader = Reader([Decision(output="vote")], Votes("vote", by_node=True))
    (score,) = reader.read(assignment, None).scores.values()
    np.testing.assert_array_equal(score, [1.0, 1.0])
    only_first = np.array([[True, False], [True, False]])
    (score,) = reader.read(assignment, None, out_of_bag=only_first).scores.values()
    np.testing.assert_array_equal(score, [0.5, 0.5])


@pytest.mark.parametrize(
    ("decision", "votes", "message"),
    [
        (Decision(output="average"), Votes("vote", averages=False), "boosting has votes only.*calibration"),
        (Decision(vote_weight="node"), Votes(), "only weighted ensembles have one"),
        (Decision(calibration="logistic"), Votes(), "alphas of boosting: choose 'logistic_bounded'"),
    ],
)
def test_a_decision_that_does_not_fit_the_ensemble_is_an_error(decision: Decision, votes: Votes, message: str) -> None:
    with pytest.raises(DecisionError, match=message):
        Reader([decision], votes)


def test_what_is_chosen_on_validation_records_needs_some() -> None:
    for decision in (Decision(threshold="tuned"), Decision(calibration="platt")):
        with pytest.raises(DecisionError, match=r"none were kept: fit with validation= or X_val="):
            fixed_cut(decision)
    assert Reader([Decision(member="tuned")]).needs_records
    for decision in (Decision(calibration="logistic_bounded"), Decision(threshold="cost")):
        fixed_cut(decision)
    assert not Reader([Decision(vote_weight="equal")]).needs_records


def test_calibrations_in_closed_form_need_no_evidence(leaves_with_weights: Any) -> None:
    assignment, alpha, costs = leaves_with_weights
    decisions = [Decision(output="vote", calibration=name) for name in (None, "logistic_bounded", "logistic")]
    readings = Reader(decisions, Votes("vote", averages=False, weight=alpha)).read(assignment, costs)
    share, printed, original = apply_cuts([fixed_cut(decision) for decision in decisions], readings).scores
    np.testing.assert_allclose(printed, 1 / (1 + np.exp(-2 * (2 * share - 1))))
    signs = np.where(assignment.leaves.label[assignment.ids], 1, -1)
    np.testing.assert_allclose(original, 1 / (1 + np.exp(-2 * (signs @ alpha))))


def test_a_threshold_by_cost_needs_the_costs(leaves_with_weights: Any) -> None:
    decision = Decision(output="average", threshold="cost")
    readings = Reader([decision]).read(leaves_with_weights[0], None)
    with pytest.raises(CostsNeededError, match="needs the costs of the records"):
        fixed_cut(decision).outcomes(readings)


# Costs that an outcome reveals (FRAMEWORK 8.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_choices_are_charged_by_real_costs_and_votes_cast_by_known_ones(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, n_members, n_leaves = 80, 3, 6
    p = np.sort(rng.random((n_members, n_leaves))).ravel()
    leaves = LeafTable(np.repeat(np.arange(n_members), n_leaves), p > 0.5, lambda leaf: p)
    ids = (rng.integers(n_leaves, size=(n, n_members)) + n_leaves * np.arange(n_members)).astype(np.int32)
    positive = rng.random(n) < p[ids].mean(axis=1)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    known = Costs(fp=rng.lognormal(0, 1, n), fn=rng.lognormal(1, 1, n))
    real = Costs(fp=1.0, fn=rng.lognormal(2, 2, n))
    assignment = LeafAssignment(ids, leaves)
    records = Records(None, positive, real, weight, known_costs=known)

    def bill(acted: Any) -> float:
        wrong = np.where(positive, ~acted, acted)
        return float((real.of(positive) * wrong * (1.0 if weight is None else weight)).sum())

    decisions = [
        Decision(output="average", threshold="tuned"),
        Decision(member="tuned", output="vote"),
        Decision(member="cost", output="vote", vote_weight="accuracy"),
    ]
    reader = Reader(decisions).fit(assignment, records)
    tuned, *_ = fit_cuts(decisions, reader.read(assignment, known), records)
    mean = p[ids].mean(axis=1)
    cheapest = min(bill(mean > cut) for cut in [-1.0, *mean])
    assert bill(mean > tuned.thresholds()) == pytest.approx(cheapest)
    for m in range(n_members):
        own = p[ids[:, m]]
        cheapest = min(bill(own > cut) for cut in [-1.0, *own])
        assert bill(own > reader.member_thresholds_["auto"][m]) == pytest.approx(cheapest)
        error = bill(own > known.threshold()) / bill(~positive)
        assert reader.member_errors_["cost", "auto"][m] == pytest.approx(error)


# Many decisions on members trained once, and cuts fitted elsewhere


def test_scores_of_folds_are_joined_in_the_order_of_the_records(holes: Any, fresh: Any) -> None:
    decisions = [Decision(threshold="tuned"), Decision(output="vote"), Decision(output="vote", calibration="platt")]
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    whole = clf.read(decisions, fresh.X)
    rows = np.array_split(np.random.default_rng(0).permutation(len(fresh)), 3)
    joined = Readings.join([clf.read(decisions, fresh.X[part]) for part in rows], rows)
    assert (
        list(joined.scores)
        == list(whole.scores)
        == [Source("average", "frequency"), Source("vote", "", "label", "own")]
    )
    for source, score in whole.scores.items():
        np.testing.assert_array_equal(joined.scores[source], score)
    with pytest.raises(ValueError, match="every row number from 0 on exactly once"):
        Readings.join([whole, whole], [rows[0], rows[0]])
    with pytest.raises(ValueError, match="not read for the same decisions"):
        Readings.join([clf.read(decisions[:1], fresh.X[rows[0]]), whole.take(rows[1]), whole.take(rows[2])], rows)
    with pytest.raises(ValueError, match="was not among the decisions"):
        whole.source(Decision(member="cost"))


def test_the_logistic_correction_of_joined_scores_goes_by_the_votes_of_each_model(holes: Any, fresh: Any) -> None:
    decision = Decision(calibration="logistic")
    halves = np.arange(0, len(fresh), 2), np.arange(1, len(fresh), 2)
    models = [
        CostBoostClassifier(n_estimators=n, decision=Decision()).fit(holes.X, holes.y, **holes.costs) for n in (3, 9)
    ]
    parts = [model.read([decision], fresh.X[rows]) for model, rows in zip(models, halves, strict=True)]
    score = fixed_cut(decision).scores(Readings.join(parts, halves))
    for model, rows in zip(models, halves, strict=True):
        np.testing.assert_array_equal(score[rows], model.with_decision(decision).predict_proba(fresh.X[rows])[:, 1])


def test_a_cut_fitted_elsewhere_decides_in_a_trained_model(holes: Any, fresh: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold="tuned"), Decision(calibration="isotonic", threshold="cost")]
    costs = {"fp_cost": fresh.fp, "fn_cost": fresh.fn}
    readings = clf.read(decisions, fresh.X)
    records = Records(None, fresh.y == 1, Costs(fp=fresh.fp, fn=fresh.fn))
    cuts = fit_cuts(decisions, readings, records)
    assert cuts[0].thresholds() != clf.with_decision(decisions[0]).cut_.thresholds()
    evaluation = clf.evaluate(decisions, fresh.X, **costs, cuts=cuts)
    for i, (decision, cut) in enumerate(zip(decisions, cuts, strict=True)):
        moved = clf.with_decision(decision, cut=cut)
        assert moved.members_ is clf.members_
        np.testing.assert_array_equal(moved.predict(fresh.X, **costs) == 1, evaluation.outcomes[i])
        np.testing.assert_array_equal(cut.outcomes(readings, records.costs), evaluation.outcomes[i])
        np.testing.assert_array_equal(moved.predict_proba(fresh.X)[:, 1], evaluation.scores[i])
    # The cheapest threshold on these very records is at least as cheap as any other.
    own = clf.evaluate(decisions, fresh.X, **costs)
    loss = records.loss
    assert loss[evaluation.outcomes[0] != records.positive].sum() <= loss[own.outcomes[0] != records.positive].sum()
    with pytest.raises(DecisionError, match="cut= was chosen for"):
        clf.with_decision(decisions[1], cut=cuts[0])
    with pytest.raises(DecisionError, match="max_fpr limits a tuned threshold"):
        clf.with_decision(decisions[0], cut=cuts[0], max_fpr=0.1)


def test_decisions_that_differ_in_their_threshold_only_share_their_scores(holes: Any, fresh: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold=threshold, calibration="platt") for threshold in THRESHOLDS]
    scores = clf.evaluate(decisions, fresh.X, fp_cost=fresh.fp, fn_cost=fresh.fn).scores
    assert scores[0] is scores[1] is scores[2]


@pytest.mark.parametrize("limit", [-0.1, 1.5])
def test_limits_are_shares(limit: float, holes: Any) -> None:
    clf = ensemble().fit(holes.X, holes.y, **holes.costs)
    decisions = [Decision(threshold="tuned")]
    with pytest.raises(DecisionError, match=f"max_acted={limit} is not a share"):
        fit_cuts(decisions, *clf.read_validation(decisions), max_acted=limit)
