"""Run an application by the paper's protocol, and write and return its results."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import stakes
from stakes._progress import progress
from stakes.datasets import CostDataset
from stakes.exceptions import StudyError
from stakes.paper.findings import Finding, find
from stakes.paper.page import machine, markdown, values
from stakes.paper.protocol import APPLICATIONS, Application, Trial, load, plan_trials
from stakes.paper.run import average, run_unit, unfitted, units_of
from stakes.paper.tables import PaperTable, compare, merge
from stakes.study.store import Store, parquet_of, write_own
from stakes.study.workers import Workers

__all__ = ["PaperResult", "run_paper"]

QUICK_NOTE = "QUICK LOOK: few methods, trees and repeats. These figures are not the protocol's."
PARTIAL_NOTE = (
    "NOT COMPARABLE WITH THE PAPER: the original files are not at hand. This is a part of the learning file's columns, "
    "without amounts in dollars, split by 50, 20 and 30%. The paper's figures are of other test records."
)


@dataclass(frozen=True)
class PaperResult:
    """The results of an application."""

    application: Application
    models: pl.DataFrame  # all models of all trials, averaged over repeats
    tables: list[PaperTable]
    findings: list[Finding]
    notes: list[str]  # what was run, and on what
    page: Path  # in markdown; next to it, the same in a CSV file, and all models in a Parquet file


def run_paper(
    name: str,
    data: Path | str,
    *,
    out: Path | str | None = None,
    quick: bool = False,
    jobs: int | None = None,
    seed: int = 0,
    verbose: int = 0,
    say: Callable[[str], object] = lambda line: None,
) -> PaperResult:
    """Run an application by the paper's protocol; what an earlier run has finished is not run again.

    `data` is the directory with the files of the publishers, and `out` that of the results: by default ``paper-NAME``,
    with ``-quick`` for a quick look at a few methods with small ensembles, once. As many processes are used as there
    are cores by default. `say` is called with the name of each trial and repeat before it is run.

    Examples
    --------
    >>> from stakes.paper.experiment import run_paper
    >>> run_paper("churn", "my/data", quick=True).page  # doctest: +SKIP
    """
    if name not in APPLICATIONS:
        raise StudyError(f"there is no application {name!r}: choose from {', '.join(APPLICATIONS)}")
    application = APPLICATIONS[name]
    directory = Path(out or f"paper-{name}{'-quick' if quick else ''}")
    dataset = load(application, Path(data))
    trials = plan_trials(application, dataset, seed=seed, quick=quick)
    from_scratch = not any((directory / trial.directory).exists() for trial in trials)
    started = time.monotonic()
    boards = []
    for number, trial in enumerate(trials, 1):
        say(f"{trial.directory} ({number} of {len(trials)})")
        boards.append(_run_trial(trial, directory / trial.directory, Workers(jobs), verbose, say))
    minutes = (time.monotonic() - started) / 60 if from_scratch else None
    models = merge(application, trials, boards)
    tables, findings = compare(application, models, trials), find(application, models)
    notes = _notes(application, dataset, trials, models, quick=quick, seed=seed, minutes=minutes)
    page = directory / f"{name}.md"
    text = markdown(application.title, notes, tables, findings, application.shown)
    write_own(directory, page.name, text.encode())
    write_own(directory, page.with_suffix(".csv").name, values(tables, application.shown).write_csv().encode())
    write_own(directory, page.with_suffix(".parquet").name, parquet_of(models))
    return PaperResult(application, models, tables, findings, notes, page)


def _run_trial(
    trial: Trial, directory: Path, workers: Workers, verbose: int, say: Callable[[str], object]
) -> pl.DataFrame:
    """Return the models of a trial, averaged over repeats; ensembles that an earlier run finished are not run again."""
    results: list[pl.DataFrame] = []
    with Store(directory, _fingerprint(trial)).opened() as store:
        for repeat in range(trial.repeats):
            units = units_of(trial, repeat)
            found = {unit: table for unit in units if (table := store.read(unit.key)) is not None}
            missing = [unit for unit in units if unit not in found]
            if missing:
                say(f"repeat {repeat + 1} of {trial.repeats}: {len(missing)} ensembles")
                parts = trial.dataset.parts(repeat, seed=trial.seed)
                tasks = ((unfitted(trial, unit), unit) for unit in missing)
                done = workers.map(run_unit, parts, tasks)
                for unit, made in progress(done, len(missing), "ensembles", verbose):
                    store.add(unit.key, made)
                    found[unit] = made
            results += [found[unit] for unit in units]
    return average(pl.concat(results))


def _fingerprint(trial: Trial) -> dict[str, Any]:
    """Return what the results of a trial depend on."""
    asked = {name: value for name, value in vars(trial).items() if name not in ("directory", "dataset")}
    dataset = trial.dataset
    fp, fn = dataset.costs.arrays(len(dataset))
    others = {"=target": dataset.target, "=fp": fp, "=fn": fn, "=amount": dataset.amount}
    everything = dataset.frame.with_columns(pl.Series(name, column) for name, column in others.items())
    digest = hashlib.sha256(parquet_of(everything.rechunk())).hexdigest()
    return {"configuration": asked, "data": digest, "stakes version": stakes.__version__}


def _notes(
    application: Application,
    dataset: CostDataset,
    trials: list[Trial],
    models: pl.DataFrame,
    *,
    quick: bool,
    seed: int,
    minutes: float | None,
) -> list[str]:
    trial = trials[0]
    split = " / ".join(f"{rows.size:,}" for rows in trial.dataset.split(0, seed=seed))
    asked = f"stakes paper {application.name} --data DIR --seed {seed}{' --quick' if quick else ''}"
    notes = [QUICK_NOTE] if quick else []
    if application.name == "marketing" and dataset.name != "kdd98":
        notes.append(PARTIAL_NOTE)
    return [
        *notes,
        f"Command: `{asked}`, stakes {stakes.__version__}.",
        f"Machine: {machine()}." + ("" if minutes is None else f" It took {minutes:.1f} minutes."),
        f"Records to train / validate / test on: {split}. Trees in an ensemble: {trial.trees}. "
        f"Repeats: {trial.repeats}.",
        f"{models.height:,} models, {models.filter('like_paper').height:,} of them of methods and decisions of the "
        "paper. All figures are on test records and averaged over repeats, unless they say validation.",
    ]
