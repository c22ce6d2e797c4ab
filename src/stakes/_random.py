"""Random numbers: generators from any kind of seed, and one policy for the seeds of nested estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

__all__ = ["generator", "seeded"]


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from any kind of seed, without touching the global random state."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def seeded(estimator: Any, rng: np.random.Generator, *, overrule: bool = False) -> Any:
    """Return an unfitted copy of an estimator in which every `random_state` is a seed, however deeply it is nested.

    With `overrule`, seeds are drawn anew where the user has given some: for samplers, which would always draw the same.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from stakes._random import seeded
    >>> model = make_pipeline(StandardScaler(), RandomForestClassifier())
    >>> seeded(model, np.random.default_rng(0))[-1].random_state is None
    False
    >>> seeded(RandomForestClassifier(random_state=7), np.random.default_rng(0)).random_state
    7
    """
    copy = clone(estimator)
    if not hasattr(copy, "get_params"):
        return copy
    params = copy.get_params()
    names = sorted(name for name in params if name.rpartition("__")[2] == "random_state")
    seeds = {name: int(rng.integers(2**31 - 1)) for name in names if overrule or params[name] is None}
    return copy.set_params(**seeds) if seeds else copy
