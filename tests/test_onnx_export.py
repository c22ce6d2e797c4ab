"""Exported models give the probabilities of the originals, record by record."""

import numpy as np
import polars as pl
import pytest

from stakes import CostBaggingClassifier, CostTreeClassifier, Decision, make_classifier
from stakes.datasets import make_churn
from stakes.decision.calibration import LogisticBounded, PlattLogit
from stakes.delivered import DeliveredClassifier
from stakes.exceptions import ModelFileError
from stakes.export import to_onnx

onnx = pytest.importorskip("onnx", reason="the extra stakes[onnx] is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def with_gaps(frame, seed):
    """Missing numbers and categories, and one never seen."""
    rng = np.random.default_rng(seed)
    gaps = rng.random((len(frame), 2)) < 0.1
    return frame.with_columns(pl.col("contract", "payment").cast(pl.String)).with_columns(
        tenure=pl.when(pl.Series(gaps[:, 0])).then(None).otherwise(pl.col("tenure").cast(pl.Float64)),
        contract=pl.when(pl.Series(gaps[:, 1])).then(None).otherwise("contract"),
    )


TRAIN = make_churn(500, random_state=0)
FRAME, NEW = with_gaps(TRAIN.frame, 0), with_gaps(make_churn(300, random_state=1).frame, 1)
NEW = NEW.with_columns(payment=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("barter")).otherwise("payment"))


def run(exported, frame):
    session = runtime.InferenceSession(exported.SerializeToString(), providers=["CPUExecutionProvider"])
    if isinstance(frame, np.ndarray):
        return session.run(None, {"X": frame})[0]
    inputs = {}
    for column in frame.iter_columns():
        if not column.dtype.is_numeric():
            inputs[column.name] = np.array([[value or ""] for value in column], dtype=object)
        else:
            inputs[column.name] = column.cast(pl.Float64).fill_null(np.nan).to_numpy()[:, None]
    return session.run(None, inputs)[0]


def check(clf):
    np.testing.assert_allclose(run(to_onnx(clf), NEW), clf.predict_proba(NEW), atol=1e-12)


@pytest.mark.parametrize("name", ["tree", "cstree", "rf", "wbg", "ubg", "srf", "ab", "m2", "ac2", "usb", "cab"])
def test_probabilities_of_an_exported_method_are_equal(name):
    params = {} if "tree" in name else {"n_estimators": 7}
    check(make_classifier(name, random_state=0, **params).fit(FRAME, TRAIN.target, fp_cost=1, fn_cost=4))


@pytest.mark.parametrize("calibration", ["platt", "platt_logit", "isotonic", "logistic_bounded"])
def test_calibrated_probabilities_are_equal(calibration):
    decision = Decision(output="average", calibration=calibration, threshold="cost")
    clf = CostBaggingClassifier(n_estimators=7, decision=decision, random_state=0)
    check(clf.fit(FRAME, TRAIN.target, fp_cost=1, fn_cost=4))


def test_corrected_and_logistic_probabilities_are_equal():
    corrected = CostBaggingClassifier(n_estimators=7, sampling="under", prior_correction=True, random_state=0)
    corrected.fit(FRAME, TRAIN.target, fp_cost=1, fn_cost=4)
    check(corrected.with_decision(Decision(output="average", threshold="cost")))
    boosted = make_classifier("ab", n_estimators=7, calibration="logistic", random_state=0)
    check(boosted.fit(FRAME, TRAIN.target))


def test_a_model_of_an_array_has_one_input():
    X = TRAIN.frame.select("tenure", "monthly_charges").to_numpy().astype(float)
    X[::7, 0] = np.nan
    clf = CostTreeClassifier().fit(X, TRAIN.target, fp_cost=1, fn_cost=4)
    exported = to_onnx(clf)
    assert [given.name for given in exported.graph.input] == ["X"]
    np.testing.assert_allclose(run(exported, X), clf.predict_proba(X), atol=1e-12)


def test_values_right_at_a_cut_take_the_same_way():
    clf = CostTreeClassifier().fit(np.arange(50.0)[:, None], np.arange(50) % 3 == 0)
    cuts = clf.binning_.cuts_[0]
    cuts = cuts[np.isfinite(cuts)]
    X = np.concatenate([cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)])[:, None]
    np.testing.assert_array_equal(run(to_onnx(clf), X), clf.predict_proba(X))


def test_a_tree_without_splits_is_exported():
    clf = CostTreeClassifier(min_samples_split=1000).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 0])
    assert clf.get_n_leaves() == 1
    np.testing.assert_allclose(run(to_onnx(clf), np.array([[0.0], [np.nan]])), [[0.75, 0.25]] * 2)


def test_models_of_studies_are_exported_with_their_probability(tmp_path):
    forest = make_classifier("rf", n_estimators=5, random_state=0).fit(FRAME, TRAIN.target)
    calibration = PlattLogit(slope=-0.7, intercept=0.2, clip=0.01)
    model = DeliveredClassifier(forest, ("stays", "leaves"), FRAME.columns, calibration)
    exported = to_onnx(model, tmp_path / "model.onnx")
    np.testing.assert_allclose(run(exported, NEW), model.predict_proba(NEW), atol=1e-12)
    facts = {fact.key: fact.value for fact in onnx.load(tmp_path / "model.onnx").metadata_props}
    assert facts["classes"] == "['leaves', 'stays']"
    assert facts["threshold"] == "0.5"


def test_labels_in_another_order_keep_their_columns():
    target = np.where(TRAIN.target == 1, "churned", "stayed")
    clf = make_classifier("rf", n_estimators=5, pos_label="churned", random_state=0)
    check(clf.fit(FRAME, target, fp_cost=1, fn_cost=4))


def test_what_cannot_be_exported_is_refused_with_a_way_out():
    by_cost = make_classifier("dm-bg", n_estimators=3, random_state=0).fit(FRAME, TRAIN.target, fp_cost=1, fn_cost=4)
    with pytest.raises(ModelFileError, match="output='average'"):
        to_onnx(by_cost)
    with pytest.raises(ModelFileError, match="not made of trees"):
        to_onnx(make_classifier("lr").fit(FRAME, TRAIN.target))


def test_a_calibration_of_ones_own_is_refused_with_a_way_out():
    class Halved(LogisticBounded):
        """Half of it."""

    forest = make_classifier("rf", n_estimators=3, random_state=0).fit(FRAME, TRAIN.target)
    model = DeliveredClassifier(forest, (0, 1), FRAME.columns, Halved())
    with pytest.raises(ModelFileError, match=r"Halved.*cannot be exported: choose .* 'logistic', .*'isotonic'"):
        to_onnx(model)
