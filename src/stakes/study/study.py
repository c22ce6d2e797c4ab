"""The study: train in folds, decide in many ways, choose honestly, and deliver what was described."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from joblib import cpu_count
from threadpoolctl import threadpool_limits

import stakes
from stakes._atomic import write_atomically
from stakes._forks import refuse_if_forked
from stakes._warn import warn
from stakes.exceptions import ModelFileError, StakesWarning, StudyError
from stakes.persist import dumps
from stakes.study.advice import headline
from stakes.study.check import Check, look, refuse_leaks
from stakes.study.columns import PARTS
from stakes.study.data import StudyData
from stakes.study.display import study_html
from stakes.study.findings import Findings, find
from stakes.study.large import reopened
from stakes.study.loading import load_data
from stakes.study.plan import RATIOS, Config, Unit, by_promise, plan_units, training_costs
from stakes.study.prices import study_prices
from stakes.study.progress import Progress
from stakes.study.report import write_report
from stakes.study.run import run_unit
from stakes.study.store import BINS, CONFIG, Store, parquet_of
from stakes.study.summary import summarise
from stakes.study.workers import Workers
from stakes.tree.growing import tell_before_growing

__all__ = ["Study", "StudyResult", "saved_study"]

# BLAS adds up in the order of its threads, and workers have fewer of them than this process: so that models do not
# depend on where they are trained, it has one.
one_blas_thread = threadpool_limits.wrap(limits=1, user_api="blas")

# What is told of data, and does not change results.
NO_RESULTS = ("notes", "source", "checks")
# Columns that only the study itself can read.
INNER = (*(f"{part}_{name}" for part in PARTS for name in ("outcome", "score", "used")), "digest")


@dataclass(frozen=True, repr=False)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    results : polars.DataFrame
        A row for each model and repeat.
    leaderboard : polars.DataFrame
        A row for each model, the best out of fold first. Models that decide alike on all records are one row.
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
    ...     study = Study(data, out=path.with_name("results"), methods=["bg"], trees=5, folds=3, jobs=1)
    ...     found = study.run()
    ...     written = (found.directory / "report.html").exists()
    >>> len(found.leaderboard) <= len(found.results), written
    (True, True)
    >>> found.leaderboard.columns[:3]
    ['complexity', 'method', 'name']
    """

    results: pl.DataFrame
    leaderboard: pl.DataFrame
    summary: dict[str, Any]
    directory: Path

    def __repr__(self) -> str:
        chosen = self.summary["chosen"]
        model = "no model keeps to the limits" if chosen is None else f"{chosen['name']}, {chosen['description']}"
        return f"StudyResult({model}; {len(self.results):,} models, see {self.directory})"

    def __str__(self) -> str:
        return f"{headline(self.summary)}\nMore: {self.directory / 'report.html'}"

    def _repr_html_(self) -> str:
        return study_html(self.summary, self.directory / "report.html")


class Study:
    """Try methods and decisions on data, and find out which saves the most money.

    The learning records are divided into folds. Every record is decided on by models that were not trained on it, and
    by tuned values that were not tuned on it; models are compared by these out-of-fold decisions. The one that is
    recommended is delivered as trained on all learning records, and measured on test records that took no part.

    Parameters
    ----------
    data : StudyData
        See `stakes.study.load_data`.
    out : path
        The directory of the results. The same study again goes on where it was stopped.
    methods : str or iterable of str, default=("quick",)
        Names of the catalogue, patterns such as ``"dm-*"``, "all" or "quick". Logistic regression and gradient
        boosting are always tried, too.
    trees : int, default=100
        Members of an ensemble.
    folds, repeats : int, default=5 and 1
        Into how many folds the learning records are divided, and how often anew.
    train_costs : str or iterable of str, default=("record",)
        "record", "class means", or pairs such as "1:6". Where there are no costs, such pairs are what is tried.
    measure : str, default=None
        What is compared: by default cost where there are costs, and balanced accuracy where there are none.
    max_fpr, max_acted : float, default=None
        Limits on the false positive rate, and on the share of the records that can be acted on: kept on new records
        with a confidence of 95%.
    metacost : {"best", "none"}, default="best"
        Whether to teach a readable tree by the recommended model.
    decisions : {"all", "follow-costs"}, default="all"
        Whether to try all decisions, or only those that follow the costs of the day.
    teams : bool, default=True
        Whether models may also decide together.
    refit : {"learning", "all"}, default="learning"
        What the delivered model is trained on: the learning records, or the test records, too. The figures on test
        records are those of the former.
    feature_costs : dict or path, default=None
        The prices of features, as in `CostTreeClassifier`, or a file with them: trees trade them against gain, and what
        models pay for features counts as cost wherever they are compared.
    time_limit : float, default=None
        Seconds after which no further ensemble is started; the most promising come first. The same study again goes
        on with the others.
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
    ...     study = Study(data, out=path.with_name("results"), methods=["wrf"], trees=5, folds=3, jobs=1)
    ...     board = study.run().leaderboard
    >>> {"wrf", "lr", "lgbm"} <= set(board["method"])
    True
    """

    def __init__(
        self,
        data: StudyData,
        *,
        out: Path | str,
        methods: str | Iterable[str] = Config.methods,
        trees: int = Config.trees,
        folds: int = Config.folds,
        repeats: int = Config.repeats,
        train_costs: str | Iterable[str] = Config.train_costs,
        measure: str | None = None,
        max_fpr: float | None = Config.max_fpr,
        max_acted: float | None = Config.max_acted,
        metacost: str = Config.metacost,
        decisions: str = Config.decisions,
        teams: bool = Config.teams,
        refit: str = Config.refit,
        feature_costs: Any = None,
        time_limit: float | None = None,
        jobs: int | None = None,
        dask: str | None = None,
        seed: int = Config.seed,
        progress: str = "quiet",
    ) -> None:
        self.data = data
        if data.training is not None and refit == "all":
            raise StudyError("--refit all needs all records in memory: leave it out, or give more --memory")
        if not str(out):
            raise StudyError("--out is empty: give the directory of the results")
        self.directory = Path(out)
        self.config = Config.of(
            in_money=data.costs is not None,
            methods=methods,
            trees=trees,
            folds=folds,
            repeats=repeats,
            train_costs=train_costs,
            measure=measure,
            max_fpr=max_fpr,
            max_acted=max_acted,
            metacost=metacost,
            decisions=decisions,
            teams=teams,
            refit=refit,
            feature_costs=study_prices(feature_costs, data),
            seed=seed,
        )
        self.time_limit = time_limit
        self.jobs = jobs
        self.dask = dask
        self.progress = progress
        self.ratios = self._ratios()
        self.units = plan_units(self.config, self.ratios)

    def _ratios(self) -> tuple[str, ...]:
        """Return the pairs of costs to try where none are known: those asked for, or up to twice the class ratio."""
        if self.data.costs is not None:
            return ()
        asked = tuple(setting for setting in self.config.train_costs if training_costs(setting) is not None)
        if asked:
            return asked
        positive = self.data.positive
        class_ratio = (positive.size - positive.sum()) / positive.sum()
        return tuple(f"1:{ratio}" for ratio in RATIOS if ratio <= max(10, 2 * class_ratio))

    def _fingerprint(self) -> dict[str, Any]:
        return {
            "configuration": asdict(self.config),
            "data": self.data.fingerprint(),
            "columns": {key: value for key, value in self.data.info.items() if key not in NO_RESULTS},
            "stakes version": stakes.__version__,
        }

    @one_blas_thread
    def run(self) -> StudyResult:
        """Run what is not yet done, and write and return the results."""
        refuse_if_forked("a study")
        self.data.check_divisible(self.config.folds, seed=self.config.seed)
        checks = look(self.data, self.config.seed)
        refuse_leaks(checks)
        with Store(self.directory, self._fingerprint()).opened() as store:
            findings, left_out = self._find(store)
            return self._finish(findings, store, left_out, checks)

    @one_blas_thread
    def save(self, row: int | str, path: Path | str) -> dict[str, Any]:
        """Write the model of another row of the leaderboard to a file, and return the row.

        Parameters
        ----------
        row : int or str
            Its rank out of fold, or a name, of which the best is taken.
        path : path
        """
        with Store(self.directory, self._fingerprint()).opened() as store:
            findings, _ = self._find(store)
            board = findings.leaderboard().with_row_index("rank", offset=1)
            chosen = board.filter(pl.col("rank" if isinstance(row, int) else "name") == row).head(1).to_dicts()
            if not chosen:
                known = f"1 to {len(board):,}" if isinstance(row, int) else ", ".join(board["name"].unique().sort())
                raise StudyError(f"there is no model {row!r} on the leaderboard: choose from {known}")
            write_atomically(Path(path), findings.model_file(chosen[0]))
            return chosen[0]

    def _find(self, store: Store) -> tuple[Findings, dict[str, Any]]:
        """Return what was found, and the methods that were left out: for want of time, or because training failed."""
        workers = self.jobs or cpu_count()
        with Progress(self.progress, self.units, self.config, workers=workers, time_limit=self.time_limit) as progress:
            done, failed = self._run(store, progress)
        if not done:
            raise StudyError(
                "no method could be trained: " + "; ".join(f"{name}: {why}" for name, why in failed.items())
            )
        results = pl.concat([done[unit.key] for unit in self.units if unit.key in done])
        not_tried = {unit.method for unit in self.units if unit.key not in done} - set(failed)
        left_out = {"not_tried": sorted(not_tried), "not_trained": dict(sorted(failed.items()))}
        return find(results, self.data, self.config, store), left_out

    def _run(self, store: Store, progress: Progress) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
        """Return the results of units by their keys, running those that are not in the store while there is time.

        The second is why methods could not be trained, by their names.
        """
        results: dict[str, pl.DataFrame] = {}
        failed: dict[str, str] = {}
        unsaved: set[str] = set()
        for unit in self.units:
            found = store.read(unit.key)
            if found is not None:
                results[unit.key] = found
                progress.done(unit, found)
        missing = [unit for unit in by_promise(self.units) if unit.key not in results]
        if missing:
            tell_before_growing()  # once, and not by every process
            for repeat in {unit.repeat for unit in missing}:
                self.data.costs_by_fold(self.config.folds, repeat=repeat, seed=self.config.seed)  # likewise
        until = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        # The first one is run whatever the limit.
        in_time = chain(missing[:1], takewhile(lambda _: time.monotonic() <= until, missing[1:]))
        tasks = ((self.config, unit) for unit in in_time)
        for done in Workers(self.jobs, self.dask).map(_run_named, self.data, tasks) if missing else ():
            if done.unsaved and done.unit.method not in unsaved:  # now, and not at the end: more may be done by then
                unsaved.add(done.unit.method)
                warn(f"{done.unit.method} cannot be delivered: {done.unsaved}", StakesWarning)
            if done.failure:
                failed[done.unit.method] = done.failure
            else:
                store.add(done.unit.key, done.rows, done.model)
                results[done.unit.key] = done.rows
            progress.done(done.unit, done.rows, done.seconds)
        return results, failed

    def _finish(self, findings: Findings, store: Store, left_out: dict[str, Any], checks: list[Check]) -> StudyResult:
        chosen = findings.recommendation
        model = None if chosen is None else findings.delivery.model(chosen.row)
        summary = summarise(findings, model, left_out, checks)
        results = findings.results.drop(INNER)
        leaderboard = findings.leaderboard().drop(INNER, strict=False)
        store.write("results.parquet", parquet_of(results))
        written = leaderboard.with_columns(pl.col("same_as").list.join("; "))
        store.write("leaderboard.csv", written.write_csv().encode())
        store.write("summary.json", json.dumps(summary, indent=1).encode())
        if "source" in self.data.info:
            store.write("source.json", json.dumps(self.data.info["source"], indent=1).encode())
        write_report(store.directory)
        if chosen is not None:
            store.write("best.skops", findings.model_file(chosen.row, model))
        store.keep_models(key for row in findings.shown() for key in findings.delivery.keys(row))
        return StudyResult(results, leaderboard, summary, store.directory)


def saved_study(directory: Path | str, *, data: Path | str | None = None) -> Study:
    """Return the study of a directory, to go on with or to save other models of.

    `data` are the records, if they are no longer where they were.
    """
    directory = Path(directory)
    try:
        source = json.loads((directory / "source.json").read_text())
        path = source.pop("path")
        config = json.loads((directory / CONFIG).read_text())["configuration"]
    except (OSError, ValueError, KeyError):
        raise StudyError(f"{directory} is not the directory of a finished study of a file") from None
    bins = directory / BINS
    loaded = reopened(bins) if bins.is_dir() else load_data(data or path, bins=bins, **source)
    return Study(loaded, out=directory, **config)


class _Done(NamedTuple):
    """A finished unit, with its model as the content of a file; or why it could not be trained."""

    unit: Unit
    rows: pl.DataFrame
    model: bytes | None
    seconds: float
    failure: str = ""
    unsaved: str = ""  # why there is no such file


@one_blas_thread
def _run_named(data: StudyData, config: Config, unit: Unit) -> _Done:
    started = time.monotonic()
    try:
        rows, model = run_unit(data, config, unit)
    except ValueError as error:  # a method may refuse some data, as SMOTE missing numbers: no reason to end a study
        return _Done(unit, pl.DataFrame(), None, time.monotonic() - started, failure=str(error))
    content, unsaved = None, ""
    try:
        content = None if model is None else dumps(model, validation=True, compress=False)
    except ModelFileError as error:  # of a package that model files do not know: trained again where it is needed
        unsaved = str(error)
    return _Done(unit, rows, content, time.monotonic() - started, unsaved=unsaved)
