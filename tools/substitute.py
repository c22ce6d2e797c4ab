"""Run scikit-learn's own tests of forests, bagging, AdaBoost and metadata routing with our classes in place of its.

    python tools/substitute.py                 # all of them
    python tools/substitute.py test_bagging    # some
    python tools/substitute.py -v              # with every failure and its reason

The tests are those of the scikit-learn that is installed. Every failure must have a reason of the table below, which
docs/guide/ecosystem.md explains; others are listed, and the exit status is 1.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
import sklearn.ensemble
import sklearn.model_selection
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.metrics import accuracy_score
from sklearn.utils import Bunch

from stakes import CostBaggingClassifier, CostBoostClassifier, CostDecisionClassifier, CostTreeClassifier, Decision
from stakes.as_sklearn import as_sklearn
from stakes.exceptions import StakesWarning

MODULES = {
    "test_forest": ("sklearn.ensemble.tests.test_forest", "not ExtraTree and not Regressor and not Embedding"),
    "test_bagging": ("sklearn.ensemble.tests.test_bagging", "not Regressor and not regression"),
    "test_weight_boosting": ("sklearn.ensemble.tests.test_weight_boosting", "not regress and not diabetes"),
    "test_routing": ("sklearn.tests.test_metaestimators_metadata_routing", "Bagging or AdaBoost or Fixed"),
}
# Why a test fails, by a pattern of its name or of its error.
REASONS = {
    "targets of other kinds": (
        r"Only binary classification is supported|multi(-?label|-?output|-?target|_target)|should be a 1d array"
        r"|y has one class only|Sparse data was passed for y|test_iris:|Regress|LinearRegression|is not a classifier"
        r"|test_adaboost_decision_function"
    ),
    "internals of scikit-learn": r"no attribute '(splitter|_\w+|estimator_)'",
    "out-of-bag figures need no flag": (
        r"test_forest_oob_warning|oob_score_requires_bootstrap|test_warm_start_oob|warm_start_with_oob_score_fails"
        r"|oob_score_removed_on_warm_start|test_oob_score_classification|test_max_samples_bootstrap"
    ),
    "samples of members without records out of the bag": r"samples can be drawn again",
    "samples of both classes": r"of the \d+ records has both classes: draw more",
    "sample weights weigh, and do not draw": r"bootstrap_sample_weight|using_sample_weight|invalid_sample_weight",
    "weights of any size": r"sample_weight is up to .*which is not between|test_sample_weights_infinite",
    "costs and weights are asked for by default": r"test_default_request|missing_requests_for_sub_estimator\[Fixed",
    "members answer by their probabilities": (
        r"ConsumingClassifier\.predict_proba, which is used within BaggingClassifier\.(decision_function|predict_log)"
        r"|ConsumingClassifier\\+\.predict_log_proba"
    ),
    "members know the bins and the draws of their ensemble": r"test_estimators_samples\[RandomForestClassifier-True",
    "all ensembles have margins": r"::test_error:\s+E +AssertionError: assert not True",
    "tables only": r"Expected a table of 2 dimensions",
    "wording of errors": r"Regex pattern did not match",
}


class AsScikitLearn(ClassifierMixin):
    """What our classifiers need to be taken for those of scikit-learn: they decide by 0.5, and score by accuracy."""

    sampling, presample, weighted, prior_correction = None, False, False, False
    class_weight, warm_start, bootstrap_features = None, False, False
    validation, fp_cost, fn_cost, cost_estimator, pos_label = "auto", 1.0, 1.0, None, None
    decision = Decision(threshold="half")
    score = ClassifierMixin.score

    @property
    def oob_score_(self) -> float:
        """The accuracy, or what the parameter `oob_score` measures."""
        shares = self.oob_decision_function_
        known = np.isfinite(shares[:, 1])
        y = self._decode(self.validation_.records.positive)[known]
        measure = self.oob_score if callable(self.oob_score) else accuracy_score
        return measure(y, self.classes_[(shares[known, 1] > 0.5).astype(int)])

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Return the accuracy of the first member, the first two, and so on."""
        return (accuracy_score(y, labels, sample_weight=sample_weight) for labels in self.staged_predict(X))


class RandomForestClassifier(AsScikitLearn, CostBaggingClassifier):
    """A forest with the parameters of scikit-learn's."""

    features = "per_split"

    def __init__(
        self, n_estimators: int = 100, *, criterion: str = "gini", max_depth: Any = None, min_samples_split: int = 2,
        min_samples_leaf: int = 1, min_weight_fraction_leaf: float = 0.0, max_features: Any = "sqrt",
        max_leaf_nodes: Any = None, min_impurity_decrease: float = 0.0, bootstrap: bool = True, oob_score: Any = False,
        n_jobs: Any = None, random_state: Any = None, verbose: int = 0, warm_start: bool = False,
        class_weight: Any = None, ccp_alpha: float = 0.0, max_samples: Any = None, monotonic_cst: Any = None,
    ) -> None:  # fmt: skip
        for name, value in locals().items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @property
    def estimator(self) -> CostTreeClassifier:
        """The tree of the parameters."""
        names = ("criterion", "max_depth", "min_samples_split", "min_samples_leaf", "min_weight_fraction_leaf",
                 "max_features", "max_leaf_nodes", "min_impurity_decrease", "ccp_alpha", "monotonic_cst")  # fmt: skip
        return CostTreeClassifier(**{name: getattr(self, name) for name in names})


class BaggingClassifier(AsScikitLearn, CostBaggingClassifier):
    """Bagging with the parameters of scikit-learn's."""

    def __init__(
        self, estimator: Any = None, n_estimators: int = 10, *, max_samples: Any = None, max_features: Any = 1.0,
        bootstrap: bool = True, bootstrap_features: bool = False, oob_score: bool = False, warm_start: bool = False,
        n_jobs: Any = None, random_state: Any = None, verbose: int = 0,
    ) -> None:  # fmt: skip
        for name, value in locals().items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @property
    def features(self) -> str:
        """Whether members are shown all features."""
        return "all" if self.max_features == 1.0 and not self.bootstrap_features else "per_tree"

    def _n_drawn(self) -> int | None:
        if self.features == "all":
            return None
        n, asked = self.n_features_in_, self.max_features
        return asked if isinstance(asked, int) else max(1, int(asked * n))


class AdaBoostClassifier(AsScikitLearn, CostBoostClassifier):
    """AdaBoost with the parameters of scikit-learn's."""

    variant, variant_params, n_jobs, verbose = "adaboost", None, None, 0

    def __init__(
        self, estimator: Any = None, *, n_estimators: int = 50, learning_rate: float = 1.0, random_state: Any = None
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.random_state = random_state


class FixedThresholdClassifier(AsScikitLearn, CostDecisionClassifier):
    """A decision by a fixed threshold, with the parameters of scikit-learn's."""

    calibration, threshold, prefit, random_state, validation = None, "half", False, None, None

    def __init__(self, estimator: Any = None, *, threshold: Any = "auto", pos_label: Any = None,
                 response_method: str = "auto") -> None:  # fmt: skip
        self.estimator = estimator
        self.pos_label = pos_label
        self.response_method = response_method


def last_two_classes(load: Callable[..., Any]) -> Callable[..., Any]:
    """Return what loads data without the records of all classes but the last two, so that most tests are about two."""

    def loaded(**options: Any) -> Any:
        found = load(**options)
        X, y = (found.data, found.target) if isinstance(found, Bunch) else found
        two, first = y >= y.max() - 1, y.max() - 1
        X, y = X[two], y[two] - first
        return Bunch(**{**found, "data": X, "target": y}) if isinstance(found, Bunch) else (X, y)

    return loaded


def two_classes(*arguments: Any, n_classes: int = 2, **options: Any) -> Any:
    """Return made up data of two classes, whatever is asked for."""
    return make_classification(*arguments, **options)


class Reasons:
    """A plugin of pytest that counts why tests fail."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.explained: list[str] = []
        self.unexplained: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Look for the reason of a failure in its name and its words."""
        if report.when != "call" and report.passed:
            return
        if not report.failed:
            self.counts[report.outcome] += 1
            return
        said = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        text = "\n".join([f"{report.nodeid}:", *said])
        reason = next((name for name, pattern in REASONS.items() if re.search(pattern, text)), None)
        self.counts[f"failed: {reason or 'unexplained'}"] += 1
        line = f"{report.nodeid.split('::')[-1]}: {said[0][2:].strip() if said else ''}"
        self.explained.append(f"[{reason}] {line}") if reason else self.unexplained.append(line)


def run(name: str) -> Reasons:
    """Run one of the modules, and return why its tests fail."""
    module, selected = MODULES[name]
    reasons = Reasons()
    if name == "test_routing":
        importlib.import_module(module).y[:] %= 2
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:doctest", "--pyargs", module, "-k", selected, "--tb=short",
               "-c", "/dev/null", "-o", "addopts=", "--no-header", "--show-capture=no", "-rN"]  # fmt: skip
    pytest.main(options, plugins=[reasons])
    return reasons


def main(*names: str) -> int:
    """Run the modules, and print what came of it."""
    warnings.simplefilter("ignore", StakesWarning)
    for load in (load_digits, load_iris, load_wine):
        setattr(sklearn.datasets, load.__name__, last_two_classes(load))
    sklearn.datasets.make_classification = two_classes
    # What tests look into trees for.
    CostTreeClassifier.tree_ = property(lambda self: as_sklearn(self).tree_)
    sklearn.ensemble.RandomForestClassifier = RandomForestClassifier
    sklearn.ensemble.BaggingClassifier = BaggingClassifier
    sklearn.ensemble.AdaBoostClassifier = AdaBoostClassifier
    sklearn.model_selection.FixedThresholdClassifier = FixedThresholdClassifier
    tell_all, chosen = "-v" in names, [name for name in names if name != "-v"]
    all_reasons = {name: run(name) for name in chosen or MODULES}
    for name, reasons in all_reasons.items():
        print(f"\n{name}: " + ", ".join(f"{n} {what}" for what, n in sorted(reasons.counts.items(), reverse=True)))
        print("\n".join(f"    {line}" for line in [*reasons.unexplained, *(reasons.explained if tell_all else [])]))
    return int(any(reasons.unexplained for reasons in all_reasons.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
