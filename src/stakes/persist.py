"""Model files that load without running code, through skops.

Only types that are named here, or that skops trusts by itself, are ever made from a file. A file names its format, so
that an older version can say that it is too old; and a digest of its content, so that damage is noticed. Trees are
checked before they are used: a crafted one could lead outside its arrays.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import skops.io
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from skops.io.exceptions import UnsupportedTypeException

import stakes
from stakes._atomic import write_atomically
from stakes._estimation import AmountEstimator, CostEstimators, ForeseenCost
from stakes._fitting import NumberedLabels
from stakes._member_classifier import ValidationRecords
from stakes._members import ModelMembers, TreeMembers
from stakes._regression import AmountRegressor
from stakes._rivals import PreparedLogisticRegression
from stakes.bagging import CostBaggingClassifier
from stakes.boosting import CostBoostClassifier
from stakes.cost_decision import CostDecisionClassifier
from stakes.cost_tree import CostTreeClassifier
from stakes.costs import Costs
from stakes.decision.calibration import CALIBRATIONS
from stakes.decision.cuts import Cut
from stakes.decision.decision import Decision
from stakes.decision.reader import Reader, Votes
from stakes.decision.readings import Source
from stakes.decision.threshold_rules import THRESHOLDS
from stakes.delivered import DeliveredClassifier
from stakes.encoded import EncodedClassifier, EncodedRegressor, Encoder
from stakes.exceptions import ModelFileError
from stakes.gradient_boosting import BoostedTrees, CostGradientBoostingClassifier
from stakes.metacost import MetaCostClassifier
from stakes.records import Records
from stakes.sampling.registry import SAMPLERS
from stakes.teams.blends import Stack, Team
from stakes.teams.classifiers import CostStackingClassifier, CostTeamClassifier, OutOfFold
from stakes.tree.binning import Binning
from stakes.tree.nodes import BINS, FeatureBins, Nodes
from stakes.tree.trees import Trees

__all__ = ["TRUSTED", "dumps", "load", "loads", "read_info", "save"]

# Raised whenever a version of stakes writes files that an older one cannot read.
FORMAT = 2
ABOUT = "stakes.json"
# Of compression: three times as fast as the usual 6, for files that are 5% larger (measured).
LEVEL = 4
# Files that would unpack to more than this, and to more than a hundred times their size, are refused: no model does.
LARGE = 1 << 28


class Plain:
    """Stands in a file for lists and dicts of plain data, which skops would spell out item by item."""

    def __init__(self, text: str) -> None:
        self.text = text


class Pairs:
    """Stands in a file for a dict whose keys are not texts, which skops cannot write."""

    def __init__(self, items: list[tuple[Any, Any]]) -> None:
        self.items = items


OWN_TYPES = (
    CostBaggingClassifier, CostBoostClassifier, CostDecisionClassifier, CostTreeClassifier, MetaCostClassifier,
    CostGradientBoostingClassifier, BoostedTrees, CostTeamClassifier, CostStackingClassifier, Team, Stack, OutOfFold,
    DeliveredClassifier, EncodedClassifier, Encoder, Costs, Decision, Cut, Reader, Source, Votes, CostEstimators,
    TreeMembers, ModelMembers, Trees, AmountEstimator, ForeseenCost, EncodedRegressor, AmountRegressor,
    Nodes, FeatureBins, Binning, ValidationRecords, Records, *SAMPLERS.values(), *CALIBRATIONS.values(),
    *THRESHOLDS.values(),
    PreparedLogisticRegression, NumberedLabels, Plain, Pairs,
)  # fmt: skip
TRUSTED = (
    *(f"{own.__module__}.{own.__qualname__}" for own in OWN_TYPES),
    # Trees of scikit-learn: skops leaves it to us to check them, and we do.
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    # What an imputer remembers of its input.
    "numpy.dtype",
    # How gradient boosting checks categories: a function of scikit-learn with some of its arguments.
    "functools.partial",
    "sklearn.utils.validation.check_array",
    # LightGBM keeps its trees as text.
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
    # The ensembles of imbalanced-learn that studies compare with.
    "imblearn.ensemble._bagging.BalancedBaggingClassifier",
    "imblearn.ensemble._easy_ensemble.EasyEnsembleClassifier",
    "imblearn.ensemble._forest.BalancedRandomForestClassifier",
    "imblearn.ensemble._weight_boosting.RUSBoostClassifier",
    "imblearn.over_sampling._random_over_sampler.RandomOverSampler",
    "imblearn.over_sampling._smote.base.SMOTE",
    "imblearn.over_sampling._smote.base.SMOTENC",
    "imblearn.pipeline.Pipeline",
    "imblearn.under_sampling._prototype_selection._random_under_sampler.RandomUnderSampler",
)


def save(
    model: Any,
    path: str | Path,
    *,
    info: dict[str, Any] | None = None,
    validation: bool = False,
    trusted: Iterable[str] = (),
) -> None:
    """Write a fitted model to a file, whole or not at all.

    Parameters
    ----------
    model : classifier
        A fitted classifier of this package, or one of scikit-learn that contains one.
    path : path
        By convention, ``.skops`` at the end.
    info : dict, default=None
        Plain data to keep with the model; `read_info` returns it.
    validation : bool, default=False
        Whether to keep the validation records. Without them the file is smaller, and contains no records. The
        model predicts the same, but cannot tune another decision: ``with_decision`` raises an error.
    trusted : iterable of str, default=()
        Types of other packages in the model, such as ``"xgboost.sklearn.XGBClassifier"``. They must be named again to
        load it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes import CostBaggingClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.persist import load, save
    >>> data = make_churn(500, random_state=0)
    >>> forest = CostBaggingClassifier(n_estimators=10, random_state=0)
    >>> forest = forest.fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save(forest, pathlib.Path(directory) / "forest.skops")
    ...     same = load(pathlib.Path(directory) / "forest.skops")
    >>> bool((same.predict(data.frame) == forest.predict(data.frame)).all())
    True
    """
    write_atomically(Path(path), dumps(model, info=info, validation=validation, trusted=trusted))


def dumps(
    model: Any,
    *,
    info: dict[str, Any] | None = None,
    validation: bool = False,
    trusted: Iterable[str] = (),
    compress: bool = True,
) -> bytes:
    """Return the content of the file that `save` writes; not compressed, it takes a third of the time."""
    try:
        about = json.loads(json.dumps({"format": FORMAT, "version": stakes.__version__, "info": info or {}}))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"info cannot be written as JSON: {error}") from None
    packed = _rebuilt(model, _pack if validation else _pack_without_records, {})
    how: dict[str, int] = {"compression": ZIP_DEFLATED, "compresslevel": LEVEL} if compress else {}
    try:
        content = skops.io.dumps(packed, **how)
    except (UnsupportedTypeException, TypeError) as error:
        raise ModelFileError(f"{type(model).__name__} cannot be written to a model file: {error}; use joblib") from None
    strange = sorted(set(skops.io.get_untrusted_types(data=content)) - {*TRUSTED, *trusted})
    if strange:
        raise ModelFileError(
            f"the model has parts of other packages, {', '.join(strange)}: name them in trusted=, here and in load, if "
            "you know that they are safe to load; or use joblib"
        )
    file = io.BytesIO(content)
    with ZipFile(file, "a", compression=ZIP_DEFLATED) as archive:
        about["digest"] = _digest(archive, about)
        archive.writestr(ABOUT, json.dumps(about))
    return file.getvalue()


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Return the model in a file that `save` wrote; nothing in the file can run.

    Parameters
    ----------
    path : path
    trusted : iterable of str, default=()
        Types of other packages that the model may have, by their full names.

    Returns
    -------
    model : classifier

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes import CostTreeClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.persist import load, save
    >>> data = make_churn(500, random_state=0)
    >>> tree = CostTreeClassifier(max_depth=3).fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save(tree, pathlib.Path(directory) / "tree.skops")
    ...     same = load(pathlib.Path(directory) / "tree.skops")
    >>> same
    CostTreeClassifier(max_depth=3)
    """
    return loads(_content(Path(path)), trusted=trusted, name=str(path))


def loads(content: bytes, *, trusted: Iterable[str] = (), name: str = "the model") -> Any:
    """Return the model in the content of a file; `name` is what errors call it."""
    about = _about(content, name)
    allowed = [*TRUSTED, *trusted]
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            if about.get("digest") != _digest(archive, about):
                raise _damaged(name)
        strange = sorted(set(skops.io.get_untrusted_types(data=content)) - set(allowed))
        if strange:
            raise ModelFileError(
                f"{name} has parts that are not trusted, {', '.join(strange)}: if you know that they are safe to load, "
                "name them in trusted="
            )
        return _rebuilt(skops.io.loads(content, trusted=allowed), _unpack, {})
    except ModelFileError:
        raise
    except Exception as error:  # a damaged or crafted file can raise anything
        raise _damaged(name) from error


def read_info(path: str | Path) -> dict[str, Any]:
    """Return the plain data that was saved with a model, without loading it.

    Parameters
    ----------
    path : path

    Returns
    -------
    info : dict
        What was given to `save` as `info`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from stakes import CostTreeClassifier
    >>> from stakes.datasets import make_churn
    >>> from stakes.persist import read_info, save
    >>> data = make_churn(500, random_state=0)
    >>> tree = CostTreeClassifier(max_depth=3).fit(data.frame, data.target, fp_cost=1, fn_cost=5)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = pathlib.Path(directory) / "tree.skops"
    ...     save(tree, path, info={"trained on": "the churners of May"})
    ...     read_info(path)
    {'trained on': 'the churners of May'}
    """
    info = _about(_content(Path(path)), str(path))["info"]
    if not isinstance(info, dict):
        raise _damaged(str(path))
    return info


def is_model_file(path: Path) -> bool:
    """Return whether a file says of itself that it is a model file of stakes."""
    try:
        _about(_content(path), str(path))
    except ModelFileError:
        return False
    return True


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}") from None
    except OSError:
        raise ModelFileError(f"{path} is not a model file of stakes, or it is damaged") from None


def _about(content: bytes, name: str) -> dict[str, Any]:
    """Return the description of a model file."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
            if unpacked > max(LARGE, 100 * len(content)):
                raise ValueError("far larger than any model")
            about: dict[str, Any] = json.loads(archive.read(ABOUT))
        form, _ = about["format"], about["info"]
        if not isinstance(form, int):
            raise TypeError("not a format")
    except Exception:  # a damaged directory makes zipfile raise almost anything
        raise ModelFileError(f"{name} is not a model file of stakes, or it is damaged") from None
    if form > FORMAT:
        raise ModelFileError(
            f"{name} was saved by stakes {about.get('version')}, and this is stakes {stakes.__version__}, which is too "
            "old to read it: install a newer version"
        )
    if form < FORMAT:
        raise ModelFileError(
            f"{name} was saved by stakes {about.get('version')}, in a format that is no longer read: train the model "
            "again, and save it"
        )
    return about


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(f"{name} is damaged, or was changed after it was saved: it is not loaded")


def _digest(archive: ZipFile, about: dict[str, Any]) -> str:
    """Return a digest of everything in a file but the digest itself."""
    digest = hashlib.sha256(json.dumps({**about, "digest": None}, sort_keys=True).encode())
    for name in sorted(archive.namelist()):
        if name != ABOUT:
            content = archive.read(name)
            digest.update(f"{name} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


# From a model to what skops can write, and back.

# Their attributes are looked into; everything else is taken as it is.
WALKED = (AmountEstimator, BaseEstimator, Binning, CostEstimators, Encoder, ForeseenCost, ModelMembers, Reader)


def _rebuilt(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """Return a model with `change` made to all its parts. The model stays as it is; arrays are shared with it."""
    if id(value) in memo:
        return memo[id(value)]
    new = change(value)
    if type(new) in (list, tuple):
        new = type(new)(_rebuilt(part, change, memo) for part in new)
    elif type(new) is dict:
        new = {key: _rebuilt(part, change, memo) for key, part in new.items()}
    elif isinstance(new, Pairs):
        new = Pairs(_rebuilt(new.items, change, memo))
    elif isinstance(new, np.ndarray) and new.dtype == object:
        new = new.copy()
        for i, part in enumerate(new.flat):
            new.flat[i] = _rebuilt(part, change, memo)
    elif isinstance(new, WALKED):
        new = memo[id(value)] = copy.copy(new)
        for name, part in list(vars(new).items()):
            vars(new)[name] = _rebuilt(part, change, memo)
    return new


def _pack(value: Any) -> Any:
    if isinstance(value, ValidationRecords) and not isinstance(value.records.X, np.ndarray | None):
        raise ModelFileError(
            "the validation records are in a data frame, which model files cannot hold: save without validation=True, "
            "or use joblib"
        )
    if type(value) in (list, dict) and _is_plain(value):
        return Plain(json.dumps(value))
    if type(value) is dict and not all(isinstance(key, str) for key in value):
        return Pairs(list(value.items()))
    return value


def _pack_without_records(value: Any) -> Any:
    return None if isinstance(value, ValidationRecords) else _pack(value)


def _unpack(value: Any) -> Any:
    if isinstance(value, Plain):
        return json.loads(value.text)
    if isinstance(value, Pairs):
        return dict(value.items)
    if isinstance(value, BaseEstimator):
        _check_trees(value)
    return value


def _is_plain(value: Any) -> bool:
    """Return whether JSON can tell a value from all others."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(part) for key, part in value.items())
    return value is None or type(value) in (str, int, float, bool)


# A loop, or a child beyond the end of the arrays, would hang or crash the compiled code that walks down trees.


def _check_trees(estimator: Any) -> None:
    """Raise an error if the trees of an estimator lead anywhere but to their leaves."""
    has = vars(estimator)
    n_features = has.get("n_features_in_", 0)
    if isinstance(has.get("members_"), TreeMembers):
        _require(vars(has["members_"]).keys() == has["members_"].__getstate__().keys())
        _check_engine(has["members_"].trees, has["binning_"], n_features)
    if "tree_" in has:
        tree = has["tree_"]
        ends = np.full(tree.node_count, tree.node_count)
        _check_walk(tree.children_left >= 0, (tree.children_left, tree.children_right), ends, tree.feature, n_features)
    for predictors in has.get("_predictors", ()):
        for predictor in predictors:
            nodes = predictor.nodes
            splits, ends = nodes["is_leaf"] == 0, np.full(nodes.size, nodes.size)
            _check_walk(splits, (nodes["left"], nodes["right"]), ends, nodes["feature_idx"], n_features)
            by_category = splits & (nodes["is_categorical"] != 0)
            _check_within(nodes["bitset_idx"][by_category], len(predictor.raw_left_cat_bitsets))


def _check_engine(trees: Trees, binning: Binning, n_features: int) -> None:
    # Nothing that is derived from the arrays is taken from a file.
    _require(vars(trees).keys() == trees.__getstate__().keys())
    nodes, n = trees.nodes, trees.nodes.feature.size
    arrays = {
        "feature": (np.int32, (n,)), "threshold": (np.uint8, (n,)), "missing_left": (np.uint8, (n,)),
        "left": (np.int32, (n,)), "category_set": (np.int32, (n,)),
        "categories_left": (np.uint64, (len(nodes.categories_left), 4)),
        "counts": (nodes.counts.dtype, (n, 2)), "weights": (nodes.weights.dtype, (n, 2)), "gain": (np.float64, (n,)),
    }  # fmt: skip
    for name, (dtype, shape) in arrays.items():
        array = getattr(nodes, name)
        _require(array.dtype == dtype and array.shape == shape)
    _require(binning.cuts_.shape == (n_features, BINS - 1) and binning.cuts_.dtype == np.float64)
    _require(trees.sizes.size > 0 and trees.sizes.min() > 0 and trees.sizes.sum() == n)
    splits = nodes.feature >= 0
    ends = np.repeat(np.cumsum(trees.sizes), trees.sizes)
    _check_walk(splits, (nodes.left, nodes.left + 1), ends, nodes.feature, n_features)
    _check_within(nodes.category_set[nodes.category_set >= 0], len(nodes.categories_left))
    for totals in (nodes.counts, nodes.weights):
        _require(bool(np.isfinite(totals).all() and (totals >= 0).all()))


def _check_walk(
    splits: NDArray[np.bool_],
    children: Iterable[NDArray[Any]],
    ends: NDArray[np.int64],
    feature: NDArray[Any],
    n_features: int,
) -> None:
    """Check that all children come after their parents and before the end of the tree, and that features exist."""
    here = np.arange(splits.size)
    for child in children:
        _require(((child > here) & (child < ends))[splits].all())
    _check_within(feature[splits], n_features)


def _check_within(index: NDArray[Any], n: int) -> None:
    _require(((index >= 0) & (index < n)).all())


def _require(holds: Any) -> None:
    if not holds:
        raise ValueError("the arrays of a tree do not fit together")
