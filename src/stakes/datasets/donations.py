"""What a fundraising mailing costs: the donation of those who gave, an estimate for the others (FRAMEWORK 8.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from stakes._typing import Floats
from stakes.costs import Costs
from stakes.datasets.splits import Rows

__all__ = ["MAILING_COST", "donation_costs"]

MAILING_COST = 0.68


def donation_costs(frame: pl.DataFrame, donation: Floats, train: Rows, features: Sequence[str]) -> tuple[Costs, Costs]:
    """Return the costs known after a mailing, and those known before it.

    A needless letter costs its postage. A missed donor costs the donation, less the postage: afterwards the real one
    where there was one, before the mailing an estimate for everybody. It is by a linear regression on numeric features
    of training donors.

    Examples
    --------
    Half of a usual gift was given by the first two; the third gave nothing, and is thought to give half as well:

    >>> import numpy as np, polars as pl
    >>> from stakes.datasets.donations import donation_costs
    >>> frame, donation = pl.DataFrame({"usual": [10.0, 40.0, 20.0]}), np.array([5.0, 20.0, 0.0])
    >>> afterwards, before = donation_costs(frame, donation, np.array([0, 1]), ["usual"])
    >>> afterwards.fp, afterwards.fn.round(2)
    (0.68, array([ 4.32, 19.32,  9.32]))
    """
    donors = train[donation[train] > 0]
    if not donors.size:
        raise ValueError(f"no donors among the {train.size} training records: nothing to estimate donations from")
    X = frame.select(pl.col(features).cast(pl.Float64)).to_numpy()
    model = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), LinearRegression())
    model.fit(X[donors], donation[donors])
    # The regression extrapolates beyond the range of real donations.
    estimated = np.clip(model.predict(X), donation[donors].min(), donation[donors].max())
    return _mailing(np.where(donation > 0, donation, estimated)), _mailing(estimated)


def _mailing(donation: Floats) -> Costs:
    return Costs(fp=MAILING_COST, fn=np.maximum(donation - MAILING_COST, 0.0))
