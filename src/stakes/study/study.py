"""The study: train once, decide many, and keep what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from joblib import Parallel, cpu_count, delayed, parallel_config

import stakes
from stakes.exceptions import CostsError, DecisionError, SamplingError, StudyError
from stakes.measures import MEASURES
from stakes.persist import save
from stakes.study.apply import score_to_probability
from stakes.study.data import StudyData
from stakes.study.leaderboard import average, decision_of, ranked, trained
from stakes.study.plan import RATIOS, Config, Unit, plan_units, with_metacost
from stakes.study.progress import Progress
from stakes.study.report import write_report
from stakes.study.run import run_unit
from stakes.study.store import Store
from stakes.study.summary import summarise

__all__ = ["Study", "StudyResult"]


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    results : polars.DataFrame
        A row for each hybrid model and repeat.
    leaderboard : polars.DataFrame
        A row for each hybrid model, averaged over repeats, the best on validation records first.
    summary : dict
        Everything that the report shows.
    directory : Path
        Where it all is: results.parquet, leaderboard.csv, summary.json, report.html and best.skops.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.datasets import make_churn
    >>> from stakes.study import Study, load_data
    >>> made = make_churn(400, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "churn.csv"
    ...     made.frame.with_columns(churned=made.target).write_csv(path)
    ...     data = load_data(path, target="churned", fp_cost="2 * monthly_charges", fn_cost="12 * monthly_charges")
    ...     study = Study(data, out=path.with_name("results"), methods=["bg"], trees=5, repeats=1, jobs=1)
    ...     found = study.run()
    ...     written = (found.directory / "report.html").exists()
    >>> len(found.leaderboard) == len(found.results), written
    (True, True)
    >>> found.leaderboard.columns[:3]
    ['method', 'name', 'family']
    """

    results: pl.DataFrame
    leaderboard: pl.DataFrame
    summary: dict[str, Any]
    directory: Path


class Study:
    """Try methods and decisions on data, and find out which saves the most money.

    Parameters
    ----------
    data : StudyData
        See `stakes.study.load_data`.
    out : path
        The directory of the results. The same study again goes on where it was stopped.
    methods : sequence of str, default=("quick",)
        Names of the catalogue, patterns such as ``"dm-*"``, "all" or "quick".
    trees, repeats : int, default=100 and 3
        Members of an ensemble, and splits into training and validation records.
    train_costs : sequence of str, default=("record",)
        "record", "class means", or pairs such as "1:6".
    measure : str, default=None
        What is compared: by default cost where there are costs, and balanced accuracy where there are none.
    max_fpr, max_acted : float, default=None
        Limits on the false positive rate, and on the share of the records that can be acted on.
    metacost : {"best", "all", "none"}, default="best"
        Teach a readable tree by the best decision, by all, or by none.
    jobs : int, default=None
        Processes to use: as many as there are cores by default. A joblib backend in force is used instead.
    dask : str, default=None
        The address of a Dask scheduler to run on.
    seed : int, default=0
    progress : {"live", "plain", "quiet"}, default="quiet"

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes.datasets import make_churn
    >>> from stakes.study import Study, load_data
    >>> made = make_churn(400, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "churn.csv"
    ...     made.frame.with_columns(churned=made.target).write_csv(path)
    ...     data = load_data(path, target="churned", fp_cost="2 * monthly_charges", fn_cost="12 * monthly_charges")
    ...     study = Study(data, out=path.with_name("results"), methods=["bg", "wrf"], trees=5, repeats=1, jobs=1)
    ...     board = study.run().leaderboard
    >>> board["method"].unique().sort().to_list()
    ['bg', 'wrf']
    """

    def __init__(
        self,
        data: StudyData,
        *,
        out: Path | str,
        methods: Any = ("quick",),
        trees: int = 100,
        repeats: int = 3,
        train_costs: Any = ("record",),
        measure: str | None = None,
        max_fpr: float | None = None,
        max_acted: float | None = None,
        metacost: str = "best",
        jobs: int | None = None,
        dask: str | None = None,
        seed: int = 0,
        progress: str = "quiet",
    ) -> None:
        self.data = data
        self.directory = Path(out)
        self.config = Config(
            methods=tuple(methods),
            trees=trees,
            repeats=repeats,
            train_costs=tuple(train_costs),
            measure=measure or ("balanced_accuracy" if data.costs is None else "cost"),
            max_fpr=max_fpr,
            max_acted=max_acted,
            metacost=metacost,
            seed=seed,
        )
        self.jobs = jobs
        self.dask = dask
        self.progress = progress
        self.ratios = self._ratios()

    def _ratios(self) -> tuple[str, ...]:
        """Return the pairs of costs to be tried where there are no real ones: up to twice the class ratio."""
        if self.data.costs is not None:
            return ()
        if MEASURES[self.config.measure].needs_costs:
            raise StudyError(
                f"the measure {self.config.measure!r} needs costs: give --fp-cost and --fn-cost, or choose "
                "balanced_accuracy, g_mean, f1, average_precision or auc"
            )
        positive = self.data.positive
        class_ratio = (positive.size - positive.sum()) / positive.sum()
        return tuple(f"1:{ratio}" for ratio in RATIOS if ratio <= max(10, 2 * class_ratio))

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "configuration": asdict(self.config),
            "data": self.data.fingerprint(),
            "columns": {key: value for key, value in self.data.info.items() if key != "notes"},
            "stakes version": stakes.__version__,
        }

    def run(self) -> StudyResult:
        """Run what is not yet done, and write and return the results."""
        units = plan_units(self.config, self.ratios)
        store = Store(self.directory, self._fingerprint())
        with store.opened():
            with Progress(self.progress, len(units), self.config) as progress:
                results = self._run(units, store, progress)
                taught = self._metacost_units(units, results)
                if taught:
                    progress.more(len(taught))
                    results = pl.concat([results, self._run(taught, store, progress)])
            return self._finish(results, store, n_ensembles=len(units))

    def _run(self, units: list[Unit], store: Store, progress: Progress) -> pl.DataFrame:
        """Return the results of all units in their order, running those that are not in the store."""
        results: dict[str, pl.DataFrame] = {}
        for unit in units:
            found = store.read(unit.key)
            if found is not None:
                results[unit.key] = found
                progress.done(unit, found, again=True)
        for unit, found in self._run_missing([unit for unit in units if unit.key not in results]):
            store.add(unit.key, found)
            results[unit.key] = found
            progress.done(unit, found)
        return pl.concat([results[unit.key] for unit in units])

    def _run_missing(self, units: list[Unit]) -> Iterator[tuple[Unit, pl.DataFrame]]:
        if not units:
            return
        jobs = self.jobs or cpu_count()
        with self._backend():
            yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
                delayed(_run_named)(self.data, self.config, unit, self.ratios) for unit in units
            )

    def _backend(self) -> AbstractContextManager[Any]:
        if self.dask is None:
            return nullcontext()
        try:
            from distributed import Client
        except ImportError:
            raise StudyError('running on Dask needs its packages: pip install "stakes[dask]"') from None
        try:
            client = Client(self.dask)
        except (OSError, ValueError) as error:
            raise StudyError(f"no Dask scheduler answers at {self.dask}: {error}") from None
        return parallel_config(backend="dask", client=client, scatter=[self.data])

    def _metacost_units(self, units: list[Unit], results: pl.DataFrame) -> list[Unit]:
        """Return the units that teach a tree by the best decision on validation records."""
        if self.config.metacost != "best":
            return []
        best = ranked(trained(average(results)), self.config, "validation").head(1).to_dicts()
        if not best:
            return []
        chosen = [
            unit for unit in units if (unit.method, unit.train_costs) == (best[0]["method"], best[0]["train_costs"])
        ]
        return [with_metacost(unit, decision_of(best[0])) for unit in chosen]

    def _finish(self, results: pl.DataFrame, store: Store, n_ensembles: int) -> StudyResult:
        table = average(results)
        jobs = self.jobs or cpu_count()
        summary, best, row = summarise(table, self.data, self.config, n_ensembles=n_ensembles, n_jobs=jobs)
        leaderboard = ranked(table, self.config, "validation").drop("outcome")
        store.write_frame("results.parquet", results.drop("outcome"))
        store.write("leaderboard.csv", leaderboard.write_csv().encode())
        store.write("summary.json", json.dumps(summary, indent=1).encode())
        if best is not None and row is not None:
            info = {**self.data.info, "model": row, "probability": score_to_probability(best)}
            save(best, store.directory / "best.skops", info=info)
        write_report(store.directory)
        return StudyResult(results.drop("outcome"), leaderboard, summary, store.directory)


def _run_named(data: StudyData, config: Config, unit: Unit, ratios: tuple[str, ...]) -> tuple[Unit, pl.DataFrame]:
    try:
        return unit, run_unit(data, config, unit, ratios)
    except (CostsError, DecisionError, SamplingError) as error:
        raise StudyError(f"{unit.method}, which --methods can leave out: {error}") from error
