"""Members trained on records on disk are those that are trained on the same samples in memory."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from stakes import Costs, Decision, make_classifier
from stakes.datasets import make_transactions
from stakes.exceptions import SamplingError
from stakes.pool import Pool, PoolWriter, draws_from_pool, fit_pool
from stakes.records import Records
from stakes.table import table_of
from stakes.tree.binning import Binned, Binning
from stakes.tree.trees import Trees

N, VALIDATION = 1500, 500


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    data = make_transactions(N + VALIDATION, fraud_rate=0.1, random_state=0)
    binning = Binning().fit(table_of(data.frame))
    bins = binning.transform(table_of(data.frame))
    positive, fn = data.target == 1, np.asarray(data.costs.fn)
    folder = tmp_path_factory.mktemp("pool")
    with PoolWriter(folder) as writer:
        for start in range(0, N, 400):
            part = slice(start, min(start + 400, N))
            writer.add(bins[part], positive[part], 5.0, fn[part])
    train = Binned(data.frame[:N], binning, bins[:N])
    validation = Records(Binned(data.frame[N:], binning, bins[N:]), positive[N:], Costs(fp=5.0, fn=fn[N:]))
    return folder, train, positive, fn, validation


@pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
@pytest.mark.parametrize("name", ["bg", "rf", "rdf", "wrf", "cprbg", "ubg", "uprdf", "csrf", "obg"])
def test_a_pool_of_few_records_gives_the_members_of_memory(made, name):
    folder, train, positive, fn, validation = made
    here = make_classifier(name, n_estimators=4, random_state=3)
    here.fit(
        train, positive[:N].astype(int), fp_cost=5.0, fn_cost=fn[:N],
        X_val=validation.X, y_val=positive[N:].astype(int), fp_cost_val=5.0, fn_cost_val=fn[N:],
    )  # fmt: skip
    there = fit_pool(make_classifier(name, n_estimators=4, random_state=3), Pool.open(folder), validation)
    for field, array in here.members_.trees.nodes._asdict().items():
        np.testing.assert_allclose(getattr(there.members_.trees.nodes, field), array, rtol=1e-9, err_msg=field)
    assert (there.votes_, there.default_decision_) == (here.votes_, here.default_decision_)
    assert there.members_.base_rate == here.members_.base_rate
    assert there.members_.copies == pytest.approx(here.members_.copies)
    costs = {"fp_cost": 5.0, "fn_cost": fn[:N]}
    np.testing.assert_array_equal(there.predict(train, **costs), here.predict(train, **costs))


def test_nothing_keeps_the_trees_that_are_joined(made, monkeypatch):
    folder, train, positive, _, validation = made
    join, keepers = Trees.join, []

    def joined(grown):
        trees = list(grown)
        lists = [one for one in gc.get_referrers(trees[0]) if isinstance(one, list)]
        keepers.append([one for one in lists if one is not trees])
        return join(trees)

    monkeypatch.setattr(Trees, "join", joined)
    forest = make_classifier("bg", n_estimators=3, random_state=0)
    forest.fit(train, positive[:N].astype(int))
    fit_pool(forest, Pool.open(folder), validation)
    assert keepers == [[], []]


def test_samples_of_a_large_pool_are_drawn_from_all_of_it_and_as_large_as_asked_for(made, monkeypatch):
    folder, _, _, _, validation = made
    monkeypatch.setattr("stakes.pool.SAMPLE", 200)
    monkeypatch.setattr("stakes.pool.DRAWN", 1400)
    taken = []
    take = Pool.take
    monkeypatch.setattr(Pool, "take", lambda self, rows: taken.append(rows) or take(self, rows))
    for name, share in (("bg", 1 - np.exp(-1)), ("ubg", None)):
        taken.clear()
        fit_pool(make_classifier(name, n_estimators=40, random_state=0), Pool.open(folder), validation)
        sizes = [rows.size for rows in taken]
        assert 150 < np.mean(sizes) < 260, name
        seen = np.unique(np.concatenate(taken))
        assert seen.size > 0.9 * N if share else seen.size > 0.6 * N
        assert max(sizes) < 320


def test_what_decisions_choose_about_members_is_chosen_on_the_validation_records(made):
    folder, train, _, _, validation = made
    forest = fit_pool(make_classifier("rf", n_estimators=4, random_state=0), Pool.open(folder), validation)
    decision = Decision(member="tuned", output="vote", vote_weight="squared_odds")
    found = forest.with_decision(decision).predict(train)
    readings = forest.read([decision], train, validation=validation)
    assert forest.validation_.out_of_bag is None
    np.testing.assert_array_equal(found == 1, forest.with_decision(decision).cut_.outcomes(readings))


def test_leaves_are_not_chosen_on_the_records_of_a_fit_before(made, monkeypatch):
    folder, _, _, _, validation = made
    forest = make_classifier("dm-rf", n_estimators=4, random_state=0)
    other = make_transactions(1200, fraud_rate=0.1, random_state=1)
    some, others = slice(600), slice(600, None)
    forest.fit(other.frame[some], other.target[some], X_val=other.frame[others], y_val=other.target[others])
    chosen_on = []

    def choose(leaves, votes, unseen, **options):
        chosen_on.extend(len(part.records) for part in unseen)
        return leaves[0]

    monkeypatch.setattr("stakes._member_classifier.cheapest_leaf", choose)
    fit_pool(forest, Pool.open(folder), validation)
    assert chosen_on == [VALIDATION]


def test_a_pool_is_sent_as_the_name_of_its_folder(made):
    pool = Pool.open(made[0])
    sent = pickle.dumps(pool.with_costs(Costs(fp=2.0, fn=7.0)))
    assert len(sent) < 500
    again = pickle.loads(sent)
    assert (again.fp, again.fn) == (2.0, 7.0)
    np.testing.assert_array_equal(again.bins, pool.bins)
    assert pickle.loads(pickle.dumps(pool)).fn[3] == pool.fn[3]


def test_class_means_and_base_rate_are_those_of_all_records(made, monkeypatch):
    folder, _, positive, fn, _ = made
    monkeypatch.setattr("stakes.pool.BLOCK", 100)
    pool, y = Pool.open(folder), positive[:N]
    expected = Costs(fp=5.0, fn=fn[:N]).class_means(y.astype(int))
    assert pool.base_rate == y.mean()
    assert pool.class_means.fp == expected.fp
    np.testing.assert_allclose(pool.class_means.fn, expected.fn)


def test_samplers_that_need_features_are_refused(made):
    folder, _, _, _, validation = made
    smote = make_classifier("sbg", n_estimators=2)
    assert not draws_from_pool(smote)
    assert not draws_from_pool(make_classifier("lr"))
    with pytest.raises(SamplingError, match="by class and cost"):
        fit_pool(smote, Pool.open(folder), validation)


def test_an_empty_pool_can_be_opened(tmp_path):
    with PoolWriter(tmp_path):
        pass
    assert len(Pool.open(tmp_path)) == 0
