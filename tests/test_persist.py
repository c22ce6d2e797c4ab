"""Model files: the same predictions after a round trip, and nothing but models comes out of them."""

from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import joblib
import numpy as np
import polars as pl
import pytest
import skops.io
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier, RUSBoostClassifier
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stakes.persist
from shared_records import Records
from stakes import (
    CostBaggingClassifier,
    CostBoostClassifier,
    CostDecisionClassifier,
    CostTreeClassifier,
    Decision,
    MetaCostClassifier,
    make_classifier,
)
from stakes._members import TreeMembers
from stakes.encoded import EncodedClassifier
from stakes.exceptions import CostsNeededError, DecisionError, ModelFileError
from stakes.persist import FORMAT, load, read_info, save
from stakes.sampling import SAMPLERS, CPRSampler
from stakes.tree.trees import Trees


def encoded(model: Any, **options: Any) -> CostDecisionClassifier:
    return CostDecisionClassifier(EncodedClassifier(model), **options)


def boosted() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=5)


FEW = {"n_estimators": 5, "random_state": 0}
MODELS: dict[str, Any] = {
    "tree": CostTreeClassifier(max_depth=4, pruning="cost_complexity", random_state=0),
    "bagging": CostBaggingClassifier(**FEW),
    "weighted forest": CostBaggingClassifier(features="per_split", weighted=True, **FEW),
    "a sampler object": CostBaggingClassifier(sampling=CPRSampler(), **FEW),
    "votes by error": CostBaggingClassifier(decision=Decision(member="cost", vote_weight="squared_odds"), **FEW),
    "tuned members": CostBaggingClassifier(decision=Decision(member="tuned", threshold="tuned"), **FEW),
    "isotonic": CostBaggingClassifier(decision=Decision(calibration="isotonic", threshold="cost"), **FEW),
    "prior correction": CostBaggingClassifier(sampling="under", prior_correction=True, **FEW),
    "a boosting rule": CostBoostClassifier(variant="adac2", **FEW),
    "signed votes": CostBoostClassifier(variant="uboost", **FEW),
    "platt": CostBoostClassifier(decision=Decision(calibration="platt", threshold="cost"), **FEW),
    "logistic": CostBoostClassifier(decision=Decision(calibration="logistic", threshold="cost"), **FEW),
    "metacost": MetaCostClassifier(CostBaggingClassifier(**FEW), random_state=0),
    "gradient boosting": encoded(boosted(), threshold="tuned", random_state=0),
    "bagged gradient boosting": CostBaggingClassifier(EncodedClassifier(boosted()), n_estimators=2, random_state=0),
    "boosted gradient boosting": CostBoostClassifier(EncodedClassifier(boosted()), n_estimators=2, random_state=0),
    "balanced forest": encoded(BalancedRandomForestClassifier(n_estimators=3), random_state=0),
    "rusboost": encoded(make_pipeline(SimpleImputer(), RUSBoostClassifier(n_estimators=3)), random_state=0),
    "easy ensemble": encoded(make_pipeline(SimpleImputer(), EasyEnsembleClassifier(n_estimators=2)), random_state=0),
}


@pytest.fixture(scope="module")
def fitted(mixed: pl.DataFrame, holes: Records) -> Callable[[str], Any]:
    known: dict[str, Any] = {}

    def fit(name: str) -> Any:
        if name not in known:
            known[name] = clone(MODELS[name]).fit(mixed, holes.y, **holes.costs), mixed
        return known[name]

    return fit


@pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_predicts_the_same_after_the_round_trip_and_gives_the_same_file(
    name: str, fitted: Callable[[str], Any], holes: Records, tmp_path: Path
) -> None:
    model, X = fitted(name)
    save(model, tmp_path / "model.skops", info={"name": name})
    again = load(tmp_path / "model.skops")
    assert type(again) is type(model)
    assert repr(again.get_params()) == repr(model.get_params())
    assert read_info(tmp_path / "model.skops") == {"name": name}
    assert stakes.persist.dumps(again, info={"name": name}) == (tmp_path / "model.skops").read_bytes()
    for costs in (holes.costs, {"fp_cost": 3.0, "fn_cost": holes.fn * 2}):
        np.testing.assert_array_equal(again.predict(X, **costs), model.predict(X, **costs))
        np.testing.assert_array_equal(again.predict_proba(X, **costs), model.predict_proba(X, **costs))


@pytest.mark.filterwarnings("ignore::stakes.exceptions.ClassMeansWarning")
def test_methods_of_the_catalogue_can_be_saved(holes: Records, mixed: pl.DataFrame, tmp_path: Path) -> None:
    for name in (
        "cstree",
        "csrf",
        "cprrdf",
        "upbg",
        "acost",
        "csb1",
        "usb",
        "dab",
        "dab-thr",
        "gb",
        "lgbm",
        "wgb",
        "csgb",
    ):
        few = {} if name == "cstree" else {"n_estimators": 2}
        model = make_classifier(name, random_state=0, **few).fit(mixed, holes.y, **holes.costs)
        save(model, tmp_path / "model.skops")
        again = load(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.predict(mixed, **holes.costs), model.predict(mixed, **holes.costs))
        np.testing.assert_array_equal(
            again.predict_proba(mixed, **holes.costs), model.predict_proba(mixed, **holes.costs)
        )
        assert stakes.persist.dumps(again) == (tmp_path / "model.skops").read_bytes()


def test_pickle_and_joblib_work_as_usual(fitted: Callable[[str], Any], holes: Records, tmp_path: Path) -> None:
    for name in ("tuned members", "platt", "metacost", "gradient boosting"):
        model, X = fitted(name)
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.predict(X, **holes.costs), model.predict(X, **holes.costs))


def test_a_cost_estimator_and_a_pipeline_are_saved_with_the_model(small: Records, tmp_path: Path) -> None:
    model = make_pipeline(StandardScaler(), CostBaggingClassifier(cost_estimator=LinearRegression(), **FEW))
    model.fit(small.X, small.y, costbaggingclassifier__fn_cost=small.fn, costbaggingclassifier__fp_cost=small.fp)
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(small.X), model.predict(small.X))


@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array(["no", "yes"], object), np.array([False, True])])
def test_labels_keep_their_type(labels: Any, small: Records, tmp_path: Path) -> None:
    for made in (CostBaggingClassifier(**FEW), CostDecisionClassifier(LogisticRegression())):
        model = made.fit(small.X, labels[small.y], fp_cost=1, fn_cost=5)
        save(model, tmp_path / "model.skops")
        again = load(tmp_path / "model.skops")
        assert again.classes_.dtype == labels.dtype
        np.testing.assert_array_equal(again.predict(small.X), model.predict(small.X))


def test_validation_records_are_left_out_unless_asked_for(
    fitted: Callable[[str], Any], holes: Records, tmp_path: Path
) -> None:
    model, X = fitted("tuned members")
    small, whole = tmp_path / "small.skops", tmp_path / "whole.skops"
    save(model, small)
    save(model, whole, validation=True)
    assert model.validation_ is not None
    assert small.stat().st_size < whole.stat().st_size
    tuned = Decision(calibration="platt", threshold="tuned")
    with pytest.raises(DecisionError, match="none were kept"):
        load(small).with_decision(tuned)
    other = load(small).with_decision(Decision(threshold="cost"))
    np.testing.assert_array_equal(
        other.predict(X, **holes.costs), model.with_decision(Decision(threshold="cost")).predict(X, **holes.costs)
    )
    with pytest.raises(CostsNeededError):
        other.predict(X)
    np.testing.assert_array_equal(
        load(whole).with_decision(tuned).predict(X, **holes.costs), model.with_decision(tuned).predict(X, **holes.costs)
    )
    assert load(whole).oob_cost_ == model.oob_cost_


def test_no_record_is_in_a_file_that_was_saved_without_them(small: Records, tmp_path: Path) -> None:
    for model in (MetaCostClassifier(CostBaggingClassifier(**FEW)), CostBaggingClassifier(sampling="cpr", **FEW)):
        model.fit(small.X, small.y, **small.costs)
        save(model, tmp_path / "model.skops")
        with ZipFile(tmp_path / "model.skops") as archive:
            arrays = [np.load(io.BytesIO(archive.read(n))) for n in archive.namelist() if n.endswith(".npy")]
        of_records = [array for array in arrays if array.ndim and array.shape[0] == len(small)]
        assert len(of_records) == isinstance(model, MetaCostClassifier)  # its new labels


def test_frames_among_the_validation_records_are_refused(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    model, _ = fitted("gradient boosting")
    with pytest.raises(ModelFileError, match=r"data frame, .* save without validation=True, or use joblib"):
        save(model, tmp_path / "model.skops", validation=True)
    assert not list(tmp_path.iterdir())


def test_files_are_not_much_larger_than_the_arrays_in_them(large: Records, tmp_path: Path) -> None:
    forest = CostBaggingClassifier(n_estimators=100, features="per_split", random_state=0)
    forest.fit(large.X, large.y, **large.costs)
    save(forest, tmp_path / "model.skops")
    arrays = sum(array.nbytes for array in forest.members_.trees.nodes)
    assert (tmp_path / "model.skops").stat().st_size < arrays


def test_predictions_do_not_depend_on_threads_or_processes(large: Records, tmp_path: Path) -> None:
    forest = CostBaggingClassifier(decision=Decision(member="tuned", vote_weight="exp_odds"), **FEW)
    forest.fit(large.X, large.y, **large.costs)
    save(forest, tmp_path / "model.skops")
    expected = forest.predict_proba(large.X)
    for n_jobs in (1, 2):
        again = load(tmp_path / "model.skops").set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(again.predict_proba(large.X), expected)
    np.save(tmp_path / "X.npy", large.X)
    code = (
        "import sys, numpy as np; from stakes.persist import load;"
        "np.save(sys.argv[3], load(sys.argv[1]).predict_proba(np.load(sys.argv[2])))"
    )
    files = [str(tmp_path / name) for name in ("model.skops", "X.npy", "said.npy")]
    subprocess.run([sys.executable, "-c", code, *files], check=True)
    np.testing.assert_array_equal(np.load(files[2]), expected)


@pytest.mark.parametrize("name", ["gb", "csgb", "lgbm", "rf", "lr", "imblearn-brf"])
def test_equal_fits_give_the_same_bytes(name: str, holes: Records, mixed: pl.DataFrame) -> None:
    few = {"n_estimators": 10} if name in ("rf", "imblearn-brf") else {}
    first, second = (make_classifier(name, random_state=0, **few).fit(mixed, holes.y, **holes.costs) for _ in range(2))
    assert stakes.persist.dumps(first) == stakes.persist.dumps(second)


@pytest.mark.parametrize("name", ["gb", "csgb", "lgbm"])
def test_boosted_trees_are_the_same_to_the_letter_with_one_thread_and_two(
    name: str, holes: Records, mixed: pl.DataFrame
) -> None:
    one, two = (
        make_classifier(name, random_state=0).set_params(n_jobs=n_jobs).fit(mixed, holes.y, **holes.costs)
        for n_jobs in (1, 2)
    )
    assert one.members_.models[0].texts == two.members_.models[0].texts


def test_saving_does_not_change_the_model(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    model, _ = fitted("tuned members")
    before = dict(vars(model))
    save(model, tmp_path / "model.skops")
    assert all(vars(model)[name] is part for name, part in before.items())


def test_an_older_file_is_replaced_whole_or_not_at_all(
    fitted: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = fitted("bagging")
    save(model, tmp_path / "model.skops")
    before = (tmp_path / "model.skops").read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save(model, tmp_path / "model.skops", info={"other": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["model.skops"]
    assert (tmp_path / "model.skops").read_bytes() == before


# What is no model file


@pytest.fixture
def file(fitted: Callable[[str], Any], tmp_path: Path) -> Path:
    save(fitted("bagging")[0], tmp_path / "model.skops", info={"a": 1})
    return tmp_path / "model.skops"


def rewrite(path: Path, change: Callable[[dict[str, bytes]], None], *, signed: bool = True) -> None:
    """Change what is in a file; with a digest that fits unless it should not be `signed`."""
    with ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    about = json.loads(content.pop("stakes.json", b"null"))
    if about is not None:
        if signed:
            about["digest"] = stakes.persist._digest(content, about)
        content["stakes.json"] = json.dumps(about).encode()
    with ZipFile(path, "w", compression=ZIP_DEFLATED) as archive:
        for name, each in content.items():
            archive.writestr(name, each)


def refused(path: Path, match: str) -> None:
    with pytest.raises(ModelFileError, match=match) as error:
        load(path)
    assert "\n" not in str(error.value)


def test_other_files_are_refused(tmp_path: Path, file: Path) -> None:
    refused(tmp_path / "none.skops", "there is no file")
    refused(tmp_path, "is not a model file")
    other = tmp_path / "other"
    for content in (b"", b"PK", b"some text", pickle.dumps({"format": 1}), b"PK\x03\x04" + bytes(100)):
        other.write_bytes(content)
        refused(other, "is not a model file")
    skops.io.dump(LogisticRegression(), other)
    refused(other, "is not a model file of stakes")


def test_a_truncated_file_is_refused_wherever_it_ends(file: Path) -> None:
    content = file.read_bytes()
    for end in range(0, len(content), max(1, len(content) // 40)):
        file.write_bytes(content[:end])
        refused(file, "is not a model file|is damaged")


def test_a_damaged_file_is_refused_wherever_it_is_damaged(file: Path) -> None:
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    # Anywhere, and in the directory at its end, of which every byte means something else.
    directory = content.rindex(b"PK\x01\x02")
    for at in [*rng.integers(len(content), size=60), *range(directory, len(content))]:
        damaged = bytearray(content)
        damaged[at] ^= 0xFF
        file.write_bytes(bytes(damaged))
        try:
            again = load(file)
        except ModelFileError:
            continue
        # Bytes of the directory that nobody reads, such as times of writing.
        assert (again.members_.trees.nodes.counts == load_bytes(content, file).members_.trees.nodes.counts).all()


def load_bytes(content: bytes, path: Path) -> Any:
    path.write_bytes(content)
    return load(path)


def test_a_file_that_was_changed_is_refused(file: Path) -> None:
    def other_array(content: dict[str, bytes]) -> None:
        name = next(name for name in content if name.endswith(".npy"))
        content[name] = content[name][:-1] + bytes([content[name][-1] ^ 1])

    rewrite(file, other_array, signed=False)
    refused(file, "is damaged, or was changed after it was saved")


def test_information_that_was_changed_is_refused(file: Path) -> None:
    def other_information(content: dict[str, bytes]) -> None:
        content["stakes.json"] = content["stakes.json"].replace(b'"a": 1', b'"a": 2')

    rewrite(file, other_information, signed=False)
    refused(file, "is damaged, or was changed after it was saved")


@pytest.mark.parametrize("info", [None, [], "text", 3])
def test_information_of_another_kind_is_refused(file: Path, info: Any) -> None:
    def other_information(content: dict[str, bytes]) -> None:
        content["stakes.json"] = json.dumps({**json.loads(content["stakes.json"]), "info": info}).encode()

    rewrite(file, other_information)
    with pytest.raises(ModelFileError, match="is damaged"):
        read_info(file)


def test_a_file_that_unpacks_to_far_more_than_any_model_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stakes.persist, "LARGE", 1 << 20)
    rewrite(file, lambda content: content.update({"999.npy": bytes(1 << 24)}))
    assert file.stat().st_size < 1 << 17
    for read in (load, read_info):
        with pytest.raises(ModelFileError, match="is not a model file of stakes, or it is damaged"):
            read(file)


def test_a_file_of_an_older_format_says_so(file: Path) -> None:
    def older(content: dict[str, bytes]) -> None:
        content["stakes.json"] = json.dumps({**json.loads(content["stakes.json"]), "format": 1}).encode()

    rewrite(file, older)
    refused(file, "train the model again, and save it")


def test_a_file_of_a_newer_version_says_so(file: Path) -> None:
    def newer(content: dict[str, bytes]) -> None:
        about = json.loads(content["stakes.json"])
        content["stakes.json"] = json.dumps({**about, "format": FORMAT + 1, "version": "9.1"}).encode()

    rewrite(file, newer)
    refused(file, "was saved by stakes 9.1, .* install a newer version")
    with pytest.raises(ModelFileError, match="install a newer version"):
        read_info(file)


@pytest.mark.parametrize(
    ("module", "name", "loader"),
    [
        ("os", "system", "FunctionNode"),
        ("builtins", "eval", "FunctionNode"),
        ("subprocess", "Popen", "ObjectNode"),
        ("subprocess", "Popen", "ConstructorFromReduceNode"),
        ("pathlib", "Path", "ConstructorFromReduceNode"),
        ("functools", "reduce", "FunctionNode"),
        ("stakes.persist", "load", "FunctionNode"),
        ("numpy", "load", "FunctionNode"),
        ("builtins", "getattr", "OperatorFuncNode"),
    ],
)
def test_types_that_are_not_named_are_never_made(file: Path, module: str, name: str, loader: str) -> None:
    def hostile(content: dict[str, bytes]) -> None:
        schema = json.loads(content["schema.json"])
        attributes = schema["content"]["content"]
        attributes["decision"] = {
            "__class__": name, "__module__": module, "__loader__": loader, "__id__": 1,
            "content": {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []},
        }  # fmt: skip
        content["schema.json"] = json.dumps(schema).encode()

    rewrite(file, hostile)
    refused(file, "has parts that are not trusted|is damaged")


def test_a_schema_that_makes_no_sense_is_refused(file: Path) -> None:
    original = file.read_bytes()
    for schema in (b"", b"[]", b"{}", b'{"protocol": 99}', b"\xff", b"[" * 100_000):
        file.write_bytes(original)
        rewrite(file, lambda content, schema=schema: content.update({"schema.json": schema}))  # type: ignore[misc]
        refused(file, "is damaged")


def hostile_arrays(model: Any) -> list[tuple[str, Callable[[], None]]]:
    nodes = model.members_.trees.nodes
    split = int(np.flatnonzero(nodes.feature >= 0)[-1])

    def put(array: Any, value: int) -> Callable[[], None]:
        def change() -> None:
            array[split] = value

        return change

    return [
        ("a child beyond the end", put(nodes.left, 2**30)),
        ("a loop", put(nodes.left, split)),
        ("a child before the root", put(nodes.left, -7)),
        ("a feature that there is not", put(nodes.feature, 6)),
        ("a set that there is not", put(nodes.category_set, 2**30)),
        ("a set of a leaf that there is not", lambda: nodes.category_set.put(-1, 2**30)),
    ]


@pytest.mark.parametrize("case", range(6))
def test_trees_that_lead_astray_are_refused(case: int, mixed: pl.DataFrame, holes: Records, tmp_path: Path) -> None:
    model = CostBaggingClassifier(n_estimators=1, random_state=0).fit(mixed, holes.y, **holes.costs)
    hostile_arrays(model)[case][1]()
    save(model, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "is damaged")


@pytest.mark.parametrize("owner", [Trees, TreeMembers])
def test_what_is_derived_from_trees_is_not_taken_from_a_file(
    owner: type, small: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = CostBaggingClassifier(n_estimators=2, random_state=0).fit(small.X, small.y, **small.costs)
    model.predict(small.X, **small.costs)
    with monkeypatch.context() as patch:
        own = owner.__getstate__
        patch.setattr(owner, "__getstate__", lambda self: {**own(self), "leaf_number": np.zeros(3, np.int32)})
        save(model, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "is damaged")


def test_arrays_that_do_not_fit_are_refused(small: Records, tmp_path: Path) -> None:
    def refit() -> Any:
        return CostBaggingClassifier(n_estimators=2, random_state=0).fit(small.X, small.y, **small.costs)

    def change_nodes(model: Any, **arrays: Any) -> None:
        object.__setattr__(model.members_.trees, "nodes", model.members_.trees.nodes._replace(**arrays))

    for name in ("feature", "threshold", "left", "category_set", "counts", "weights", "gain"):
        model = refit()
        change_nodes(model, **{name: getattr(model.members_.trees.nodes, name)[:-1]})
        save(model, tmp_path / "model.skops")
        refused(tmp_path / "model.skops", "is damaged")
    for wrong in (np.nan, -1.0, np.inf):
        model = refit()
        change_nodes(model, counts=np.full_like(model.members_.trees.nodes.counts, wrong, dtype=np.float64))
        save(model, tmp_path / "model.skops")
        refused(tmp_path / "model.skops", "is damaged")
    model = refit()
    model.binning_.cuts_ = model.binning_.cuts_[:2]
    save(model, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "is damaged")
    model = refit()
    object.__setattr__(model.members_.trees, "sizes", model.members_.trees.sizes * 3)
    save(model, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "is damaged")


def test_trees_of_scikit_learn_that_lead_astray_are_refused(small: Records, tmp_path: Path) -> None:
    boosting = CostDecisionClassifier(HistGradientBoostingClassifier(max_iter=2), random_state=0)
    boosting.fit(small.X, small.y, **small.costs)
    boosting.estimator_._predictors[1][0].nodes["left"][0] = 2**20
    save(boosting, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "is damaged")
    for made in (RandomForestClassifier(2), GradientBoostingClassifier(n_estimators=2)):
        forest = CostDecisionClassifier(made, random_state=0).fit(small.X, small.y, **small.costs)
        np.ravel(forest.estimator_.estimators_)[1].tree_.feature[0] = 99
        save(forest, tmp_path / "model.skops")
        refused(tmp_path / "model.skops", "is damaged")


def test_models_of_other_packages_must_be_named(small: Records, tmp_path: Path) -> None:
    class Odd(LogisticRegression):
        pass

    Odd.__module__, Odd.__qualname__ = "test_persist", "Odd"
    globals()["Odd"] = Odd
    model = CostDecisionClassifier(Odd(), random_state=0).fit(small.X, small.y, **small.costs)
    with pytest.raises(ModelFileError, match=r"parts of other packages, test_persist\.Odd"):
        save(model, tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())
    save(model, tmp_path / "model.skops", trusted=["test_persist.Odd"])
    refused(tmp_path / "model.skops", r"not trusted, test_persist\.Odd")
    again = load(tmp_path / "model.skops", trusted="test_persist.Odd")  # one name is a name, not its letters
    np.testing.assert_array_equal(again.predict(small.X, **small.costs), model.predict(small.X, **small.costs))


def test_parts_that_are_registered_are_trusted(small: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Halves(CPRSampler):
        pass

    Halves.__module__, Halves.__qualname__ = "test_persist", "Halves"
    globals()["Halves"] = Halves
    monkeypatch.setitem(SAMPLERS, "halves", Halves)
    model = CostBaggingClassifier(n_estimators=2, sampling=Halves(), random_state=0)
    save(model.fit(small.X, small.y, **small.costs), tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(small.X), model.predict_proba(small.X))


def test_information_must_be_plain_data(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="info cannot be written as JSON"):
        save(fitted("bagging")[0], tmp_path / "model.skops", info={"a": object()})
    assert not list(tmp_path.iterdir())


def test_a_model_with_a_part_that_no_file_can_hold_is_refused(small: Records, tmp_path: Path) -> None:
    model = CostTreeClassifier(max_depth=2).fit(small.X, small.y)
    model.extra_ = (i for i in range(3))
    with pytest.raises(ModelFileError, match=r"CostTreeClassifier cannot be written to a model file: .*use joblib"):
        save(model, tmp_path / "tree.skops")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["1", None, [1]])
def test_a_file_whose_format_is_not_a_number_is_refused(file: Path, form: Any) -> None:
    def other(content: dict[str, bytes]) -> None:
        content["stakes.json"] = json.dumps({**json.loads(content["stakes.json"]), "format": form}).encode()

    rewrite(file, other)
    refused(file, "is not a model file of stakes, or it is damaged")


def test_prices_of_features_are_saved_with_a_tree(small: Records) -> None:
    prices = {"x0": (2.0, "lab"), "x1": 1.0, "lab": 3.0}
    tree = CostTreeClassifier(feature_costs=prices, random_state=0).fit(small.X, small.y, **small.costs)
    again = stakes.persist.loads(stakes.persist.dumps(tree))
    assert again.feature_costs == prices
    np.testing.assert_array_equal(again.acquisition_cost(small.X), tree.acquisition_cost(small.X))
    assert stakes.persist.dumps(again) == stakes.persist.dumps(tree)


@pytest.mark.parametrize("kind", [CostBoostClassifier, CostBaggingClassifier])
def test_a_model_that_can_go_on_is_saved_and_goes_on(kind: Any, small: Records) -> None:
    model = kind(warm_start=True, **FEW).fit(small.X, small.y, **small.costs)
    again = stakes.persist.loads(stakes.persist.dumps(model))
    for each in (model, again):
        each.set_params(n_estimators=8).fit(small.X, small.y, **small.costs)
    np.testing.assert_array_equal(again.predict_proba(small.X), model.predict_proba(small.X))


def test_the_members_of_a_model_that_can_go_on_are_saved_once(small: Records) -> None:
    def arrays(model: Any) -> int:
        file = io.BytesIO(stakes.persist.dumps(model.fit(small.X, small.y, **small.costs)))
        return sum(name.endswith(".npy") for name in ZipFile(file).namelist())

    once = arrays(CostBoostClassifier(**FEW))
    assert arrays(CostBoostClassifier(warm_start=True, **FEW)) <= once + 3  # weights, and what was held out
