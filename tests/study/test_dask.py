"""A study on a Dask cluster, of which a worker is killed, gives the same leaderboard."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

distributed = pytest.importorskip("distributed")

from test_study import FILES, SMALL, study  # noqa: E402


@pytest.fixture
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as running:
        yield running


def test_a_killed_worker_changes_nothing(tmp_path, cluster):
    expected = study(tmp_path / "here", **SMALL).run()

    def kill_a_worker() -> None:
        with distributed.Client(cluster.scheduler_address) as client:
            while not list((tmp_path / "dask" / "units").glob("*.parquet")):
                time.sleep(0.02)
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_a_worker)
    killer.start()
    found = study(tmp_path / "dask", **SMALL, dask=cluster.scheduler_address).run()
    killer.join()
    for name in FILES:
        assert (found.directory / name).read_bytes() == (expected.directory / name).read_bytes()


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
