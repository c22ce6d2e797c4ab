"""Methods over many data sets: the tests are those of the literature, and the page says what they found."""

from __future__ import annotations

import json
from itertools import product
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from stakes.cli import app
from stakes.exceptions import StudyError
from stakes.study import compare
from stakes.study.comparison.page import diagram, render, write_diagram
from stakes.study.comparison.statistics import (
    bayesian_signed_rank,
    critical_difference,
    friedman,
    groups,
    holm,
    ranks,
    wilcoxon_holm,
)

# Table 6 of Demsar (2006): the area under the ROC curve of four decision trees on fourteen data sets. On the last but
# one the third is ranked before the fourth, which three digits do not show.
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_ranks_and_tests_are_those_of_the_published_example():
    average = ranks(-DEMSAR).mean(axis=0)
    np.testing.assert_allclose(average, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    found = friedman(-DEMSAR)
    # The paper has 9.28 and 3.69, without the correction for ties that scipy makes.
    plain = 12 * 14 / (4 * 5) * ((average**2).sum() - 4 * 25 / 4)
    assert plain == pytest.approx(9.28, abs=0.01)
    tied = 3 * (2**3 - 2) + (4**3 - 4)  # three pairs, and one data set on which all are equal
    assert found.chi2 == pytest.approx(plain / (1 - tied / (14 * 4 * (4**2 - 1))))
    assert found.f == pytest.approx(13 * found.chi2 / (14 * 3 - found.chi2))
    assert found.p_f < 0.05
    found = friedman(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    assert (round(found.chi2, 2), round(found.p, 3)) == (6.5, 0.039)
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)
    assert critical_difference(4, 14, alpha=0.10) == pytest.approx(1.12, abs=0.005)


def test_methods_that_do_not_differ_are_joined_by_bars():
    average = np.sort(np.random.default_rng(0).uniform(1, 9, size=9))
    bars = groups(average, 2.0)
    joined = {(i, j) for first, last in bars for i, j in product(range(first, last + 1), repeat=2) if i < j}
    assert joined == {(i, j) for i, j in product(range(9), repeat=2) if i < j and average[j] - average[i] <= 2.0}
    assert all(not (a >= c and b <= d) for a, b in bars for c, d in bars if (a, b) != (c, d))


def test_holms_p_values_are_those_worked_out_by_hand():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


def test_pairs_are_tested_as_scikit_posthocs_does():
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(1)
    figures = rng.normal(size=(20, 5)) + np.linspace(0, 1, 5)
    expected = posthocs.posthoc_wilcoxon(figures.T, p_adjust="holm").to_numpy()
    np.testing.assert_allclose(wilcoxon_holm(figures), expected, atol=1e-12)


def test_the_bayesian_test_is_that_of_baycomp():
    baycomp = pytest.importorskip("baycomp")
    rng = np.random.default_rng(2)
    one, other = rng.normal(0.0, 0.1, size=15), rng.normal(0.04, 0.1, size=15)
    left, rope, right = baycomp.SignedRankTest.probs(one, other, rope=0.02, nsamples=20_000)
    found = bayesian_signed_rank(one, other, 0.02, np.random.default_rng(0))
    np.testing.assert_allclose([found.better, found.equal, found.worse], [right, rope, left], atol=0.03)


def test_swapping_two_methods_swaps_what_is_probable():
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=12), rng.normal(0.3, 1, size=12)
    forth = bayesian_signed_rank(one, other, 0.05, np.random.default_rng(0))
    back = bayesian_signed_rank(other, one, 0.05, np.random.default_rng(0))
    assert forth == pytest.approx((back.worse, back.equal, back.better))
    assert sum(forth) == pytest.approx(1)
    assert bayesian_signed_rank(np.zeros(10), np.full(10, 0.3), 0.01, rng).better > 0.99


BASE = {
    "family": "bagging", "train_costs": "none", "decision_costs": "real", "leaf": "frequency", "member": "label",
    "output": "average", "vote_weight": None, "calibration": None,
}  # fmt: skip


def write_study(directory, data, rows, seed=0):
    """Write what a comparison reads of a study: rows are (method, threshold, out of fold, test)."""
    directory.mkdir(parents=True)
    question = {"data": data, "n_test": 100, "seed": seed}
    (directory / "summary.json").write_text(json.dumps({"version": "1", "question": question}))
    table = [
        BASE
        | {"method": method, "name": method, "threshold": threshold, "out_of_fold_savings": oof, "test_savings": test}
        for method, threshold, oof, test in rows
    ]
    pl.DataFrame(table, schema_overrides={"vote_weight": pl.String, "calibration": pl.String}).write_parquet(
        directory / "results.parquet"
    )


def test_a_method_is_chosen_on_other_records_than_it_is_measured_on(tmp_path):
    for k in range(3):
        write_study(
            tmp_path / str(k), f"set {k}",
            [("rf", "cost", 0.5, 0.3), ("rf", "half", 0.4, 0.9), ("bg", "cost", 0.1, 0.31)],
        )  # fmt: skip
    found = compare([tmp_path])
    assert [place.name for place in found.places] == ["bg", "rf"]
    assert found.figures["rf"].to_list() == [0.3] * 3  # not 0.9, which only the test records tell
    assert found.friedman is None
    assert found.places[0].wins == 3


def test_splits_are_averaged_and_a_new_method_enters_with_a_study_of_its_own(tmp_path):
    for k in range(2):
        for seed in range(2):
            rows = [("rf", "cost", 0.5, 0.2 + 0.2 * seed), ("bg", "cost", 0.1, 0.1)]
            write_study(tmp_path / f"old-{k}-{seed}", f"set {k}", rows, seed)
    write_study(tmp_path / "new-0", "set 0", [("urf", "cost", 0.6, 0.5)])
    found = compare([tmp_path])
    assert found.left_out == {"urf": 1}
    assert found.figures["rf"].to_list() == pytest.approx([0.3, 0.3])
    write_study(tmp_path / "new-1", "set 1", [("urf", "cost", 0.6, 0.5)])
    found = compare([tmp_path])
    assert [place.name for place in found.places] == ["urf", "rf", "bg"]
    assert found.places[0].rank == 1


def planted(tmp_path, n_sets=8):
    """Studies in which the threshold decides, the forest helps a little, and nothing else does."""
    rng = np.random.default_rng(0)
    gain = {"cost": 0.4, "tuned": 0.3, "half": 0.0}
    for k in range(n_sets):
        rows = []
        for method, threshold in product(("bg", "rf", "urf", "ubg"), gain):
            value = gain[threshold] + 0.05 * method.endswith("rf") + rng.normal(scale=0.02)
            rows.append((method, threshold, value, value))
        write_study(tmp_path / str(k), f"set {k}", rows)
    return compare([tmp_path])


def test_components_that_matter_are_told_from_those_that_do_not(tmp_path):
    found = {component.name: component for component in planted(tmp_path).components}
    assert list(found)[:2] == ["threshold", "ensemble"]
    assert found["threshold"].share > 0.7
    assert found["threshold"].low < found["threshold"].share < found["threshold"].high
    assert 0.02 < found["ensemble"].share < 0.2
    assert found["sampling"].share < 0.02
    assert [level.name for level in found["threshold"].levels] == ["cost", "tuned", "half"]
    assert found["threshold"].levels[0].rank < 0.25 < 0.75 < found["threshold"].levels[-1].rank


def test_shares_are_those_of_scikit_learns_regression(tmp_path):
    from sklearn.linear_model import LinearRegression

    found = planted(tmp_path)
    table = pl.concat([source.results.with_columns(pl.lit(source.data).alias("data")) for source in found.sources])
    table = table.with_columns(
        ((pl.col("test_savings").rank(descending=True) - 1) / (pl.len() - 1)).over("data").alias("rank"),
        pl.col("name").str.ends_with("rf").alias("forest"),
        pl.col("name").str.starts_with("u").alias("under"),
    )
    one_hot = table.select("forest", "under", "threshold").to_dummies()
    y = table["rank"].to_numpy()

    def r2(columns):
        X = one_hot.select(columns).to_numpy()
        return LinearRegression().fit(X, y).score(X, y)

    without = [name for name in one_hot.columns if not name.startswith("threshold")]
    expected = r2(one_hot.columns) - r2(without)
    share = next(component.share for component in found.components if component.name == "threshold")
    assert share == pytest.approx(expected, abs=1e-9)


def test_the_page_shows_every_method_loads_nothing_and_escapes_names(tmp_path):
    names = ("rf", "bg", "<b>urf</b>")
    for k in range(4):
        rows = [(name, "cost", 0.5 + 0.1 * i, 0.5 + 0.1 * i + 0.01 * k) for i, name in enumerate(names)]
        write_study(tmp_path / str(k), f"<i>{k}</i>", rows)
    found = compare([tmp_path])
    page = render(found)
    assert "&lt;b&gt;urf&lt;/b&gt;" in page
    assert "<b>urf" not in page
    assert "<i>0" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page == render(compare([tmp_path]))
    drawn = diagram(found)
    assert [label["name"] for label in drawn["labels"]] == [place.name for place in found.places]
    assert sorted(label["x"] for label in drawn["labels"]) == [label["x"] for label in drawn["labels"]]
    alone = ElementTree.parse(write_diagram(found, tmp_path / "diagram.svg")).getroot()
    texts = [text.text for text in alone.iter("{http://www.w3.org/2000/svg}text")]
    assert {f"{place.name} ({place.rank:.2f})" for place in found.places} <= set(texts)


def test_the_command_writes_a_page_and_figures_and_replaces_neither(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k in range(3):
        write_study(tmp_path / "all" / str(k), f"set {k}", [("rf", "cost", 0.5, 0.3), ("bg", "cost", 0.1, 0.2)])
    said = CliRunner().invoke(app, ["compare", "all", "--out", "page.html"])
    assert said.exit_code == 0, said.output
    assert pl.read_csv("page.csv")["rf"].to_list() == [0.3] * 3
    again = CliRunner().invoke(app, ["compare", "all", "--out", "page.html"])
    assert again.exit_code == 2
    assert "page.html exists" in again.output
    assert CliRunner().invoke(app, ["compare", "all", "--out", "page.html", "--overwrite"]).exit_code == 0
    assert "ends in .html" in CliRunner().invoke(app, ["compare", "all", "--out", "page"]).output


def test_what_cannot_be_compared_is_said(tmp_path):
    with pytest.raises(StudyError, match="is no finished study"):
        compare([tmp_path])
    write_study(tmp_path / "a", "a", [("rf", "cost", 0.5, 0.3)])
    with pytest.raises(StudyError, match="fewer than two methods"):
        compare([tmp_path / "a"])
    with pytest.raises(StudyError, match="bg: not in all 1 data sets"):
        compare([tmp_path / "a"], methods=["rf", "bg"])
    with pytest.raises(StudyError, match=r"^bg: not in all 1 data sets"):
        compare([tmp_path / "a"], methods="bg")
    with pytest.raises(StudyError, match="its results have no out_of_fold_g_mean"):
        compare([tmp_path / "a"], measure="g_mean")
    with pytest.raises(StudyError, match="cannot be compared by 'acted'"):
        compare([tmp_path / "a"], measure="acted")
    with pytest.raises(StudyError, match="cannot be compared by 'cost': choose one of savings"):
        compare([tmp_path / "a"], measure="cost")
    (tmp_path / "a" / "results.parquet").write_bytes(b"no")
    with pytest.raises(StudyError, match="cannot be read as a finished study"):
        compare([tmp_path / "a"])
