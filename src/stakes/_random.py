"""Seeds for estimators inside other estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

__all__ = ["seeded"]


def seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return a clone in which every `random_state` that is None, at any depth, is set from `rng`."""
    copy = clone(estimator)
    names = sorted(name for name in copy.get_params() if name == "random_state" or name.endswith("__random_state"))
    unset = [name for name in names if copy.get_params()[name] is None]
    return copy.set_params(**{name: int(rng.integers(2**31)) for name in unset})
