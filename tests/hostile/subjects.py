"""All kinds of estimators, and what sets them apart from others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.tree import DecisionTreeClassifier

from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostGradientBoostingClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    make_classifier,
)
from stakes.encoded import EncodedClassifier
from stakes.sampling import SAMPLERS


@dataclass(frozen=True)
class Subject:
    """An estimator, and what sets it apart from others."""

    estimator: Any
    traits: tuple[str, ...] = ()

    @property
    def is_sampler(self) -> bool:
        return "sampler" in self.traits


FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
BY_COST = CostTreeClassifier(criterion="cost", pruning="reduced_error", pruning_measure="cost")

# A few small records can be in all bags, so these are held out.
CHOSEN = Decision(member="tuned", vote_weight="log_odds", calibration="isotonic", threshold="tuned")
LINEAR = SGDClassifier(loss="log_loss", max_iter=10, tol=None, random_state=0)
CLASSIFIERS: dict[str, Subject] = {
    "tree": Subject(CostTreeClassifier()),
    "pruned cost tree": Subject(clone(BY_COST).set_params(validation=0.3, random_state=0), ("holds out",)),
    "bagging": Subject(CostBaggingClassifier(**FEW)),
    "forest": Subject(CostBaggingClassifier(features="per_split", **FEW)),
    "costing of feature trees": Subject(CostBaggingClassifier(features="per_tree", sampling="cpr", **FEW), ("cpr",)),
    "weighted bagging": Subject(CostBaggingClassifier(weighted=True, **FEW)),
    "bagging of cost trees": Subject(CostBaggingClassifier(BY_COST, **FEW)),
    "sampled once": Subject(CostBaggingClassifier(sampling="under", presample=True, prior_correction=True, **FEW)),
    "over": Subject(CostBaggingClassifier(sampling="over", **FEW), ("grows",)),
    "smote": Subject(CostBaggingClassifier(sampling="smote", **FEW), ("smote", "grows")),
    "another sampler": Subject(CostBaggingClassifier(sampling=RandomUnderSampler(), **FEW), ("foreign",)),
    "chosen on held-out records": Subject(
        CostBaggingClassifier(decision=CHOSEN, validation=0.4, **FEW), ("holds out",)
    ),
    "bagging of models": Subject(CostBaggingClassifier(LINEAR, **FEW), ("models",)),
    "weighted models": Subject(CostBaggingClassifier(LINEAR, weighted=True, features="per_tree", **FEW), ("models",)),
    "over of models": Subject(CostBaggingClassifier(LINEAR, sampling="over", **FEW), ("models", "grows", "copies")),
    "adaboost": Subject(CostBoostClassifier(**FEW)),
    "uboost": Subject(CostBoostClassifier(variant="uboost", **FEW)),
    "adacost": Subject(CostBoostClassifier(variant="adacost", **FEW)),
    "adauboost": Subject(CostBoostClassifier(variant="adauboost", **FEW)),
    "csb2": Subject(CostBoostClassifier(variant="csb2", **FEW)),
    "adac2": Subject(CostBoostClassifier(variant="adac2", **FEW)),
    "csab": Subject(CostBoostClassifier(variant="csab", **FEW)),
    "members by cost": Subject(CostBoostClassifier(decision=Decision(member="cost"), **FEW)),
    "rusboost": Subject(CostBoostClassifier(CostTreeClassifier(max_depth=2), sampling="under", **FEW)),
    "boosted models": Subject(CostBoostClassifier(LINEAR, variant="asymmetric", **FEW), ("models",)),
    "decided": Subject(CostDecisionClassifier(LINEAR), ("models",)),
    "calibrated": Subject(
        CostDecisionClassifier(LINEAR, calibration="isotonic", threshold="tuned", random_state=0),
        ("models", "holds out"),
    ),
    "weighted and encoded": Subject(
        CostDecisionClassifier(EncodedClassifier(DecisionTreeClassifier(max_depth=3)), weighted=True, random_state=0),
        ("float32",),
    ),
    "gradient boosting": Subject(CostGradientBoostingClassifier(n_estimators=3, refinement=1, random_state=0), ()),
    "metacost": Subject(MetaCostClassifier(CostBaggingClassifier(**FEW), random_state=0), ("metacost",)),
    "metacost of models": Subject(
        MetaCostClassifier(CostDecisionClassifier(LINEAR), final_estimator=LINEAR), ("models", "metacost")
    ),
    "by its name": Subject(make_classifier("dm-urf", **FEW)),
}
TRAITS_OF_SAMPLERS = {
    "under": (),
    "over": ("grows", "copies"),
    "hybrid": ("grows",),
    "smote": ("smote", "grows"),
    "cpr": ("cpr",),
}
SUBJECTS = CLASSIFIERS | {
    f"{name} sampler": Subject(
        kind(random_state=0),
        ("sampler", *TRAITS_OF_SAMPLERS[name]),
    )
    for name, kind in SAMPLERS.items()
}

# All estimators read X in one of a few ways: for what is exotic, one of each is enough.
READERS = (
    "pruned cost tree",
    "smote",
    "weighted models",
    "adaboost",
    "weighted and encoded",
    "metacost",
    "cpr sampler",
)
