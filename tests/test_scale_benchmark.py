"""The benchmark of large data measures what it says."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import polars as pl
import pytest
from benchmarks import scale


def test_payments_are_the_same_for_the_same_seed_and_written_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(scale, "PART", 400)
    folder = scale.write_parts(tmp_path / "payments", 1000)
    parts = [pl.read_parquet(path) for path in sorted(folder.iterdir())]
    assert [len(part) for part in parts] == [400, 400, 200]
    assert parts[1].equals(scale.make_part(400, 1))
    assert scale.write_parts(tmp_path / "payments", 1) == folder
    assert not list(tmp_path.glob(".*"))


def test_savings_are_those_of_the_definition():
    decided = pl.DataFrame({"decision": ["1", "0", "1", "0"], "fraud": [1, 1, 0, 0], "amount": [100.0, 20.0, 7.0, 9.0]})
    # A false alarm costs 5, the missed fraud 20; acting on all would cost 2 x 5.
    assert scale.savings(decided) == pytest.approx(1 - 25 / 10)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_at_the_peak_is_that_of_all_processes():
    child = "import time; x = bytearray(60 << 20); time.sleep(1.5)"
    both = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    found = scale.measure([sys.executable, "-c", both])
    assert found.seconds > 1.5
    assert 60 << 20 < found.private < 120 << 20
    assert found.resident > found.private
    with pytest.raises(SystemExit, match="failed with 3"):
        scale.measure([sys.executable, "-c", "raise SystemExit(3)"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_one_process_is_killed_once_enough_units_are_finished(tmp_path):
    sleeping = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    killer = threading.Thread(target=scale.kill_one, args=([p.pid for p in sleeping], tmp_path, 2))
    killer.start()
    try:
        (tmp_path / "0.rf.record.parquet").touch()
        killer.join(0.5)
        assert killer.is_alive()
        assert sleeping[0].poll() is None
        (tmp_path / "0.ab.record.parquet").touch()
        assert sleeping[0].wait(10) == -signal.SIGKILL
        assert sleeping[1].poll() is None
    finally:
        for process in sleeping:
            process.kill()
        killer.join()
