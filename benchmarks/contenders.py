"""Who takes part: our ensembles, and what comes closest to each of them in other libraries.

All are given the same float32 matrix, so that everybody's own preparation of the data counts. Trees are deep and
unpruned, and peers are set to what makes them fast: no out-of-bag estimates, threads where they do better than
processes.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from imblearn.ensemble import (
    BalancedBaggingClassifier,
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from benchmarks.cases import Unavailable
from benchmarks.data import Records
from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostGradientBoostingClassifier,
    Costs,
    CostTreeClassifier,
    Decision,
)
from stakes.metrics import savings_score

__all__ = ["OURS", "PEERS", "Contender", "Setting", "rounds_made"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """How many trees (or rounds) to make, by how many threads, from which seed."""

    trees: int
    threads: int
    seed: int = 0


def _share(model: Any, records: Records) -> Floats:
    return np.asarray(model.predict_proba(records.X))[:, 1]


def _above_cost_threshold(model: Any, records: Records, score: Floats) -> Bools:
    """Decide by the probability and the record's T_cs (FRAMEWORK 2): for models that know no costs."""
    return score > Costs(fp=records.fp, fn=records.fn).threshold()


def _by_label(model: Any, records: Records, score: Floats) -> Bools:
    """Decide as the model does by itself: for models that were trained on costs, or whose scores are votes."""
    return np.asarray(model.predict(records.X)) == 1


def _by_label_with_costs(model: Any, records: Records, score: Floats) -> Bools:
    return model.predict(records.X, **records.costs) == 1


@dataclass(frozen=True)
class Contender:
    """Something that is fitted, scores records and decides on them.

    `prepare` is the part of fitting that does not depend on the number of trees, if that part is worth mention.
    `needs` is the module or program without which it cannot take part, `environment` where it is installed, and
    `versions` tells what Python does not know of it.
    """

    fit: Callable[[Records, Setting], Any]
    score: Callable[[Any, Records], Floats] = _share
    decide: Callable[[Any, Records, Floats], Bools] = _above_cost_threshold
    needs: str = "sklearn"
    environment: str = "peers"
    versions: Callable[[], dict[str, str]] = dict
    prepare: Callable[[Records, Setting], Any] | None = None

    @property
    def available(self) -> bool:
        """Whether what it needs is installed here."""
        return find_spec(self.needs) is not None or shutil.which(self.needs) is not None

    def quality(self, model: Any, test: Records) -> dict[str, float]:
        """Return how well a fitted model ranks the test records, and how much money its decisions save."""
        score = self.score(model, test)
        decided = self.decide(model, test, score)
        return {
            "auc": float(roc_auc_score(test.y, score)),
            "savings": float(savings_score(test.y, decided.astype(np.int64), **test.costs)),
        }


def rounds_made(model: Any, asked: int) -> int:
    """Return how many rounds a boosting made of those asked for; trees of other models are always all made."""
    if isinstance(model, CostBoostClassifier):
        return max(1, len(model.members_))
    return max(1, len(model.estimators_)) if hasattr(model, "estimator_errors_") else asked


# Ours


def _ours(make: Callable[[Setting], Any]) -> Contender:
    """Return a classifier of ours that is given the costs of all records."""

    def fit(train: Records, setting: Setting) -> Any:
        model = make(setting).set_params(n_jobs=setting.threads, random_state=setting.seed)
        return model.fit(train.X, train.y, **train.costs)

    return Contender(fit, decide=_by_label_with_costs, needs="stakes")


def _ours_balanced(make: Callable[[Setting], Any]) -> Contender:
    """Return a classifier of ours with the constant costs that make under-sampling balance the classes."""

    def fit(train: Records, setting: Setting) -> Any:
        model = make(setting).set_params(n_jobs=setting.threads, random_state=setting.seed)
        return model.fit(train.X, train.y, fp_cost=1.0, fn_cost=float((train.y == 0).sum() / (train.y == 1).sum()))

    return Contender(fit, decide=_by_label, needs="stakes")


def _cost_tree() -> CostTreeClassifier:
    return CostTreeClassifier(criterion="cost")


def _saving_tree() -> CostTreeClassifier:
    """Return a tree that grows while a split saves money, and no further."""
    return CostTreeClassifier(criterion="cost", break_ties=False)


OURS = {
    "tree": _ours(lambda s: CostTreeClassifier()),
    "bagging": _ours(lambda s: CostBaggingClassifier(CostTreeClassifier(), n_estimators=s.trees)),
    "forest": _ours(lambda s: CostBaggingClassifier(CostTreeClassifier(), n_estimators=s.trees, features="per_split")),
    "default forest": _ours(lambda s: CostBaggingClassifier(n_estimators=s.trees, features="per_split")),
    "extra trees": _ours(
        lambda s: CostBaggingClassifier(
            CostTreeClassifier(splitter="random"), n_estimators=s.trees, features="per_split", bootstrap=False
        )
    ),
    "AdaBoost": _ours(lambda s: CostBoostClassifier(n_estimators=s.trees, decision=Decision(threshold="half"))),
    "gradient boosting": _ours(lambda s: CostGradientBoostingClassifier(objective="logistic", n_estimators=s.trees)),
    "cost gradient boosting": _ours(lambda s: CostGradientBoostingClassifier(n_estimators=s.trees)),
    "saving tree": _ours(lambda s: _saving_tree()),
    "saving forest": _ours(lambda s: CostBaggingClassifier(_saving_tree(), n_estimators=s.trees, features="per_split")),
    "saving bagging": _ours(lambda s: CostBaggingClassifier(_saving_tree(), n_estimators=s.trees)),
    "cost forest": _ours(lambda s: CostBaggingClassifier(_cost_tree(), n_estimators=s.trees, features="per_split")),
    "cost bagging": _ours(lambda s: CostBaggingClassifier(_cost_tree(), n_estimators=s.trees)),
    "balanced bagging": _ours_balanced(lambda s: CostBaggingClassifier(n_estimators=s.trees, sampling="under")),
    "balanced forest": _ours_balanced(
        lambda s: CostBaggingClassifier(n_estimators=s.trees, sampling="under", features="per_split")
    ),
    "RUSBoost": _ours_balanced(lambda s: CostBoostClassifier(n_estimators=s.trees, sampling="under")),
    "RUSBoost, deeper": _ours_balanced(
        lambda s: CostBoostClassifier(
            CostTreeClassifier(max_depth=RUSBOOST_DEPTH), n_estimators=s.trees, sampling="under"
        )
    ),
    "EasyEnsemble": _ours_balanced(
        lambda s: CostBaggingClassifier(
            _easy_rounds(CostBoostClassifier, s), n_estimators=EASY_MEMBERS, sampling="under"
        )
    ),
}

# Stumps, the default, are soon worse than chance on all records, which ends the boosting after some three rounds on
# both sides. Of the depths 3, 6, 10 and none, this one made all rounds on churn and noisy records when tried by 40; on
# rare ones it ends early.
RUSBOOST_DEPTH = 10
# EasyEnsemble as imbalanced-learn has it by default: 10 AdaBoosts, of 50 rounds where others have 100 trees.
EASY_MEMBERS = 10


def _easy_rounds(boosting: Any, setting: Setting) -> Any:
    return boosting(n_estimators=max(1, setting.trees // 2))


# scikit-learn and imbalanced-learn


def _peer(make: Callable[[Setting], Any], **options: Any) -> Contender:
    """Return a classifier that is trained on the classes alone."""
    return Contender(lambda train, setting: _plain(make(setting), train, setting), **options)


def _plain(model: Any, train: Records, setting: Setting) -> Any:
    return model.set_params(random_state=setting.seed).fit(train.X, train.y)


def _bagging(train: Records, setting: Setting) -> Any:
    model = BaggingClassifier(DecisionTreeClassifier(), n_estimators=setting.trees, n_jobs=setting.threads)
    # Processes, its default, are no faster, and what they need would be hard to see.
    with joblib.parallel_config(backend="threading"):
        return _plain(model, train, setting)


def _balanced_forest(setting: Setting) -> Any:
    return BalancedRandomForestClassifier(
        setting.trees, sampling_strategy="all", replacement=True, bootstrap=False, n_jobs=setting.threads
    )


def _rusboost(setting: Setting, max_depth: int = 1) -> Any:
    return RUSBoostClassifier(DecisionTreeClassifier(max_depth=max_depth), n_estimators=setting.trees)


def _easy_ensemble(setting: Setting) -> Any:
    boosting = _easy_rounds(AdaBoostClassifier, setting)
    return EasyEnsembleClassifier(EASY_MEMBERS, estimator=boosting, n_jobs=setting.threads)


# LightGBM

# It keeps memory ready for so many leaves: more, as noisy labels would ask for, would be gigabytes.
MOST_LEAVES = 4096


def _lightgbm(train: Records, setting: Setting, **options: Any) -> Any:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=setting.trees, n_jobs=setting.threads, verbosity=-1, **options)
    return _plain(model, train, setting)


def _lightgbm_prepare(train: Records, setting: Setting) -> Any:
    from lightgbm import Dataset

    return Dataset(train.X, train.y, params={"num_threads": setting.threads, "verbosity": -1}).construct()


def _lightgbm_bagging(train: Records, setting: Setting, **options: Any) -> Any:
    # A pure tree has about as many leaves as the smaller class has records, and less than twice that here.
    leaves = 2 * int(min((train.y == 0).sum(), (train.y == 1).sum())) + 1
    deep = {"num_leaves": min(leaves, MOST_LEAVES), "min_child_samples": 1, "min_child_weight": 0.0}
    # It samples without replacement: 63.2% is what a bootstrap sees.
    return _lightgbm(train, setting, boosting_type="rf", subsample=0.632, subsample_freq=1, **deep, **options)


def _lightgbm_forest(train: Records, setting: Setting) -> Any:
    return _lightgbm_bagging(train, setting, feature_fraction_bynode=1.0 / sqrt(train.X.shape[1]))


def _lightgbm_boosting(train: Records, setting: Setting) -> Any:
    # As ours by default: what is timed is what comes with it.
    return _lightgbm(train, setting, num_leaves=8, max_delta_step=1.0, reg_lambda=1.0)


# YDF

ALL_FEATURES, SQUARE_ROOT = -1, 0


def _ydf(n_features: int, **options: Any) -> Contender:
    def fit(train: Records, setting: Setting) -> Any:
        import ydf

        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=setting.trees,
            num_threads=setting.threads,
            random_seed=setting.seed,
            num_candidate_attributes=n_features,
            max_depth=-1,
            min_examples=1,
            winner_take_all=False,
            compute_oob_performances=False,
            **options,
        )
        return learner.train({"x": train.X, "y": train.y}, verbose=0)

    return Contender(
        fit, score=lambda model, records: model.predict({"x": records.X}), needs="ydf", prepare=_ydf_prepare
    )


def _ydf_prepare(train: Records, setting: Setting) -> Any:
    import ydf

    return ydf.create_vertical_dataset({"x": train.X, "y": train.y})


# empulse, of which nothing is used but its documented interface


def _empulse(make: Callable[[Any, Setting], Any]) -> Contender:
    def fit(train: Records, setting: Setting) -> Any:
        import empulse.models

        model = make(empulse.models, setting).set_params(random_state=setting.seed)
        return model.fit(train.X, train.y, **train.costs)

    return Contender(fit, decide=_by_label, needs="empulse", environment="empulse")


EMPULSE_TREE = _empulse(lambda models, s: models.CSTreeClassifier())
EMPULSE_FOREST = _empulse(lambda models, s: models.CSForestClassifier(s.trees, n_jobs=s.threads))
EMPULSE_BAGGING = _empulse(lambda models, s: models.CSBaggingClassifier(n_estimators=s.trees, n_jobs=s.threads))


def _empulse_boosting(train: Records, setting: Setting) -> Any:
    import empulse.models
    from lightgbm import LGBMClassifier

    # On LightGBM, as ours: its other settings are those that come with it.
    booster = LGBMClassifier(
        n_estimators=setting.trees, n_jobs=setting.threads, random_state=setting.seed, verbosity=-1
    )
    return empulse.models.CSBoostClassifier(booster).fit(train.X, train.y, **train.costs)


# R


class _Rpart(NamedTuple):
    """Trees that were grown by R, which timed itself, and their mean probabilities of the test records."""

    directory: Any
    seconds: float
    megabytes: float


def _rpart(train: Records, setting: Setting) -> _Rpart:
    directory = tempfile.TemporaryDirectory()
    folder = Path(directory.name)
    train.X.astype(np.float64).T.tofile(folder / "train.bin")
    train.y.astype(np.int32).tofile(folder / "classes.bin")
    # R may have said something else before.
    *_, seconds, megabytes = _rscript("fit", folder, *train.X.shape, setting.trees, setting.seed + 1)
    return _Rpart(directory, float(seconds), float(megabytes))


def _rpart_share(model: _Rpart, records: Records) -> Floats:
    folder = Path(model.directory.name)
    records.X.astype(np.float64).T.tofile(folder / "test.bin")
    _rscript("predict", folder, *records.X.shape)
    return np.fromfile(folder / "shares.bin", dtype=np.float64)


def _rpart_versions() -> dict[str, str]:
    try:
        return dict(zip(("R", "rpart"), _rscript("versions"), strict=True))
    except subprocess.CalledProcessError as error:
        raise Unavailable("rpart, a package of R,") from error


def _rscript(*arguments: Any) -> list[str]:
    script = Path(__file__).with_name("rpart.R")
    command = ["Rscript", str(script), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


FOREST = _peer(lambda s: RandomForestClassifier(s.trees, n_jobs=s.threads))
PEERS = {
    "scikit-learn tree": _peer(lambda s: DecisionTreeClassifier()),
    "scikit-learn bagging": Contender(_bagging),
    "scikit-learn forest": FOREST,
    "scikit-learn forest, ours by default": FOREST,
    "scikit-learn extra trees": _peer(lambda s: ExtraTreesClassifier(s.trees, n_jobs=s.threads)),
    "scikit-learn AdaBoost": _peer(lambda s: AdaBoostClassifier(n_estimators=s.trees), decide=_by_label),
    "imbalanced-learn forest": _peer(_balanced_forest, decide=_by_label),
    "imbalanced-learn bagging": _peer(
        lambda s: BalancedBaggingClassifier(n_estimators=s.trees, n_jobs=s.threads), decide=_by_label
    ),
    "imbalanced-learn RUSBoost": _peer(_rusboost, decide=_by_label),
    "imbalanced-learn RUSBoost, deeper": _peer(partial(_rusboost, max_depth=RUSBOOST_DEPTH), decide=_by_label),
    "imbalanced-learn EasyEnsemble": _peer(_easy_ensemble, decide=_by_label),
    "LightGBM bagging": Contender(_lightgbm_bagging, needs="lightgbm", prepare=_lightgbm_prepare),
    "LightGBM forest": Contender(_lightgbm_forest, needs="lightgbm", prepare=_lightgbm_prepare),
    "LightGBM stumps": Contender(partial(_lightgbm, num_leaves=2), needs="lightgbm", prepare=_lightgbm_prepare),
    "LightGBM boosting": Contender(_lightgbm_boosting, needs="lightgbm", prepare=_lightgbm_prepare),
    "LightGBM boosting, ours by cost": Contender(_lightgbm_boosting, needs="lightgbm", prepare=_lightgbm_prepare),
    "YDF bagging": _ydf(ALL_FEATURES),
    "YDF forest": _ydf(SQUARE_ROOT),
    "YDF forest, 255 bins": _ydf(SQUARE_ROOT, discretize_numerical_columns=True),
    "empulse tree": EMPULSE_TREE,
    "empulse forest": EMPULSE_FOREST,
    "empulse bagging": EMPULSE_BAGGING,
    "empulse boosting": Contender(_empulse_boosting, decide=_by_label, needs="empulse", environment="empulse"),
    "empulse forest, ours deeper": EMPULSE_FOREST,
    "empulse bagging, ours deeper": EMPULSE_BAGGING,
    "R rpart bagging": Contender(_rpart, score=_rpart_share, needs="Rscript", versions=_rpart_versions),
}
