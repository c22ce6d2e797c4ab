"""Donors to a charity who stopped giving, and a mailing to win them back: KDD Cup 1998."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from stakes._validation import check_value, choice
from stakes.datasets.dataset import CostDataset
from stakes.datasets.donations import donation_costs
from stakes.datasets.files import DataDir, Table, typed
from stakes.datasets.splits import SplitPlan

__all__ = ["load_kdd98"]

PUBLISHER = "https://kdd.ics.uci.edu/databases/kddcup98/kddcup98.html"
ORIGINAL = partial(
    Table,
    publisher=PUBLISHER,
    hint=" Or, for an extract that is not comparable with published results, use source='partial'.",
)
LEARNING = ORIGINAL("KDD Cup 98 learning set", ("cup98LRN.parquet", "cup98LRN.txt", "cup98lrn.zip"))
VALIDATION = ORIGINAL("KDD Cup 98 validation set", ("cup98VAL.parquet", "cup98VAL.txt", "cup98val.zip"))
VALIDATION_TARGETS = ORIGINAL(
    "KDD Cup 98 validation targets", ("kdd98_valtargt.parquet", "valtargt.txt", "valtargt.zip")
)
PARTIAL = Table("KDD Cup 98 learning set, partial", ("kdd98_lrn_partial.parquet",), PUBLISHER)

TARGETS = ("TARGET_B", "TARGET_D")

# --- The original files: 23 of their attributes as they are, 8 engineered. -------------------------------------------
KEPT_NUMBERS = (
    "AGE", "INCOME", "WEALTH2", "HIT", "HV1",  # the person, and home values in the neighbourhood
    "CARDPROM", "NUMPROM", "CARDPM12", "NUMPRM12",  # what was sent: ever, and in the last twelve months
    "RAMNTALL", "NGIFTALL", "CARDGIFT", "MINRAMNT", "MAXRAMNT", "LASTGIFT", "AVGGIFT", "TIMELAG",  # what came back
    "RFA_2F", "PEPSTRFL",
)  # fmt: skip
KEPT_CATEGORIES = ("RFA_2A", "STATE", "HOMEOWNR", "GENDER")
RECENT_GIFTS = tuple(f"RAMNT_{i}" for i in range(3, 25))  # in answer to each of the 22 mailings of two years
COLUMNS = (*KEPT_NUMBERS, *KEPT_CATEGORIES, "DOMAIN", "LASTDATE", "FISTDATE", *RECENT_GIFTS)
DONATION = (
    "LASTGIFT", "AVGGIFT", "RECENT_AVERAGE_GIFT", "MINRAMNT", "MAXRAMNT", "NGIFTALL", "NUMPROM", "RFA_2F", "INCOME",
)  # fmt: skip
MAILING = 97 * 12 + 6  # June 1997, in months

# --- The partial file: no amounts in dollars, but the brackets of the last gift at each of the mailings. -------------
PARTIAL_NUMBERS = (
    "AGE", "wealth_rating", "LIFESRC", "RFA_2F",
    "PEPSTRFL", "VETERANS", "PETS", "has_children", "interest_religion", "catalog_shopper",
)  # fmt: skip
PARTIAL_CATEGORIES = ("STATE", "MAILCODE", "CLUSTER", "HOMEOWNR", "GENDER", "GEOCODE2", "AGEFLAG", "DATASRCE", "SOLIH")
PAST_STATUS = tuple(f"RFA_{i}" for i in (3, 4, 6, 7, 8, 9, 11, 12, 14, 16, 18))
PARTIAL_COLUMNS = (*PARTIAL_NUMBERS, *PARTIAL_CATEGORIES, "DOMAIN", "RFA_2", *PAST_STATUS)
# The third character of a status, in dollars: the middle of the bracket, and 30 for the open one.
GIFT_BRACKETS = {"A": 1.0, "B": 2.5, "C": 4.0, "D": 7.5, "E": 12.5, "F": 20.0, "G": 30.0}
PARTIAL_DONATION = ("LAST_GIFT", "MEAN_GIFT", "SMALLEST_GIFT", "LARGEST_GIFT", "RFA_2F")

# Where there is no separate test file, one is drawn.
DRAWN_TEST = SplitPlan(train=50, validation=20, test=30)

DESCRIPTION = """\
People who gave to a national veterans organization 13 to 24 months before a mailing of June 1997, and whether they
gave again: 5.1% did (KDD Cup 1998).

A letter costs 0.68 dollars, a missed donor the donation less that. What a person gives is known only afterwards, and
only of those who did give: `decision_costs` come from a regression fitted on the donors of the training set, `costs`
too, except that they know the real donations. `amount` is the donation, 0 where there was none."""
PARTIAL_DESCRIPTION = f"""\
{DESCRIPTION}

NOT COMPARABLE WITH PUBLISHED RESULTS: only the learning file, with a small part of its attributes and no amounts in
dollars among them. The test set is drawn from it."""
LEARNING_DESCRIPTION = f"""\
{DESCRIPTION}

NOT COMPARABLE WITH PUBLISHED RESULTS: only the learning file. The test set is drawn from it."""


def load_kdd98(data_dir: DataDir = None, *, source: str = "local", openml_id: int | None = None) -> CostDataset:
    """Load the donors of KDD Cup 1998.

    Parameters
    ----------
    data_dir : path, default=None
        The directory with the files; by default the one that the environment variable STAKES_DATA names.
    source : {"local", "partial", "openml"}, default="local"
        - "local": the original ``cup98LRN.txt``, ``cup98VAL.txt`` and ``valtargt.txt``, each as it is or zipped.
        - "partial": ``kdd98_lrn_partial.parquet``, all records of the learning file with a part of its columns.
        - "openml": the learning file from OpenML with scikit-learn (needs pandas).

        The latter two are not comparable with published results.
    openml_id : int, default=None
        Which data set of OpenML holds the learning file, with `TARGET_B` and `TARGET_D`. Has no default because
        there are several copies, some of them cut down.

    Returns
    -------
    CostDataset
        Of the original files, 31 features, 8 of them engineered, in the spirit of the winners of the cup: the
        learning file is split into 65,000 and 30,412 records, the validation file is the test set.
        From other sources, training, validation and test sets are 50, 20 and 30% of the learning file.
        C_FP = 0.68, C_FN = donation - 0.68. The donation is estimated where it is unknown: see `decision_costs` of
        :class:`CostDataset`. The estimates come from the training set of repeat 0; :meth:`CostDataset.parts` makes
        those of each repeat.

    Notes
    -----
    The terms of use ask for a note to the donors of the data (Epsilon) when results are published.

    Examples
    --------
    >>> from stakes.datasets import load_kdd98
    >>> data = load_kdd98("my/data", source="partial")  # doctest: +SKIP
    >>> train, validation, test = data.parts(repeat=0)  # doctest: +SKIP
    """
    check_value("source", source, choice("local", "partial", "openml"))
    if source == "partial":
        raw = PARTIAL.read(data_dir, (*PARTIAL_COLUMNS, *TARGETS))
        return _dataset("kdd98_partial", PARTIAL_DESCRIPTION, raw, _partial_features(raw), PARTIAL_DONATION, DRAWN_TEST)
    if source == "openml":
        raw = replace(LEARNING, openml_id=openml_id).fetch((*COLUMNS, *TARGETS))
        return _dataset("kdd98_learning", LEARNING_DESCRIPTION, raw, _features(raw), DONATION, DRAWN_TEST)
    learning, validation = _original(data_dir)
    raw = pl.concat([learning, validation])
    plan = SplitPlan(train=65_000, validation=30_412, test=np.arange(learning.height, raw.height))
    return _dataset("kdd98", DESCRIPTION, raw, _features(raw), DONATION, plan)


def _original(data_dir: DataDir) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the learning and the validation file, the latter with its targets, which have a file of their own."""
    learning = LEARNING.read(data_dir, (*COLUMNS, *TARGETS))
    validation = VALIDATION.read(data_dir, (*COLUMNS, "CONTROLN"))
    targets = VALIDATION_TARGETS.read(data_dir, ("CONTROLN", *TARGETS))
    validation, targets = (table.cast({"CONTROLN": pl.Int64}) for table in (validation, targets))
    joined = validation.join(targets, on="CONTROLN", how="left", maintain_order="left")
    unknown = joined.filter(pl.col("TARGET_B").is_null())
    if unknown.height or joined.height != validation.height:
        raise ValueError(
            f"the validation set and its targets do not match by CONTROLN: {unknown.height} of {validation.height} "
            f"records have no target, {joined.height - validation.height} more than one"
        )
    as_texts = pl.col(*COLUMNS, *TARGETS).cast(pl.String)
    return learning.select(as_texts), joined.select(as_texts)


def _dataset(
    name: str, description: str, raw: pl.DataFrame, frame: pl.DataFrame, predictors: Sequence[str], plan: SplitPlan
) -> CostDataset:
    target = raw["TARGET_B"].cast(pl.Float64).cast(pl.Int64).to_numpy()
    donation = raw["TARGET_D"].cast(pl.Float64).fill_null(0.0).to_numpy()
    estimate = partial(donation_costs, features=predictors)
    costs, decision_costs = estimate(frame, donation, plan.split(target, repeat=0, seed=0).train)
    return CostDataset(name, description, frame, target, costs, decision_costs, donation, plan, estimate)


def _features(raw: pl.DataFrame) -> pl.DataFrame:
    """Select and engineer the features of the original files."""
    raw = raw.with_columns(_flags("PEPSTRFL")).with_columns(
        pl.col(*KEPT_NUMBERS, *RECENT_GIFTS, "LASTDATE", "FISTDATE").cast(pl.Float64)
    )
    frame = raw.select(
        *KEPT_NUMBERS,
        *KEPT_CATEGORIES,
        *_domain(),
        _months_since("LASTDATE").alias("MONTHS_SINCE_LAST_GIFT"),
        _months_since("FISTDATE").alias("MONTHS_SINCE_FIRST_GIFT"),
        pl.sum_horizontal(pl.col(RECENT_GIFTS).is_not_null()).alias("RECENT_GIFTS"),
        pl.mean_horizontal(RECENT_GIFTS).alias("RECENT_AVERAGE_GIFT"),
        _ratio("NGIFTALL", "NUMPROM").alias("RESPONSE_RATE"),
        _ratio("LASTGIFT", "AVGGIFT").alias("LAST_TO_AVERAGE_GIFT"),
    )
    return typed(frame, (*KEPT_CATEGORIES, "URBANICITY"))


def _partial_features(raw: pl.DataFrame) -> pl.DataFrame:
    """Select and engineer the features of the partial file."""
    bracket = {
        name: pl.col(name).str.slice(2, 1).replace_strict(GIFT_BRACKETS, return_dtype=pl.Float64)
        for name in ("RFA_2", *PAST_STATUS)
    }
    frame = raw.with_columns(
        _flags("PEPSTRFL", "VETERANS", "PETS"),
        pl.col("wealth_rating").replace(0, None),  # 0 stands for unknown
    ).select(
        *PARTIAL_NUMBERS,
        *PARTIAL_CATEGORIES,
        *_domain(),
        pl.col("RFA_3").str.slice(0, 1).alias("RFA_3R"),
        pl.sum_horizontal(pl.col(PAST_STATUS).is_not_null()).alias("PAST_MAILINGS"),
        pl.sum_horizontal(pl.col(PAST_STATUS).str.starts_with("S")).alias("STAR_MAILINGS"),
        bracket["RFA_2"].alias("LAST_GIFT"),
        pl.mean_horizontal(bracket.values()).alias("MEAN_GIFT"),
        pl.min_horizontal(bracket.values()).alias("SMALLEST_GIFT"),
        pl.max_horizontal(bracket.values()).alias("LARGEST_GIFT"),
    )
    return typed(frame, (*PARTIAL_CATEGORIES, "URBANICITY", "RFA_3R"))


def _flags(*names: str) -> pl.Expr:
    """Turn marks such as X or Y into 1, and blanks, which mean no, into 0."""
    return pl.col(names).is_not_null()


def _domain() -> tuple[pl.Expr, pl.Expr]:
    """Split DOMAIN, such as T2, into how urban and how well-off (1 is best) the neighbourhood is."""
    domain = pl.col("DOMAIN").str
    return domain.slice(0, 1).alias("URBANICITY"), domain.slice(1, 1).cast(pl.Float64).alias("SES")


def _months_since(name: str) -> pl.Expr:
    """Months from a date written as yymm to the mailing; a date of 0 is unknown."""
    date = pl.col(name)
    return pl.when(date > 0).then(MAILING - (date // 100 * 12 + date % 100))


def _ratio(numerator: str, denominator: str) -> pl.Expr:
    return pl.when(pl.col(denominator) > 0).then(pl.col(numerator) / pl.col(denominator))
