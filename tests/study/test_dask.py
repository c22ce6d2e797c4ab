"""A study on a Dask cluster, of which a worker is killed, gives the same leaderboard."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

from test_study import FILES, SMALL, study  # noqa: E402

from stakes.exceptions import StudyError  # noqa: E402
from stakes.study.workers import Workers  # noqa: E402

# Lets connections to what is lost be given up soon.
IMPATIENT = {"distributed.comm.timeouts.connect": "2s"}


@pytest.fixture
def impatient():
    with dask.config.set(IMPATIENT):
        yield


@pytest.fixture
def slowly():
    def function(shared: list[int], item: int) -> int:  # no function of this module, which workers would import
        time.sleep(0.2)
        return shared[item]

    return function


def test_a_cluster_that_has_lost_its_workers_is_said_to_have_none(monkeypatch, slowly):
    monkeypatch.setattr("stakes.study.cluster.PATIENCE", 1)
    with distributed.LocalCluster(n_workers=1, dashboard_address=None, processes=False) as running:
        results = Workers(dask=running.scheduler_address).map(slowly, [7], [(0,)] * 50)
        assert next(results) == 7
        running.scale(0)
        with pytest.raises(StudyError, match=r"has no workers: start some by `dask worker .* the same command goes on"):
            list(results)


def test_a_scheduler_that_is_lost_is_said_in_a_line_that_tells_how_to_go_on(impatient, slowly, capfd):
    with distributed.LocalCluster(n_workers=1, dashboard_address=None, processes=False) as running:
        results = Workers(dask=running.scheduler_address).map(slowly, [7], [(0,)] * 50)
        assert next(results) == 7
        running.close()
        with pytest.raises(StudyError, match=r"the Dask scheduler at .* was lost .*the same command goes on") as error:
            list(results)
    assert "\n" not in str(error.value)
    assert "Traceback" not in capfd.readouterr().err


def broken(shared: object, item: int) -> None:
    raise OSError(28, "No space left on device")


def test_the_error_of_a_task_on_a_cluster_is_that_of_the_task():
    with (
        distributed.LocalCluster(n_workers=1, dashboard_address=None, processes=False) as running,
        pytest.raises(OSError, match="No space left"),
    ):
        list(Workers(dask=running.scheduler_address).map(broken, None, [(0,)]))


# From here on tests share a cluster of two processes, which are slow to start; those that kill some of them come last.


@pytest.fixture(scope="module")
def processes():
    with (
        dask.config.set(IMPATIENT),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as running,
    ):
        yield running


@pytest.fixture
def cluster(processes):
    with distributed.Client(processes.scheduler_address) as client:
        client.wait_for_workers(2, timeout=120)  # those that were killed are started again
    return processes


def test_the_members_of_one_ensemble_are_made_on_the_cluster(cluster):
    import joblib
    import numpy as np

    from stakes import CostBaggingClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 0.5).astype(int)
    here = CostBaggingClassifier(n_estimators=6, random_state=0, n_jobs=2).fit(X, y)
    with distributed.Client(cluster.scheduler_address), joblib.parallel_config(backend="dask"):
        there = CostBaggingClassifier(n_estimators=6, random_state=0, n_jobs=2).fit(X, y)
    for name, array in here.members_.trees.nodes._asdict().items():
        np.testing.assert_array_equal(getattr(there.members_.trees.nodes, name), array)


def test_decisions_on_a_cluster_are_those_of_one_machine(tmp_path, cluster):
    import polars as pl
    from polars.testing import assert_frame_equal
    from test_folders import OPTIONS, in_parts, records

    from stakes.study import Study, load_data
    from stakes.study.apply import apply_model
    from stakes.study.dataset import open_records

    records().write_parquet(tmp_path / "one.parquet")
    options = {"methods": ["tree"], "trees": 2, "folds": 2, "metacost": "none", "teams": False, "jobs": 1}
    best = Study(load_data(tmp_path / "one.parquet", **OPTIONS), out=tmp_path / "study", **options).run()
    model = best.directory / "best.skops"
    moved = records(90, seed=1).with_columns(contract=pl.lit("new"), monthly_charges=pl.col("monthly_charges") * 9)
    folder = in_parts(moved, tmp_path / "new")
    here = apply_model(model, folder, tmp_path / "here")
    there = apply_model(model, folder, tmp_path / "there", dask=cluster.scheduler_address)
    assert (there.n_records, there.n_positive, there.notes) == (90, here.n_positive, here.notes)
    assert any("'new'" in note for note in there.notes)
    assert there.expected_saving == pytest.approx(here.expected_saving)
    assert len(list((tmp_path / "there").iterdir())) == 3
    assert_frame_equal(open_records(tmp_path / "there").read(), open_records(tmp_path / "here").read())
    with pytest.raises(StudyError, match="into a folder"):
        apply_model(model, folder, tmp_path / "one.csv", dask=cluster.scheduler_address)


def test_what_tasks_share_is_made_again_when_all_workers_are_killed(cluster, slowly):
    results = Workers(dask=cluster.scheduler_address).map(slowly, list(range(100, 120)), [(i,) for i in range(20)])
    found = {next(results)}
    with distributed.Client(cluster.scheduler_address) as client:
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)
    assert found | set(results) == set(range(100, 120))


def _kill_a_worker(address, out) -> None:
    with distributed.Client(address) as client:
        while not list((out / "units").glob("*.parquet")):
            time.sleep(0.02)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_a_killed_worker_changes_nothing(tmp_path, cluster):
    expected = study(tmp_path / "here", **SMALL).run()

    killer = threading.Thread(target=_kill_a_worker, args=(cluster.scheduler_address, tmp_path / "dask"))
    killer.start()
    found = study(tmp_path / "dask", **SMALL, dask=cluster.scheduler_address).run()
    killer.join()
    for name in FILES:
        assert (found.directory / name).read_bytes() == (expected.directory / name).read_bytes()


@pytest.mark.slow  # as the test of a killed worker, with data of another kind
def test_large_data_are_opened_by_the_workers_and_a_killed_one_changes_nothing(tmp_path, cluster, monkeypatch):
    import polars as pl

    from stakes.datasets import make_transactions
    from stakes.study import Study, load_data

    made = make_transactions(3000, fraud_rate=0.1, random_state=0)
    made.frame.with_columns(fraud=pl.Series(made.target)).write_parquet(tmp_path / "payments.parquet")
    monkeypatch.setattr("stakes.study.loading.records_in_memory", lambda *_: 1500)
    options = {"methods": ["rf", "ubg", "tree"], "trees": 3, "folds": 2, "metacost": "none"}
    boards = []
    for name, more in (("here", {"jobs": 1}), ("dask", {"dask": cluster.scheduler_address})):
        out = tmp_path / name
        data = load_data(
            tmp_path / "payments.parquet", target="fraud", fp_cost=5, fn_cost="amount", memory="1GB", bins=out / "bins"
        )
        killer = threading.Thread(target=_kill_a_worker, args=(cluster.scheduler_address, out))
        if more.get("dask"):
            killer.start()
        boards.append(Study(data, out=out, **options, **more).run().leaderboard)
    killer.join()
    assert boards[0].equals(boards[1])
    assert boards[0]["test_cost"].drop_nulls().is_finite().all()
