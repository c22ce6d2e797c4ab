"""The explanation of some decisions: what each feature adds to the score, in shares and in money."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from stakes._docs import documented
from stakes._format import money
from stakes._typing import Floats
from stakes.costs import Costs
from stakes.exceptions import CostsNeededError
from stakes.explain.contributions import Contributions
from stakes.explain.permutations import KEPT, Sampling
from stakes.table import check_table

__all__ = ["ExplainMixin", "Explanation"]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What moved the scores of some records, feature by feature.

    The score is that of `predict_proba` for the positive class, after calibration: what the decision compares with its
    threshold. Contributions add up to it, ``base + values.sum(axis=1) == score``. In money they add up to what acting
    on a record is expected to save, ``p x fn_cost - (1 - p) x fp_cost`` with the score as p: each contribution is
    multiplied by ``fp_cost + fn_cost`` of the record.

    Attributes
    ----------
    values : ndarray of shape (n_records, n_features)
        What each feature adds to the score.
    base : ndarray of shape (n_records,)
        The score where nothing is known of a record. It is the same for all records, unless members vote by costs.
    score : ndarray of shape (n_records,)
    feature_names : tuple of str
    exact : bool
        Whether these are Shapley values without sampling error.

    Examples
    --------
    >>> from stakes import make_classifier
    >>> from stakes.datasets import make_churn
    >>> data = make_churn(2000, random_state=0)
    >>> clf = make_classifier("rf", random_state=0).fit(data.frame, data.target, fp_cost=10, fn_cost=200)
    >>> explanation = clf.explain(data.frame[:100])
    >>> explanation
    Explanation(100 records, 7 features, exact)
    >>> bool(abs(explanation.base + explanation.values.sum(axis=1) - explanation.score).max() < 1e-6)
    True
    >>> explanation.reasons(2)[0]
    ['...', '...']
    """

    values: Floats
    base: Floats
    score: Floats
    feature_names: tuple[str, ...]
    exact: bool
    costs: Costs | None = field(repr=False)
    X: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        how = "exact" if self.exact else "sampled"
        return f"Explanation({len(self)} records, {len(self.feature_names)} features, {how})"

    @property
    def _at_stake(self) -> tuple[Floats, Floats]:
        """What false positives cost, and what both kinds of mistake cost together."""
        if self.costs is None:
            raise CostsNeededError("explanations in money need the costs of the records: pass fp_cost= and fn_cost=")
        fp, fn = self.costs.arrays(len(self))
        return fp, fp + fn

    @property
    def money(self) -> Floats:
        """What each feature adds to the expected saving of acting on a record, of shape (n_records, n_features)."""
        return self.values * self._at_stake[1][:, None]

    @property
    def saving(self) -> Floats:
        """The expected saving of acting on each record; negative where not acting is cheaper."""
        fp, both = self._at_stake
        return self.score * both - fp

    @property
    def base_saving(self) -> Floats:
        """The expected saving of acting on each record where nothing but its costs is known."""
        fp, both = self._at_stake
        return self.base * both - fp

    def importance(self) -> list[dict[str, Any]]:
        """Return the mean size of each feature's contribution, in money where costs are known, the largest first.

        Returns
        -------
        importance : list of dict
            With the keys `feature` and `value`.
        """
        size = np.abs(self.values if self.costs is None else self.money).mean(axis=0)
        order = np.argsort(-size, kind="stable")
        return [{"feature": self.feature_names[j], "value": float(size[j])} for j in order]

    def reasons(self, n: int = 3) -> list[list[str]]:
        """Return the features that moved each record most, in words with money: ``"tenure = 2: +35.10"``.

        Parameters
        ----------
        n : int, default=3
            How many for each record; features that contribute nothing are left out.

        Returns
        -------
        reasons : list of list of str
        """
        amounts = self.values if self.costs is None else self.money
        write = _signed_score if self.costs is None else _signed_money
        order = np.argsort(-np.abs(amounts), axis=1, kind="stable")[:, :n]
        values = _values_of(self.X)
        return [
            [
                f"{self.feature_names[j]} {_in_words(values(i, j))}: {write(amounts[i, j])}"
                for j in order[i]
                if amounts[i, j] != 0
            ]
            for i in range(len(self))
        ]


@documented
class ExplainMixin:
    """Gives `explain` to a classifier that knows what each feature adds to its scores (`_contributions`)."""

    @abstractmethod
    def _contributions(
        self, X: Any, given: dict[str, Any], sampling: Sampling | None
    ) -> tuple[Contributions | None, Costs | None]:
        """Return what each feature adds to the score, and the costs of the records where they are known.

        Without `sampling`, None in place of contributions that only sampling could find.
        """

    def _features(self, X: Any) -> Any:
        """Return the features as a table."""
        return check_table(X)

    def _costs(self, X: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Return the costs as they are given, or as they are known from other columns of `X`."""
        return given

    def explain(
        self,
        X: Any,
        *,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tp_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        n_samples: int = 32,
        random_state: int = 0,
    ) -> Explanation:
        """Return what moved the score of each record, feature by feature, in shares and in money.

        Trees and ensembles of them, LightGBM, logistic regression of the catalogue, and teams of all these have exact
        Shapley values. Those of other models are sampled.

        Parameters
        ----------
        {X}
        {costs_as_in_predict}
            Explanations in money need them all.
        n_samples : int, default=32
            Where values are sampled: how many background records, and orders of the features; at most 64.
        random_state : int, default=0
            Seed of the orders.

        Returns
        -------
        explanation : Explanation
        """
        check_is_fitted(self)
        if not 1 <= n_samples <= KEPT:
            raise ValueError(f"n_samples={n_samples!r} is not between 1 and {KEPT}")
        given = {"fp_cost": fp_cost, "fn_cost": fn_cost, "tp_cost": tp_cost, "tn_cost": tn_cost}
        given, X = self._costs(X, given), self._features(X)
        found, costs = self._contributions(X, given, Sampling(n_samples, random_state))
        assert found is not None
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(found.values.shape[1])])
        return Explanation(found.values, found.base, found.score, tuple(map(str, names)), found.exact, costs, X)


def _signed_money(amount: float) -> str:
    return f"{'+' if amount > 0 else ''}{money(float(amount))}"


def _signed_score(amount: float) -> str:
    return f"{amount:+.3g}".replace("-", "−")


def _values_of(X: Any) -> Callable[[int, int], Any]:
    """Return what gives the value of a feature of a record, as the user knows it."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [column.to_list() for column in frame.iter_columns()]
        return lambda i, j: columns[j][i]
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    return lambda i, j: X[i, j] if hasattr(X, "shape") else X[i][j]


def _in_words(value: Any) -> str:
    if value is None or value != value:
        return "is missing"
    if isinstance(value, float | np.floating):
        return f"= {value:.6g}"
    return f"= {value}"
