"""What is paid for the features of records: by the paths that they take, once for each of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._rows import is_sparse
from stakes._typing import Bools, Floats
from stakes._validation import check_value, choice
from stakes.exceptions import CostsError
from stakes.feature_costs import FeatureCosts
from stakes.table import check_table, table_of
from stakes.tree.binning import Binned
from stakes.tree.nodes import MISSING

__all__ = ["AcquisitionMixin", "known_values"]

VALUES = choice("known", "missing", "all")


@documented
class AcquisitionMixin:
    """Tells which features a classifier asks for, and what they cost."""

    @abstractmethod
    def features_used(self, X: Any) -> Bools:
        """Return which features a decision on each record asks for, of shape (n_records, n_features)."""

    @property
    def feature_costs_(self) -> Any:
        """The prices of features among the parameters; None where there are none."""
        return getattr(self, "feature_costs", None)

    def acquisition_cost(self, X: Any, *, feature_costs: Any = None, values: str = "known") -> Floats:
        """Return what is paid for the features of each record that its paths ask for, each item once over all members.

        Parameters
        ----------
        {X}
        feature_costs : dict or array-like of shape (n_features,), default=None
            Prices, as in `CostTreeClassifier`; those of the classifier's trees by default.
        values : {"known", "missing", "all"}, default="known"
            Which of the values that are asked for are paid for. A missing value has not been bought: the record goes
            the way that the tree has learnt for missing values, and pays nothing for it. "missing" is what it costs to
            buy just those, "all" what is paid where all values are bought.

        Returns
        -------
        money : ndarray of shape (n_records,)

        Examples
        --------
        >>> from stakes import CostTreeClassifier
        >>> from stakes.datasets import make_churn
        >>> data = make_churn(500, random_state=0)
        >>> prices = dict.fromkeys(data.frame.columns, 1.0)
        >>> tree = CostTreeClassifier(max_depth=2, feature_costs=prices).fit(data.frame, data.target)
        >>> bool((tree.acquisition_cost(data.frame) <= 2).all())
        True
        """
        check_is_fitted(self)
        check_value("values", values, VALUES)
        given = self.feature_costs_ if feature_costs is None else feature_costs
        if given is None:
            raise CostsError("the prices of features are not known: pass feature_costs=")
        used = self.features_used(X)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(used.shape[1])])
        if values != "all":
            known = known_values(X)
            used = used & (known if values == "known" else ~known)
        return FeatureCosts.of(given, list(map(str, names))).paid(used)


def known_values(X: Any) -> Bools:
    """Return which values are not missing, of shape (n_records, n_features)."""
    if isinstance(X, Binned):
        return X.bins[:, : X.shape[1]] != MISSING
    X = check_table(X)
    if is_sparse(X):
        return np.ones(X.shape, np.bool_)
    known = [c.is_not_null().to_numpy() if isinstance(c, pl.Series) else ~np.isnan(c) for c in table_of(X)]
    return np.column_stack(known)
