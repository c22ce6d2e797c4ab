"""The protocol of the paper: records, splits, costs, methods and trees of its three applications (FRAMEWORK 12).

An application is run as one or more studies, each in a directory of its own, whose results are then put together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from stakes.catalog import list_methods
from stakes.costs import Costs
from stakes.datasets import CostDataset, load_credit_card_fraud, load_kdd98, load_telco_churn
from stakes.datasets.splits import Split
from stakes.exceptions import StudyError
from stakes.study.data import StudyData
from stakes.study.files import kinds_of

__all__ = ["APPLICATIONS", "PAPER_METHODS", "Application", "PaperData", "Trial", "load", "plan_trials", "study_data"]

# The trees of bagging and of random decision forests are those of R's rpart by its defaults: nodes of fewer than 20
# records are not split, leaves have at least 7, there are at most 30 levels, and splits that do not lower the training
# error by 1% of the root's are undone (cp). The paper does not say so, but its rates are those of such small trees.
RPART: dict[str, Any] = {"min_samples_split": 20, "min_samples_leaf": 7, "max_depth": 30, "cp": 0.01}
# Random forests have deep trees; how deep, the paper does not say.
DEEP: dict[str, Any] = {"min_samples_split": 2, "min_samples_leaf": 1, "max_depth": None, "cp": 0.0}
TREE_OF: dict[str, dict[str, Any]] = {"*rf": DEEP, "tree": {"pruning": None}}
# Boosting has stumps, which the paper calls trees of depth 2. A stump has depth 1, so both are tried.
STUMP, TWO_LEVELS = {"max_depth": 1}, {"max_depth": 2}

# The 36 rows of the paper's list of methods, where dm- stands for a way to decide; and the single tree of its tables.
PAPER_METHODS = (
    "tree", "bg", "rf", "rdf", "wbg", "wrf", "wrdf", "ab", "ncsab", "ac1", "ac2", "ac3", "acost", "aub", "csa", "csb0",
    "csb1", "csb2", "asb", "usb", "cprb", "dab", "upbg", "cprpbg", "opbg", "uprf", "cprprf", "oprf", "uprdf", "cprprdf",
    "oprdf", "ubg", "cprbg", "obg", "urf", "cprrf", "orf", "urdf", "cprrdf", "ordf",
)  # fmt: skip

BOOSTING = tuple(m.name for m in list_methods().filter(family="boosting") if not m.name.startswith("mc-"))

FULL: dict[str, Any] = {"methods": ("all",), "trees": 100, "repeats": 3}
QUICK: dict[str, Any] = {"methods": ("quick",), "trees": 20, "repeats": 1}


@dataclass(frozen=True, kw_only=True)
class Application:
    """One of the three applications.

    Attributes
    ----------
    name, title : str
    load : callable
        From a directory to the records.
    measure : str
        What models are compared by.
    studied : str
        What the studies compare them by: the same, unless it means something only within limits.
    shown : tuple of str
        The figures of its tables.
    train_costs : tuple of str
        What models are trained by: see `Study`.
    record_costs : str
        How training costs that depend on the record are written; ``{fp}`` is the overhead.
    overheads : tuple of float
        What a false alarm may cost, where nobody knows; the last one is for a quick look.
    limits : tuple of float or None
        The largest false positive rates, with a table for each.
    costs : tuple of str
        What a false positive and a false negative cost, as formulas for people.
    tree : dict
        The trees of bagging and of random decision forests.
    """

    name: str
    title: str
    load: Callable[[Path], CostDataset]
    measure: str
    studied: str
    shown: tuple[str, ...]
    train_costs: tuple[str, ...]
    record_costs: str
    costs: tuple[str, str]
    overheads: tuple[float, ...] = ()
    limits: tuple[float | None, ...] = (None,)
    tree: dict[str, Any] = field(default_factory=lambda: RPART)


@dataclass(frozen=True, eq=False)
class PaperData(StudyData):
    """Records that are split, and whose costs are known or estimated, as the dataset says."""

    dataset: CostDataset = field(kw_only=True)

    def split(self, repeat: int, seed: int) -> Split:
        """Return the rows to train, validate and test on."""
        return self.dataset.split(repeat, seed=seed)

    def costs_of(self, split: Split, repeat: int, seed: int) -> list[tuple[Costs | None, Costs | None]]:
        """Return the real costs of each part, and those known when deciding: estimated from the training rows."""
        whole = self.dataset.estimated_from(split.train)
        return [(whole.costs[rows], whole.decision_costs[rows]) for rows in split]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One study of an application.

    Attributes
    ----------
    directory : str
        Where it is, within the directory of the application.
    data : PaperData
    overhead : float or None
        What a false alarm costs, where several are tried.
    stumps : str
        What the trees of boosting are, for people.
    options : dict
        What the study is asked for.
    """

    directory: str
    data: PaperData
    overhead: float | None
    stumps: str
    options: dict[str, Any]


def study_data(dataset: CostDataset, costs: tuple[str, str]) -> PaperData:
    """Return a dataset in the form that a study takes."""
    plan = dataset.plan
    assert plan is not None
    test_rows = None if isinstance(plan.test, int) else plan.test
    n_test = plan.test if isinstance(plan.test, int) else plan.test.size
    learning = plan.train + plan.validation
    features = kinds_of(dataset.frame)
    return PaperData(
        name=dataset.name,
        frame=dataset.frame,
        positive=dataset.target == 1,
        classes=("0", "1"),
        costs=dataset.costs,
        test_rows=test_rows,
        test_fraction=n_test / (learning + n_test),
        validation_fraction=plan.validation / learning,
        info={
            "data": dataset.name,
            "target": "class",
            "positive": "1",
            "classes": ["0", "1"],
            "fp_cost": costs[0],
            "fn_cost": costs[1],
            "drop": [],
            "test": "as in the paper",
            "validation": "as in the paper",
            "features": features,
            "cost_columns": {name: kind for name, kind in features.items() if name in " ".join(costs).split()},
            "notes": [],
        },
        dataset=dataset,
    )


def plan_trials(application: Application, dataset: CostDataset, *, seed: int = 0, quick: bool = False) -> list[Trial]:
    """Return the studies of an application: for each overhead, all methods, and boosting with larger trees once more.

    Methods that train without costs are the same for each overhead, but not what is decided by them. To train them
    again is some 2% of the work, which is not worth the machinery of sharing them.
    """
    settings = QUICK if quick else FULL
    common = {
        **settings,
        "seed": seed,
        "train_costs": application.train_costs,
        "measure": application.studied,
        "tree": application.tree,
        "tree_of": TREE_OF,
    }
    overheads: tuple[float | None, ...] = application.overheads or (None,)
    trials = []
    for overhead in overheads[-1:] if quick else overheads:
        fp, fn = (text.format(fp=f"{overhead:g}" if overhead is not None else "") for text in application.costs)
        data = study_data(_with_overhead(dataset, overhead), (fp, fn))
        within = "" if overhead is None else f"overhead-{overhead:g}/"
        trials.append(
            Trial(
                directory=f"{within}all-methods",
                data=data,
                overhead=overhead,
                stumps="depth 1",
                options={**common, "stump": STUMP},
            )
        )
        if not quick:
            more = {**common, "stump": TWO_LEVELS, "methods": BOOSTING, "metacost": "none"}
            trials.append(
                Trial(
                    directory=f"{within}boosting-depth-2", data=data, overhead=overhead, stumps="depth 2", options=more
                )
            )
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
            studied="cost_reduction",
            shown=("cost_reduction", "tpr", "fpr", "auc"),
            train_costs=("1:6", "class means", "record"),
            record_costs="(2 amt, 12 amt)",
            costs=("2 * MonthlyCharges", "12 * MonthlyCharges"),
        ),
        Application(
            name="fraud",
            title="Card payments, some of them frauds",
            load=load_credit_card_fraud,
            measure="amount_detected",
            studied="cost",
            shown=("amount_detected", "fpr", "tpr", "auc"),
            train_costs=("class means", "record"),
            record_costs="({fp}, amt)",
            costs=("{fp}", "Amount"),
            overheads=(1.0, 2.0, 5.0),
            limits=(0.01, 0.02, 0.03),
        ),
        Application(
            name="marketing",
            title="A mailing to donors of a charity",
            load=_load_kdd98,
            measure="profit",
            studied="profit",
            shown=("profit", "roi", "tpr", "fpr", "auc"),
            train_costs=("class means", "record"),
            record_costs="(0.68, amt - 0.68)",
            costs=("0.68", "the donation less 0.68"),
            # One donor in twenty, and no split that tells most of some part to be donors: with a cp all trees would be
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
