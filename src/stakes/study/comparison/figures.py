"""From the directories of studies to one figure for each method and data set."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.columns import OUT_OF_FOLD, TEST

__all__ = ["Source", "figures_of", "read_studies"]

# The columns that describe a model.
DESCRIBED_BY = ("method", "train_costs", "leaf", "member", "vote_weight", "calibration", "threshold")


@dataclass(frozen=True)
class Source:
    """A finished study."""

    directory: Path
    data: str  # the name of the data set
    seed: int
    results: pl.DataFrame


def read_studies(directories: Iterable[Path], measure: str) -> list[Source]:
    """Read finished studies that measured what is compared; a directory of studies stands for all studies in it."""
    found = [source for directory in directories for source in _read(Path(directory), measure)]
    if not found:
        raise StudyError("no finished study was given: a study is a directory with summary.json and results.parquet")
    return found


def _read(directory: Path, measure: str) -> list[Source]:
    summary = directory / "summary.json"
    if not summary.exists():
        inside = sorted(path.parent for path in directory.glob("*/summary.json"))
        if not inside:
            raise StudyError(f"{directory} is no finished study, nor has it any: there is no summary.json")
        return [source for path in inside for source in _read(path, measure)]
    try:
        question = json.loads(summary.read_text(encoding="utf-8"))["question"]
        results = pl.read_parquet(directory / "results.parquet", glob=False)
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError) as error:
        raise StudyError(f"{directory} cannot be read as a finished study ({error}): run it again") from error
    needed = {"name", *DESCRIBED_BY, f"{OUT_OF_FOLD}_{measure}", f"{TEST}_{measure}"}
    if missing := needed - set(results.columns):
        raise StudyError(f"{directory}: its results have no {', '.join(sorted(missing))}; compare by another --measure")
    return [Source(directory, question["data"], question["seed"], results)]


def figures_of(sources: list[Source], measure: str) -> pl.DataFrame:
    """Return the figure of each method on each data set: `data`, `name`, `figure`, and from how many splits it is.

    A method is represented by the decision that is best on its out-of-fold records, and measured on test records,
    which had no part in this. Splits of a data set are averaged, so that it counts once. A method may be in several
    studies of a data set: a method that is new enters with a study of its own.
    """
    better = MEASURES[measure].higher_is_better
    chosen, measured = f"{OUT_OF_FOLD}_{measure}", f"{TEST}_{measure}"
    each = [
        source.results.filter(pl.col(chosen).is_not_null(), pl.col(measured).is_not_null())
        .sort(chosen, descending=better, maintain_order=True)
        .group_by("name", maintain_order=True)
        .first()
        .select(
            pl.lit(source.data).alias("data"),
            pl.lit(source.seed).alias("seed"),
            "name",
            pl.col(measured).alias("figure"),
        )
        for source in sources
    ]
    by_split = pl.concat(each).group_by("data", "seed", "name", maintain_order=True).agg(pl.col("figure").mean())
    return by_split.group_by("data", "name", maintain_order=True).agg(pl.col("figure").mean(), pl.len().alias("splits"))
