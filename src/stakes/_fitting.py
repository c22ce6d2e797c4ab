"""Fitting any classifier: weights and costs reach the last step of a pipeline, and labels may become numbers."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from stakes._forks import one_thread_if_forked

__all__ = ["NumberedLabels", "costs_acted", "fit_model", "last_step", "takes"]


def takes(estimator: Any, name: str) -> bool:
    """Return whether `fit` takes an argument; a pipeline does if its last step does."""
    return bool(has_fit_parameter(last_step(estimator)[1], name))


def fit_model(model: Any, records: Any, labels: NDArray[Any], *, pass_costs: bool = False, **own: Any) -> Any:
    """Return a classifier fitted to `Records`; a `NumberedLabels` where it takes the labels 0 and 1 only.

    `labels` are those of negatives and positives. Weights, costs and what else is its `own`, where it is not None, are
    handed by a pipeline to its last step only; the metadata of the records were routed by scikit-learn. With
    `pass_costs`, a classifier that takes costs gets those of the records, which are about its positives, too.
    """
    one_thread_if_forked()
    path, last = last_step(model)
    X, positive, metadata = records.X, records.positive, dict(records.metadata)
    own["sample_weight"] = records.weight
    if pass_costs and has_fit_parameter(last, "fp_cost"):
        own |= {"fp_cost": records.costs.fp, "fn_cost": records.costs.fn}
        if hasattr(last, "pos_label"):
            last.set_params(pos_label=labels.tolist()[1])
    given = {path + name: value for name, value in own.items() if value is not None and name not in metadata}
    if path + "sample_weight" in given and not has_fit_parameter(last, "sample_weight"):
        raise ValueError(f"sample_weight was given, and {model!r} does not take it: choose another classifier")
    # Steps are named in the arguments, which metadata routing does not understand.
    context = config_context(enable_metadata_routing=False) if path and given else nullcontext()
    with context:
        try:
            return model.fit(X, labels[positive.view(np.int8)], **metadata, **given)
        except (TypeError, ValueError) as error:
            if np.array_equal(labels, [0, 1]):
                raise
            try:
                numbered = clone(model).fit(X, positive.astype(np.int64), **metadata, **given)
            except (TypeError, ValueError):
                raise error from None  # it was not about the labels
            return NumberedLabels(numbered, labels)


def costs_acted(model: Any) -> bool:
    """Return whether costs acted in the training of a fitted classifier, or of the last step of a pipeline."""
    model = model.model if isinstance(model, NumberedLabels) else model
    return bool(getattr(last_step(model)[1], "costs_acted_", False))


def last_step(estimator: Any) -> tuple[str, Any]:
    """Return the last step of a pipeline, and what its arguments begin with; the estimator itself if it is none."""
    path = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        path += f"{name}__"
    return path, estimator


class NumberedLabels(ClassifierMixin, BaseEstimator):
    """A fitted classifier of the labels 0 and 1, which stand for `labels`."""

    def __init__(self, model: Any, labels: NDArray[Any]) -> None:
        self.model = model
        self.labels = labels

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self.labels

    def predict(self, X: Any, **metadata: Any) -> NDArray[Any]:
        """Return the labels of records."""
        return self.labels[np.asarray(self.model.predict(X, **metadata)).astype(np.intp)]

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: Any, **metadata: Any) -> NDArray[np.float64]:
        """Return the probabilities of the labels."""
        return self.model.predict_proba(X, **metadata)
