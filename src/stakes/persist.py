"""Model files that load without running code, through skops.

Only types that are named here, or that skops trusts by itself, are ever made from a file. A file names its format, so
that an older version can say that it is too old; and a digest of its content, so that damage is noticed. How much it
would unpack to is known before anything is unpacked, and `stakes._model_checks` looks at whatever comes out. The same
model gives the same bytes.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.tree._tree import Tree

import stakes
from stakes._atomic import write_atomically
from stakes._estimation import AmountEstimator, ForeseenCost
from stakes._fitting import NumberedLabels
from stakes._member_classifier import ValidationRecords
from stakes._members import ModelMembers, TreeMembers
from stakes._model_checks import BoosterText, TreeState, check_part
from stakes._regression import AmountRegressor
from stakes._rivals import PreparedLogisticRegression
from stakes.bagging import CostBaggingClassifier
from stakes.boosting import CostBoostClassifier
from stakes.catalog import list_methods
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
from stakes.teams.blends import Blend, Stack, Team
from stakes.teams.classifiers import BlendClassifier, CostStackingClassifier, CostTeamClassifier, OutOfFold
from stakes.tree.binning import Binning
from stakes.tree.nodes import FeatureBins, Nodes
from stakes.tree.trees import Trees

__all__ = ["TRUSTED", "dumps", "load", "loads", "read_info", "save"]

# Raised whenever a version of stakes writes files that an older one cannot read.
FORMAT = 3
ABOUT = "stakes.json"
# Of compression: three times as fast as the usual 6, for files that are 5% larger (measured).
LEVEL = 4
# Files that would unpack to more than this, and to more than fifty times their size, are refused: no model does. Nor
# does any describe itself at such length.
LARGE, MOST_TIMES, LONGEST_TEXT = 1 << 26, 50, 1 << 25
SCHEMA = "schema.json"


class Plain:
    """Stands in a file for lists and dicts of plain data, which skops would spell out item by item."""

    def __init__(self, text: str) -> None:
        self.text = text


class Pairs:
    """Stands in a file for a dict whose keys are not texts, which skops cannot write."""

    def __init__(self, items: list[tuple[Any, Any]]) -> None:
        self.items = items


class Members:
    """Stands in a file for the parameter of a team that was made of trained models: they are its members as well."""


OWN_TYPES = (
    CostBaggingClassifier, CostBoostClassifier, CostDecisionClassifier, CostTreeClassifier, MetaCostClassifier,
    CostGradientBoostingClassifier, BoostedTrees, CostTeamClassifier, CostStackingClassifier, Team, Stack, OutOfFold,
    DeliveredClassifier, EncodedClassifier, Encoder, Costs, Decision, Cut, Reader, Source, Votes,
    TreeMembers, ModelMembers, Trees, AmountEstimator, ForeseenCost, EncodedRegressor, AmountRegressor,
    Nodes, FeatureBins, Binning, ValidationRecords, Records, PreparedLogisticRegression, NumberedLabels, Plain, Pairs,
    Members, TreeState, BoosterText,
)  # fmt: skip
OF_OTHERS = (
    # Trees of gradient boosting: skops leaves it to us to check them, and we do.
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    # What an imputer remembers of its input.
    "numpy.dtype",
    # How gradient boosting checks categories: a function of scikit-learn with some of its arguments.
    "functools.partial",
    "sklearn.utils.validation.check_array",
    "collections.OrderedDict",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
)
# What skops trusts, and compiled code of scikit-learn would take on trust, too: nobody looks at these arrays.
NOT_CHECKED = tuple(
    f"sklearn.{name}"
    for name in (
        "svm._classes.SVC", "svm._classes.NuSVC", "svm._classes.SVR", "svm._classes.NuSVR", "svm._classes.OneClassSVM",
        "neighbors.", "cluster.", "manifold.", "semi_supervised.", "tree._tree.", "metrics._dist_metrics.",
    )
)  # fmt: skip


TRUSTED: tuple[str, ...]
"""The types that are made from files, also those that were registered by now: looked up when asked for."""


def __getattr__(name: str) -> tuple[str, ...]:
    if name != "TRUSTED":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _trusted()


def _trusted() -> tuple[str, ...]:
    own = (*OWN_TYPES, *SAMPLERS.values(), *CALIBRATIONS.values(), *THRESHOLDS.values())
    inside_methods = {inside for method in list_methods() for inside in method.trusted}
    return (*(f"{kind.__module__}.{kind.__qualname__}" for kind in own), *OF_OTHERS, *sorted(inside_methods))


def save(
    model: Any,
    path: str | Path,
    *,
    info: dict[str, Any] | None = None,
    validation: bool = False,
    trusted: str | Iterable[str] = (),
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
    trusted : str or iterable of str, default=()
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
    trusted: str | Iterable[str] = (),
    compress: bool = True,
) -> bytes:
    """Return the content of the file that `save` writes; not compressed, it takes a third of the time."""
    import skops.io.exceptions  # it looks up all types of scikit-learn, a fifth of the start of a worker

    try:
        about = json.loads(json.dumps({"format": FORMAT, "version": stakes.__version__, "info": info or {}}))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"info cannot be written as JSON: {error}") from None
    packed = _rebuilt(model, _pack if validation else _pack_without_records, {})
    try:
        content = skops.io.dumps(packed)
    except (skops.io.exceptions.UnsupportedTypeException, TypeError) as error:
        raise ModelFileError(f"{type(model).__name__} cannot be written to a model file: {error}; use joblib") from None
    with ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema, arrays = _renumbered(json.loads(parts[SCHEMA]))
    strange = _strange(skops.io.get_untrusted_types(data=content), schema, trusted)
    if strange:
        raise ModelFileError(
            f"the model has parts of other packages, {', '.join(strange)}: if you know that they are safe to load, "
            "name them in trusted=, here and in load, or in the row of the catalogue; or use joblib"
        )
    parts = {new: parts[old] for old, new in arrays.items()} | {SCHEMA: json.dumps(schema).encode()}
    parts[ABOUT] = json.dumps(about | {"digest": _digest(parts, about)}).encode()
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for name, part in parts.items():
            entry = ZipInfo(name)  # of the year 1980, as all of them
            entry.compress_type = ZIP_DEFLATED if compress else ZIP_STORED
            archive.writestr(entry, part, compresslevel=LEVEL if compress else None)
    return file.getvalue()


def _renumbered(schema: Any) -> tuple[Any, dict[str, str]]:
    """Return what skops wrote with places in memory replaced by numbers, and the new names of the arrays.

    Texts and numbers need none: whether two of them are one in memory is chance.
    """
    numbers: dict[int, int] = {}
    arrays: dict[str, str] = {}

    def renumber(node: Any) -> Any:
        if isinstance(node, list):
            return [renumber(part) for part in node]
        if not isinstance(node, dict):
            return node
        new = {key: renumber(part) for key, part in node.items() if key != "__id__" or isinstance(part, dict)}
        if isinstance(node.get("file"), str):
            new["file"] = arrays.setdefault(node["file"], f"{len(arrays)}.npy")
        if isinstance(node.get("__id__"), int) and node["__loader__"] not in ("JsonNode", "TypeNode"):
            new["__id__"] = numbers.setdefault(node["__id__"], len(numbers))
        return new

    return renumber(schema), arrays


def _strange(untrusted: list[str], schema: Any, trusted: str | Iterable[str]) -> list[str]:
    """Return the types in a file that are not trusted, of those that skops does not trust, or not checked."""

    def types(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if isinstance(node.get("__class__"), str):
                yield f"{node.get('__module__')}.{node['__class__']}"
            node = list(node.values())
        if isinstance(node, list):
            for part in node:
                yield from types(part)

    not_checked = {name for name in types(schema) if name.startswith(NOT_CHECKED)}
    named = [trusted] if isinstance(trusted, str) else trusted
    return sorted({*untrusted, *not_checked} - {*_trusted(), *named})


def load(path: str | Path, *, trusted: str | Iterable[str] = ()) -> Any:
    """Return the model in a file that `save` wrote; nothing in the file can run.

    Parameters
    ----------
    path : path
    trusted : str or iterable of str, default=()
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


def loads(content: bytes, *, trusted: str | Iterable[str] = (), name: str = "the model") -> Any:
    """Return the model in the content of a file; `name` is what errors call it."""
    import skops.io  # it is slow to import

    about = _about(content, name)
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            parts = {each: archive.read(each) for each in archive.namelist()}
        if about.get("digest") != _digest(parts, about):
            raise _damaged(name)
        to_be_trusted = skops.io.get_untrusted_types(data=content)
        strange = _strange(to_be_trusted, json.loads(parts[SCHEMA]), trusted)
        if strange:
            raise ModelFileError(
                f"{name} has parts that are not trusted, {', '.join(strange)}: if you know that they are safe to load, "
                "name them in trusted="
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that are about to be refused
            # Those of the file, not all of ours: skops goes through the list at every part.
            return _rebuilt(skops.io.loads(content, trusted=to_be_trusted), _unpack, {}, after=check_part)
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
            _check_entries(archive.infolist(), len(content))
            about: dict[str, Any] = json.loads(archive.read(ABOUT))
        form, _ = about["format"], about["info"]
        if not isinstance(form, int):
            raise TypeError("not a format")
    except Exception:  # a damaged directory makes zipfile raise almost anything
        raise ModelFileError(f"{name} is not a model file of stakes, or it is damaged") from None
    if form != FORMAT:
        newer = f"and this is stakes {stakes.__version__}, which is too old to read it: install a newer version"
        older = "in a format that is no longer read: train the model again, and save it"
        why = newer if form > FORMAT else older
        raise ModelFileError(f"{name} was saved by stakes {about.get('version')}, {why}")
    return about


def _check_entries(entries: list[ZipInfo], size: int) -> None:
    """Raise an error if an archive has entries that no model has, or far more in it than any."""
    names = [entry.filename for entry in entries]
    known = all(name in (ABOUT, SCHEMA) or re.fullmatch(r"[0-9]+\.npy", name) for name in names)
    if not known or len(set(names)) < len(names):
        raise ValueError("entries that no model has")
    # Other ways of compression would not keep to the sizes that they tell.
    if any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        raise ValueError("compressed in another way")
    texts = [entry.file_size for entry in entries if entry.filename in (ABOUT, SCHEMA)]
    if sum(entry.file_size for entry in entries) > max(LARGE, MOST_TIMES * size) or max(texts) > LONGEST_TEXT:
        raise ValueError("far larger than any model")


def _damaged(name: str) -> ModelFileError:
    return ModelFileError(f"{name} is damaged, or was changed after it was saved: it is not loaded")


def _digest(parts: dict[str, bytes], about: dict[str, Any]) -> str:
    """Return a digest of everything in a file but the digest itself."""
    digest = hashlib.sha256(json.dumps({**about, "digest": None}, sort_keys=True).encode())
    for name in sorted(parts):
        if name != ABOUT:
            digest.update(f"{name} {len(parts[name])} ".encode())
            digest.update(parts[name])
    return digest.hexdigest()


# From a model to what skops can write, and back.

# Their attributes are looked into; everything else is taken as it is.
WALKED = (
    AmountEstimator, BaseEstimator, Binning, Blend, Cut, Encoder, ForeseenCost, ModelMembers, Pairs, Reader,
)  # fmt: skip


def _rebuilt(
    value: Any, change: Callable[[Any], Any], memo: dict[int, Any], after: Callable[[Any], object] | None = None
) -> Any:
    """Return a model with `change` made to all its parts, and `after` called with each when its own parts are done.

    The model stays as it is; arrays are shared with it.
    """
    if id(value) in memo:
        return memo[id(value)]
    new = change(value)
    if type(new) in (list, tuple):
        new = type(new)(_rebuilt(part, change, memo, after) for part in new)
    elif type(new) is dict:
        new = {key: _rebuilt(part, change, memo, after) for key, part in new.items()}
    elif isinstance(new, np.ndarray) and new.dtype == object:
        new = new.copy()
        for i, part in enumerate(new.flat):
            new.flat[i] = _rebuilt(part, change, memo, after)
    elif isinstance(new, WALKED):
        new = memo[id(value)] = copy.copy(new)
        for name, part in list(vars(new).items()):
            vars(new)[name] = _rebuilt(part, change, memo, after)
    if after is not None:
        after(new)
    return new


def _pack(value: Any) -> Any:
    if isinstance(value, ValidationRecords) and not isinstance(value.records.X, np.ndarray | None):
        raise ModelFileError(
            "the validation records are in a data frame, which model files cannot hold: save without validation=True, "
            "or use joblib"
        )
    if isinstance(value, BlendClassifier) and _made_of_members(value):
        return _with_estimators(value, Members())
    if isinstance(value, Tree):
        return TreeState(value)
    if type(value).__module__ == "lightgbm.basic" and type(value).__name__ == "Booster":  # which is slow to import
        return BoosterText(value)
    if type(value) in (list, dict) and _is_plain(value):
        return Plain(json.dumps(value))
    if type(value) is dict and not all(isinstance(key, str) for key in value):
        return Pairs(list(value.items()))
    return value


def _pack_without_records(value: Any) -> Any:
    return None if isinstance(value, ValidationRecords) else _pack(value)


def _made_of_members(team: BlendClassifier) -> bool:
    """Return whether the models that were given to a team are its members themselves, as `from_fitted` has it."""
    given, members = team.estimators or [], getattr(team, "members_", None)
    # The last of an entry is the model of a pair, or a letter of a name.
    return members is not None and [id(entry[-1]) for entry in given] == [id(model) for model in members.models]


def _with_estimators(team: BlendClassifier, estimators: Any) -> BlendClassifier:
    team = copy.copy(team)
    team.estimators = estimators
    return team


def _unpack(value: Any) -> Any:
    if isinstance(value, BlendClassifier) and isinstance(value.estimators, Members):
        return _with_estimators(value, list(zip(_unpack(value.names_), value.members_.models, strict=True)))
    if isinstance(value, Plain):
        return json.loads(value.text)
    if isinstance(value, Pairs):
        return dict(value.items)
    if isinstance(value, TreeState | BoosterText):
        return value.make()
    return value


def _is_plain(value: Any) -> bool:
    """Return whether JSON can tell a value from all others."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(part) for key, part in value.items())
    return value is None or type(value) in (str, int, float, bool)
