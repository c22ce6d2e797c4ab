"""The protocol of the paper: records, splits, costs, methods and trees of its three applications (FRAMEWORK 12).

An application is run as one or more trials, each in a directory of its own, whose results are then put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stakes.catalog import list_methods
from stakes.costs import Costs
from stakes.datasets import CostDataset, load_credit_card_fraud, load_kdd98, load_telco_churn
from stakes.exceptions import StudyError

__all__ = ["APPLICATIONS", "PAPER_METHODS", "PARAMS_OF", "Application", "Trial", "load", "plan_trials"]

# The trees of bagging and of random decision forests are those of R's rpart by its defaults: nodes of fewer than 20
# records are not split, leaves have at least 7, there are at most 30 levels, and splits that do not lower the training
# error by 1% of the root's are undone (cp). The paper does not say so, but its rates are those of such small trees.
RPART: dict[str, Any] = {"min_samples_split": 20, "min_samples_leaf": 7, "max_depth": 30, "cp": 0.01}
# Random forests have deep trees; how deep, the paper does not say.
DEEP: dict[str, Any] = {"min_samples_split": 2, "min_samples_leaf": 1, "max_depth": None, "cp": 0.0}
# AdaCost scales the largest cost to 1, as printed.
PARAMS_OF: dict[str, dict[str, Any]] = {
    "*rf": DEEP,
    "tree": {"pruning": None},
    "acost": {"variant_params": {"scale": 1.0}},
}

# The 36 rows of the paper's list of methods, where dm- stands for a way to decide; and the single tree of its tables.
PAPER_METHODS = (
    "tree", "bg", "rf", "rdf", "wbg", "wrf", "wrdf", "ab", "ncsab", "ac1", "ac2", "ac3", "acost", "aub", "csa", "csb0",
    "csb1", "csb2", "asb", "usb", "cprb", "dab", "upbg", "cprpbg", "opbg", "uprf", "cprprf", "oprf", "uprdf", "cprprdf",
    "oprdf", "ubg", "cprbg", "obg", "urf", "cprrf", "orf", "urdf", "cprrdf", "ordf",
)  # fmt: skip

# All ensembles of trees, but for dm-, adamec and cab, which are decisions that ensembles are tried with anyway, for
# easy, an ensemble of ensembles, and for extremely randomised trees, which no published result is about.
FAMILIES = ("tree", "bagging", "boosting", "gradient boosting")
_ENSEMBLES = [
    method
    for method in list_methods()
    if method.family in FAMILIES
    and not method.name.startswith(("dm-", "mc-", "adamec", "cab", "easy"))
    and not method.name.endswith("et")
]
METHODS = tuple(method.name for method in _ENSEMBLES)
BOOSTING = tuple(method.name for method in _ENSEMBLES if method.family == "boosting")

FULL: dict[str, Any] = {"methods": METHODS, "trees": 100, "repeats": 3}
QUICK: dict[str, Any] = {
    "methods": (
        "tree", "cstree", "bg", "rf", "rdf", "wrf", "urf", "uprdf", "cprbg", "csrf", "ab", "acost", "asb", "ac2", "dab",
        "gb",
    ),
    "trees": 20,
    "repeats": 1,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Application:
    """One of the three applications."""

    name: str
    title: str
    load: Callable[[Path], CostDataset]  # from a directory to the records
    measure: str  # what models are compared by
    unlimited: str  # what they are compared by without a limit on the false positive rate
    shown: tuple[str, ...]  # the figures of its tables
    train_costs: tuple[str, ...]  # what models are trained by: see `Trial`
    record_costs: str  # how training costs that depend on the record are written; {fp} is the overhead
    overheads: tuple[float, ...] = ()  # what a false alarm may cost, if not known; a quick look is at the last one
    limits: tuple[float | None, ...] = (None,)  # the largest false positive rates, with a table for each
    tree: dict[str, Any] = field(default_factory=lambda: RPART)  # the trees of bagging and of random decision forests


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Ensembles of an application that are trained and compared under the same conditions."""

    directory: str  # where its results are kept, within the directory of the application
    # All records, with how they are split, and how costs are estimated that are not known when deciding.
    dataset: CostDataset
    overhead: float | None  # what a false alarm costs, where several are tried
    methods: tuple[str, ...]  # of the catalogue, without dm-: members of every ensemble also vote by T_cs and T_thr
    trees: int  # members of an ensemble
    repeats: int  # how often training and validation records are drawn anew, from this seed on
    seed: int
    train_costs: tuple[str, ...]  # "record", "class means", or pairs such as "1:6"
    tree: dict[str, Any]  # parameters of the trees of bagging
    depth: int  # of the trees of boosting


def plan_trials(application: Application, dataset: CostDataset, *, seed: int = 0, quick: bool = False) -> list[Trial]:
    """Return the trials of an application: for each overhead, all methods, and boosting with larger trees once more.

    Boosting has stumps, which the paper calls trees of depth 2. A stump has depth 1, so both are tried.
    Methods that train without costs are trained again for each overhead, though only what is decided by them differs:
    that is some 2% of the work.
    """
    common: dict[str, Any] = {
        **(QUICK if quick else FULL),
        "seed": seed,
        "train_costs": application.train_costs,
        "tree": application.tree,
    }
    overheads: tuple[float | None, ...] = application.overheads or (None,)
    trials = []
    for overhead in overheads[-1:] if quick else overheads:
        common |= {"dataset": _with_overhead(dataset, overhead), "overhead": overhead}
        within = "" if overhead is None else f"overhead-{overhead:g}/"
        trials.append(Trial(**common, directory=f"{within}all-methods", depth=1))
        if not quick:
            again = {**common, "methods": BOOSTING}
            trials.append(Trial(**again, directory=f"{within}boosting-depth-2", depth=2))
    return trials


def _with_overhead(dataset: CostDataset, overhead: float | None) -> CostDataset:
    if overhead is None:
        return dataset
    costs = Costs(fp=overhead, fn=dataset.amount)
    return replace(dataset, costs=costs, decision_costs=costs)


def _load_kdd98(data_dir: Path) -> CostDataset:
    """Return the records of the original files, or of the extract where those are not at hand."""
    try:
        return load_kdd98(data_dir)
    except FileNotFoundError as absent:
        try:
            return load_kdd98(data_dir, source="partial")
        except FileNotFoundError:
            raise absent from None


APPLICATIONS = {
    application.name: application
    for application in (
        Application(
            name="churn",
            title="Customers of a telephone company who may leave",
            load=load_telco_churn,
            measure="cost_reduction",
            unlimited="cost_reduction",
            shown=("cost_reduction", "tpr", "fpr", "auc"),
            train_costs=("1:6", "class means", "record"),
            record_costs="(2 amt, 12 amt)",
        ),
        Application(
            name="fraud",
            title="Card payments, some of them frauds",
            load=load_credit_card_fraud,
            measure="amount_detected",
            unlimited="cost",
            shown=("amount_detected", "fpr", "tpr", "auc"),
            train_costs=("class means", "record"),
            record_costs="({fp}, amt)",
            overheads=(1.0, 2.0, 5.0),
            limits=(0.01, 0.02, 0.03),
        ),
        Application(
            name="marketing",
            title="A mailing to donors of a charity",
            load=_load_kdd98,
            measure="profit",
            unlimited="profit",
            shown=("profit", "roi", "tpr", "fpr", "auc"),
            train_costs=("class means", "record"),
            record_costs="(0.68, amt - 0.68)",
            # One record in twenty is a donor, and in no leaf are donors the majority: with a cp all trees would be
            # single leaves. Those of the paper do split.
            tree={**RPART, "cp": 0.0},
        ),
    )
}


def load(application: Application, data_dir: Path) -> CostDataset:
    """Return the records of an application, or say in one line why there are none."""
    try:
        return application.load(data_dir)
    except (OSError, ValueError) as error:
        raise StudyError(f"--data {data_dir}: {error}") from None
