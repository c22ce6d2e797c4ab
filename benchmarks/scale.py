"""Time, memory and savings as records grow from a million to a hundred million: simulated payments, in parts.

    python -m benchmarks.scale /tmp/scale --records 1e6 3e6 1e7 3e7 --memory 6GB

For each number of records: a study by `stakes study --memory`, one of a random million of them in memory, and LightGBM
with its two-round loading from a CSV file (up to 10 million), all decided on the same million new records. What is
measured is the time of the command, the peak of the memory of all its processes (proportional set size, without pages
of files, which the system gives back), and what the decisions save.

`--limit 6e9` lets the system refuse more than this to the data of any process. `--cluster 4` studies the records once
more on a Dask cluster of four workers, of which one is killed in the middle, and fails where the leaderboard or the
delivered model is another one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from dask.distributed import Client, LocalCluster

from benchmarks.measure import family, read
from stakes.study.plan import QUICK, RIVALS

__all__ = ["Measured", "make_part", "measure", "savings", "write_parts"]

PART = 1_000_000
FEATURES = 20
FP_COST = 5.0
STUDY = ["--target", "fraud", "--fp-cost", str(FP_COST), "--fn-cost", "amount"]
# The quick methods without boosting of small trees, which takes all records at once; the rivals are in every study.
METHODS = ",".join(name for name in QUICK if name not in (*RIVALS, "gb"))
LIGHTGBM_AT_MOST = 10_000_000
NEW = 1_000_000


def make_part(n: int, seed: int) -> pl.DataFrame:
    """Return payments: 19 features and an amount, of which a few in a thousand are fraud.

    Examples
    --------
    >>> from benchmarks.scale import make_part
    >>> part = make_part(10_000, seed=0)
    >>> part.shape, 0.002 < part["fraud"].mean() < 0.01
    ((10000, 21), True)
    """
    rng = np.random.default_rng([20, seed])
    x = rng.standard_normal((FEATURES - 1, n)).round(2)
    amount = np.exp(rng.normal(4.0, 1.2, n)).round(2)
    logit = (
        -7.6 + 1.3 * x[0] + 0.9 * x[1] * x[2] + 1.6 * (x[3] > 1) * x[4] - 1.1 * np.abs(x[5]) + 0.8 * np.sin(2 * x[6])
        + 0.7 * (x[7] > 0) * (x[8] > 0) * x[9] + 0.4 * np.log(amount) + 0.5 * x[10] * (amount > 100)
    )  # fmt: skip
    fraud = rng.random(n) < 1.0 / (1.0 + np.exp(-logit))
    columns = {f"x{j}": values for j, values in enumerate(x)}
    return pl.DataFrame({**columns, "amount": amount, "fraud": fraud.astype(np.int8)})


def write_parts(folder: Path, n: int, *, first_seed: int = 0) -> Path:
    """Write payments to a folder of Parquet files, unless it is there."""
    if not folder.exists():
        unfinished = folder.with_name(f".{folder.name}")
        unfinished.mkdir(parents=True, exist_ok=True)
        for i, start in enumerate(range(0, n, PART)):
            part = make_part(min(PART, n - start), first_seed + i)
            part.write_parquet(unfinished / f"part-{i:05d}.parquet")
        os.replace(unfinished, folder)
    return folder


class Measured(NamedTuple):
    """A command that has run."""

    seconds: float
    private: int  # bytes at the peak, of all processes: what cannot be given back
    resident: int  # with the pages of files that are shared or could be read again


def measure(command: Sequence[str]) -> Measured:
    """Run a command, and return how long it took and how much memory it and its children had at the peak."""
    started = time.monotonic()
    process = subprocess.Popen(command)
    peak = [0, 0]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.5):
            for i, size in enumerate(_memory(process.pid)):
                peak[i] = max(peak[i], size)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    code = process.wait()
    done.set()
    watcher.join()
    if code:
        raise SystemExit(f"{' '.join(command)} failed with {code}")
    return Measured(time.monotonic() - started, *peak)


def _memory(pid: int) -> tuple[int, int]:
    """Return the private bytes, and all resident ones, of a process and its descendants."""
    private = resident = 0
    for process in family(pid):
        lines = read(process / "smaps_rollup").splitlines()
        sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines[1:]}
        private += sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)
        resident += sizes.get("Pss", 0)
    return private, resident


def savings(decided: pl.DataFrame) -> float:
    """Return what decisions save: 1 - their cost over the cheaper of acting on none and on all."""
    acted, fraud = decided["decision"].cast(pl.String) == "1", decided["fraud"] == 1
    amount = decided["amount"]
    cost = FP_COST * (acted & ~fraud).sum() + amount.filter(~acted & fraud).sum()
    return 1.0 - cost / min(amount.filter(fraud).sum(), FP_COST * int((~fraud).sum()))


def _decided(model: Path, new: Path, out: Path) -> tuple[float, Measured]:
    """Return the savings of a model on new records, and how long deciding took."""
    command = ["apply", str(model), str(new), "--out", str(out), "--keep", "amount,fraud"]
    took = measure([sys.executable, "-m", "stakes.cli", *command])
    decided = pl.concat([pl.read_parquet(part) for part in sorted(out.glob("*.parquet"))])
    shutil.rmtree(out)
    return savings(decided), took


def _study(data: Path, new: Path, out: Path, options: Sequence[str]) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    command = ["study", str(data), *STUDY, "--methods", METHODS, "--out", str(out), "--progress", "plain", *options]
    took = measure([sys.executable, "-m", "stakes.cli", *command])
    summary = json.loads((out / "summary.json").read_text())
    saved, applied = _decided(out / "best.skops", new, out.with_name(f"{out.name}-decisions"))
    return {
        "chosen": summary["chosen"]["name"],
        "savings": saved,
        **took._asdict(),
        "applied_per_second": NEW / applied.seconds,
        "bins": sum(path.stat().st_size for path in (out / "bins").glob("*")) if (out / "bins").exists() else 0,
    }


def kill_one(pids: Sequence[int], units: Path, after: int) -> None:
    """Kill the first of some processes as soon as a study has finished so many of its units."""
    while sum(1 for _ in units.glob("*.parquet")) < after:
        time.sleep(0.2)
    os.kill(pids[0], signal.SIGKILL)


def _on_a_cluster(workers: int, data: Path, new: Path, here: Path, options: Sequence[str]) -> dict[str, Any]:
    """Study again on a Dask cluster, of which a worker is killed after half of the units, and expect the same."""
    out = here.with_name(f"{here.name}-cluster")
    shutil.rmtree(out, ignore_errors=True)
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
        half = sum(1 for _ in (here / "units").glob("*.parquet")) // 2
        killer = threading.Thread(target=kill_one, args=(pids, out / "units", half), daemon=True)
        killer.start()
        found = _study(data, new, out, [*options, "--dask", cluster.scheduler_address])
        killer.join()
    for name in ("leaderboard.csv", "best.skops"):
        if (out / name).read_bytes() != (here / name).read_bytes():
            raise SystemExit(f"{out / name} differs from that of {here}")
    return found


LIGHTGBM = """
import sys, numpy as np, polars as pl, lightgbm as lgb
data, new, out = sys.argv[1:4]
params = dict(objective="binary", two_round=True, header=True, label_column="name:fraud", verbose=-1, num_threads=2)
model = lgb.train(params, lgb.Dataset(data, params=params), 100)
frame = pl.read_parquet(new + "/*.parquet")
p = model.predict(frame.drop("fraud").to_numpy())
frame.select("amount", "fraud").with_columns(decision=(p * frame["amount"].to_numpy() > (1 - p) * 5.0).astype(int)
    ).write_parquet(out)
"""


def _lightgbm(data: Path, new: Path, out: Path) -> dict[str, Any]:
    """Return LightGBM by T_cs, loaded in two rounds from a CSV file, which it needs for that."""
    text, decisions = out.with_suffix(".csv"), out.with_suffix(".parquet")
    pl.scan_parquet(data / "*.parquet").sink_csv(text)
    took = measure([sys.executable, "-c", LIGHTGBM, str(text), str(new), str(decisions)])
    saved = savings(pl.read_parquet(decisions))
    text.unlink()
    decisions.unlink()
    return {"savings": saved, **took._asdict()}


# Trees of 15 levels: Spark sends the histograms of a level's nodes from process to process, whose number doubles.
SPARK = """
import sys
from pyspark.ml.classification import RandomForestClassifier
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import SparkSession, functions as F
data, new, out, trees, memory = sys.argv[1:6]
spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", memory).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
train = spark.read.parquet(data)
vectors = VectorAssembler(inputCols=[c for c in train.columns if c != "fraud"], outputCol="features")
forest = RandomForestClassifier(labelCol="fraud", numTrees=int(trees), maxDepth=15, maxBins=255, seed=0)
model = forest.fit(vectors.transform(train))
p = vector_to_array("probability")[1]
acted = (p * F.col("amount") > (1 - p) * 5.0).cast("int").alias("decision")
model.transform(vectors.transform(spark.read.parquet(new))).select("amount", "fraud", acted).write.parquet(out)
"""


def _spark(python: str, data: Path, new: Path, out: Path, trees: str) -> dict[str, Any]:
    """Return a forest of Spark by T_cs, on this machine."""
    took = measure([python, "-c", SPARK, str(data), str(new), str(out), trees, "5g"])
    saved = savings(pl.read_parquet(out / "*.parquet"))
    shutil.rmtree(out)
    return {"savings": saved, **took._asdict()}


def main() -> None:
    """Make the data, run, and write what was measured to results.json, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=lambda text: int(float(text)), nargs="+", default=[1_000_000])
    parser.add_argument("--memory", default="6GB")
    parser.add_argument("--trees", default="100")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--options", default="", help="more options of stakes study")
    parser.add_argument("--without", nargs="*", default=[], choices=["million", "lightgbm"])
    parser.add_argument("--limit", type=lambda text: int(float(text)), help="bytes of data of any process")
    parser.add_argument("--cluster", type=int, help="workers of a Dask cluster to study on, too")
    parser.add_argument("--spark", metavar="PYTHON", help="a Python with pyspark, whose forest decides, too")
    given = parser.parse_args()
    if given.limit is not None:  # of this process, and so of all those that it starts
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_DATA, (given.limit, given.limit))
    folder = given.folder
    new = write_parts(folder / "new", NEW, first_seed=10**6)
    options = ["--trees", given.trees, "--jobs", given.jobs, *given.options.split()]
    found = []
    for n in given.records:
        data = write_parts(folder / f"records-{n}", n)
        rows = {"study": _study(data, new, folder / f"study-{n}", [*options, "--memory", given.memory])}
        if given.cluster is not None:
            memory = [*options, "--memory", given.memory]
            rows["cluster"] = _on_a_cluster(given.cluster, data, new, folder / f"study-{n}", memory)
        if "million" not in given.without and n > PART:
            million = folder / "million"
            if not million.exists():
                million.mkdir()
                everything = pl.scan_parquet(data / "*.parquet").with_row_index("row")
                some = np.sort(np.random.default_rng(0).choice(n, PART, replace=False))
                everything.join(pl.LazyFrame({"row": some.astype(np.uint32)}), on="row", how="semi").drop(
                    "row"
                ).sink_parquet(million / "part.parquet")
            rows["random million"] = _study(million, new, folder / f"study-million-{n}", options)
            shutil.rmtree(million)
        if "lightgbm" not in given.without and n <= LIGHTGBM_AT_MOST:
            rows["LightGBM, two rounds"] = _lightgbm(data, new, folder / f"lightgbm-{n}")
        if given.spark is not None:
            rows["Spark, a forest"] = _spark(given.spark, data, new, folder / f"spark-{n}", given.trees)
        for name, row in rows.items():
            found.append({"records": n, "what": name, **row})
            print(json.dumps(found[-1]), flush=True)
        (folder / "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
