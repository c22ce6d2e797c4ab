"""Trees that pay for features: money for tests against mistakes on thyroid records, and what prices cost in time.

    python -m benchmarks.prices DIR            # a directory with ann_thyroid.parquet
    python -m benchmarks.prices DIR --speed    # priced trees against trees without prices, on simulated records

Prices of the tests are those of Turney (1995) for this data: a question 1, TSH 22.78, T3 and T4U 11.41, TT4 14.51; FTI
is computed from TT4 and T4U. The data has no costs of mistakes: a needless work-up costs some units of money here, and
a missed illness 20 times as much. Models are trained on the file's training part, and measured on its test part.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.measure import Effort, alternate, ratio
from stakes import CostBaggingClassifier, CostTreeClassifier, make_classifier
from stakes.datasets import make_transactions
from stakes.exceptions import OneClassWarning
from stakes.metrics import total_cost

TESTS: dict[str, Any] = {"TSH": 22.78, "T3": 11.41, "TT4": 14.51, "T4U": 11.41, "FTI": (0.0, ["TT4", "T4U"])}
MISS = 20  # times what a needless work-up costs
WORK_UPS = (5, 10, 20, 50, 100, 200, 500)
BIASES = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class Part(NamedTuple):
    """Records to learn from, or to be measured on."""

    X: pl.DataFrame
    y: np.ndarray


class Bill(NamedTuple):
    """What a model costs per record."""

    tests: float
    mistakes: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.tests + self.mistakes


def load_thyroid(directory: Path) -> tuple[Part, Part, dict[str, Any]]:
    """Return the training and the test part, and the prices of features."""
    frame = pl.read_parquet(directory / "ann_thyroid.parquet")
    features = [name for name in frame.columns if name not in ("class", "part")]
    parts = []
    for part in ("train", "test"):
        some = frame.filter(pl.col("part") == part)
        parts.append(Part(some.select(features), (some["class"] != 3).to_numpy().astype(int)))
    return parts[0], parts[1], dict.fromkeys(features, 1.0) | TESTS


def tree(**params: Any) -> CostTreeClassifier:
    """Return a tree that is pruned by cost."""
    return CostTreeClassifier(pruning="cost_complexity", pruning_measure="cost", random_state=0, **params)


def ensemble(name: str, **params: Any) -> CostBaggingClassifier:
    """Return an ensemble of trees that are pruned by cost, by its name in the catalogue."""
    made: CostBaggingClassifier = make_classifier(name, n_estimators=50, random_state=0, **params)
    return made


Make = Callable[[dict[str, Any]], Any]
MODELS: dict[str, Make] = {
    "tree without prices": lambda prices: tree(criterion="cost"),
    "tree by total cost": lambda prices: tree(criterion="cost", feature_costs=prices),
    "tree by EG2": lambda prices: tree(criterion="entropy", feature_costs=prices),
    "bagging without prices": lambda prices: ensemble("csbg"),
    "bagging by total cost": lambda prices: ensemble("csbg", feature_costs=prices),
    "bagging by EG2": lambda prices: ensemble("csbg", criterion="entropy", feature_costs=prices),
    "forest by total cost": lambda prices: ensemble("csrf", feature_costs=prices),
}


def bill(model: Any, train: Part, test: Part, prices: dict[str, Any], work_up: float) -> Bill:
    """Return what a model pays for tests and mistakes on the test part."""
    costs = {"fp_cost": work_up, "fn_cost": MISS * work_up}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneClassWarning)  # where no test is worth its price, all are decided alike
        model.fit(train.X, train.y, **costs)
    mistakes = total_cost(test.y, model.predict(test.X), **costs)
    return Bill(float(model.acquisition_cost(test.X, feature_costs=prices).mean()), mistakes / len(test.y))


def no_test(test: Part, work_up: float) -> float:
    """Return what the cheaper way to decide all records alike costs per record."""
    share = float(test.y.mean())
    return min(MISS * work_up * share, work_up * (1 - share))


def curve(train: Part, test: Part, prices: dict[str, Any]) -> Iterator[str]:
    """Return a table: what models pay where mistakes cost little, and where they cost much."""
    yield f"| a needless work-up | no test at all | {' | '.join(MODELS)} |"
    yield "|---" * (2 + len(MODELS)) + "|"
    for work_up in WORK_UPS:
        bills = [bill(make(prices), train, test, prices, work_up) for make in MODELS.values()]
        cells = (f"{each.total:.2f} ({each.tests:.2f} + {each.mistakes:.2f})" for each in bills)
        yield f"| {work_up} | {no_test(test, work_up):.2f} | {' | '.join(cells)} |"


def trade_off(train: Part, test: Part, prices: dict[str, Any], work_up: float) -> Iterator[str]:
    """Return a table: the same mistakes, and trees that take tests for cheaper or dearer than they are."""
    yield "| price_bias | tests | mistakes | together |"
    yield "|---|---|---|---|"
    for bias in BIASES:
        biased = CostTreeClassifier(criterion="cost", feature_costs=prices, price_bias=bias, min_samples_leaf=5)
        found = bill(biased, train, test, prices, work_up)
        yield f"| {bias:g} | {found.tests:.2f} | {found.mistakes:.2f} | {found.total:.2f} |"


def speed(rows: int, trees: int, effort: Effort) -> Iterator[str]:
    """Return a table: how long trees with prices take to grow, as a multiple of those without."""
    data = make_transactions(rows, random_state=0)
    prices = {name: 0.01 * (1 + i) for i, name in enumerate(data.frame.columns)}
    yield "| 1 thread | priced / unpriced |"
    yield "|---|---|"
    for name, params in (("gini, EG2", {"criterion": "gini"}), ("cost, total cost", {"criterion": "cost"})):

        def fit(seed: int, feature_costs: Any, params: dict[str, Any] = params) -> Any:
            member = CostTreeClassifier(feature_costs=feature_costs, min_samples_leaf=5, **params)
            bagging = CostBaggingClassifier(member, n_estimators=trees, random_state=seed)
            return bagging.fit(data.frame, data.target, fp_cost=5.0, fn_cost=data.costs.fn)

        for feature_costs in (None, prices):  # compiled before it is measured
            fit(0, feature_costs)
        runs = alternate(partial(fit, feature_costs=None), partial(fit, feature_costs=prices), effort)
        found = ratio(runs)
        yield f"| bagging of {trees} trees, {rows:,} records, {name} | {found.estimate:.2f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--speed", action="store_true", help="measure the time that prices cost instead")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--trees", type=int, default=20)
    options = parser.parse_args()
    if options.speed:
        print(*speed(options.rows, options.trees, Effort()), sep="\n", flush=True)
        return
    data = load_thyroid(options.directory)
    for line in (*curve(*data), "", *trade_off(*data, work_up=50)):
        print(line, flush=True)


if __name__ == "__main__":
    main()
