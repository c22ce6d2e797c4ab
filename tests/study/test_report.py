"""What the report says and holds, without a browser."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report_summary import N_TEST, make_summary, with_strings

from stakes.exceptions import StudyError
from stakes.measures import MEASURES
from stakes.study.advice import advise
from stakes.study.report import render, render_card, write_report
from stakes.study.report.figures import cost_figure, gain_figure, points_of, reliability_figure, roc_figure
from stakes.study.report.view import printable
from stakes.study.report.wording import measure_of, money, percent, training

ATTACKS = (
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "<img src=x onerror=window.hacked=1>",
    '" onmouseover="window.hacked=1" x=\'',
    "</title></style></textarea><svg onload=window.hacked=1>",
    "<a href='javascript:window.hacked=1'>b</a>",
    "%{x} ${x} {{x}} &lt;b&gt; &amp;",
)
VOID = {"input", "link", "meta"}


class Reader(HTMLParser):
    """Reads a page as a browser would: its elements, its text, and whether everything opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: dict[str, list[str]] = {"all": []}
        self.comments = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        kind = self.open[-1] if self.open else ""
        self.text.setdefault(kind, []).append(data)
        if kind not in ("script", "style"):
            self.text["all"].append(data)

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    @property
    def words(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.text["all"]))


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    return make_summary()


@pytest.fixture(scope="module")
def page(summary: dict[str, Any]) -> Reader:
    return Reader(render(summary))


def embedded(page: str, key: str) -> str:
    """Return the data that the page holds for its script."""
    found = re.search(rf'<script type="[a-z/]*" id="{key}">(.*?)</script>', page, re.DOTALL)
    assert found
    return found[1]


def changed(summary: dict[str, Any], **parts: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with some entries of its parts replaced."""
    new = copy.deepcopy(summary)
    for name, entries in parts.items():
        new[name].update(entries)
    return new


def test_the_same_summary_gives_the_same_bytes(summary: dict[str, Any]) -> None:
    assert render(summary) == render(json.loads(json.dumps(summary)))


def test_rendering_leaves_the_summary_as_it_is(summary: dict[str, Any]) -> None:
    before = copy.deepcopy(summary)
    render(summary)
    assert summary == before


def test_every_element_is_closed_and_ids_are_unique(page: Reader) -> None:
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for reference in ("aria-labelledby", "aria-describedby", "for"):
            assert attributes.get(reference) in {None, *ids}
        if (attributes.get("href") or "").startswith("#"):
            assert (attributes["href"] or "")[1:] in ids


def test_nothing_is_loaded_from_elsewhere(page: Reader) -> None:
    for _, attributes in page.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith(("#", "data:"))
    assert "url(" not in "".join(page.text["style"])
    assert "@import" not in "".join(page.text["style"])


def test_the_first_sentence_says_what_to_do_and_how_sure_it_is(summary: dict[str, Any], page: Reader) -> None:
    advice = advise(summary)
    assert f"What to do {advice.act} {advice.saves} {advice.sure} {advice.expected}" in page.words
    chosen, found = summary["chosen"], summary["money"]
    cost = found["chosen"]["cost"] / N_TEST
    low, high = (money(found["chosen"][end] / N_TEST) for end in ("low", "high"))
    assert f"they cost {money(cost)} per record (95% sure: {low} to {high})" in page.words
    assert f"It finds {percent(chosen['tpr'])} of the records with Churn = Yes" in page.words
    assert chosen["reason"] in page.words


def test_the_decision_is_told_in_plain_words_with_its_names_beside(summary: dict[str, Any], page: Reader) -> None:
    chosen = summary["chosen"]
    assert "the model (AdaCost)" in page.words
    assert f"In the study: acost, {chosen['description']}, trained on each record’s costs." in page.words
    follows = changed(summary, chosen={"follows_costs": True, "output": "average"})
    words = Reader(render(follows)).words
    assert (
        "gives each record a probability of Churn = Yes, and acts where that is above the record’s break-even" in words
    )
    assert "are expected to cost the same: 14.3%." in words
    follows["records"]["thresholds"] = [0.02, 0.4]
    assert "the same: 2.0% to 40.0% for nine records in ten." in Reader(render(follows)).words
    follows["chosen"]["threshold"] = "scaled"
    assert "the same, times a factor (of its odds) that was chosen on the" in Reader(render(follows)).words
    fixed = changed(summary, chosen={"follows_costs": False, "output": "vote"})
    assert "vote on each record, and it acts where their share is above 14.3%." in Reader(render(fixed)).words


def test_savings_are_told_against_every_policy_and_rival(summary: dict[str, Any], page: Reader) -> None:
    found = summary["money"]
    titles = (
        "acting on none", "acting on all", "logistic regression, above break-even",
        "gradient boosting, above break-even",
        "the best model that ignores costs, rf",
    )  # fmt: skip
    others = (*found["policies"], *found["rivals"], found["insensitive"])
    for title, other in zip(titles, others, strict=True):
        if other is not found["insensitive"]:
            saved, low, high = (
                money(1000 * amount / N_TEST)
                for amount in (other["cost"] - found["chosen"]["cost"], *other["saved"].values())
            )
            assert f"{saved} saved per 1,000 records, against {title}" in page.words
            assert f"95% sure: {low} to {high}" in page.words
        assert f"{title} {money(other['cost'] / found['test_records'])} {money(other['out_of_fold'])}" in page.words


def test_a_model_that_does_not_pay_off_is_called_so(summary: dict[str, Any]) -> None:
    new = copy.deepcopy(summary)
    cost = new["money"]["chosen"]["cost"]
    new["money"]["policies"][1].update(cost=cost - 5.0 * N_TEST, saved={"low": -6.0 * N_TEST, "high": -2.0 * N_TEST})
    words = Reader(render(new)).words
    assert "What to do Use no model: acting on all is at least as cheap." in words
    assert "5,000 lost per 1,000 records, against acting on all" in words
    assert "−6,000 to −2,000" in words


def test_an_advantage_whose_interval_reaches_zero_is_called_chance(summary: dict[str, Any]) -> None:
    def told(page: str) -> bool:
        return "may be chance" in page.split('class="tile ')[2]  # that of acting on all

    assert not told(render(summary))
    new = copy.deepcopy(summary)
    new["money"]["policies"][1]["saved"]["low"] = -1.0
    assert "That may be chance (95%: " in Reader(render(new)).words
    assert told(render(new))


def test_a_rival_that_is_the_recommended_model_is_no_alternative_to_itself(summary: dict[str, Any]) -> None:
    new = copy.deepcopy(summary)
    new["money"]["rivals"][0] |= {"name": "acost", "cost": new["money"]["chosen"]["cost"]}
    words = Reader(render(new)).words
    assert "against AdaCost" not in words
    assert "against gradient boosting" in words


def test_a_file_trained_on_the_test_records_too_is_not_called_the_model_measured(summary: dict[str, Any]) -> None:
    words = Reader(render(changed(summary, question={"refit": "all"}))).words
    assert "best.skops was then trained on the test records, too" in words
    assert "trained on the learning and test records" in words


def test_methods_that_were_not_tried_are_named(summary: dict[str, Any]) -> None:
    assert "untried" not in Reader(render(summary)).words
    words = Reader(render(changed(summary, question={"not_tried": ["csrf", "dab"]}))).words
    assert "The time limit left 2 methods untried csrf, dab" in words


def test_methods_that_could_not_be_trained_are_named_with_the_reason(summary: dict[str, Any]) -> None:
    assert "could not be trained" not in Reader(render(summary)).words
    words = Reader(render(changed(summary, question={"not_trained": {"theirs": "worse than random"}}))).words
    assert "On these data 1 method could not be trained theirs: worse than random" in words


def test_costs_of_the_day_are_promised_only_where_the_model_follows_them(summary: dict[str, Any]) -> None:
    follows = Reader(render(changed(summary, chosen={"follows_costs": True}))).words
    does_not = Reader(render(changed(summary, chosen={"follows_costs": False}))).words
    assert "nothing needs to be trained again" in follows
    assert "nothing needs to be trained again" not in does_not
    assert "Costs have changed? Run the study again" in does_not


def test_equal_models_are_one_row_with_their_names(summary: dict[str, Any], page: Reader) -> None:
    (row,) = (row for row in summary["leaderboards"]["out_of_fold"] if row["same_as"])
    assert f"and 1 other that decided alike {row['same_as'][0]}" in page.words


def test_both_leaderboards_have_all_rows_in_order(summary: dict[str, Any]) -> None:
    page = render(summary)
    boards = page.split('<div class="board"')[1:]
    for board, rows in zip(boards, summary["leaderboards"].values(), strict=True):
        shown = re.findall(r'<th scope="row" class="model"[^>]*><code>([^<]*)</code>', board)
        assert shown == [row["name"] for row in rows]
    assert "what you can trust" in boards[0]
    assert "how papers report" in boards[1]


def test_columns_without_numbers_and_the_measure_itself_are_not_told_twice() -> None:
    def titles(page: str) -> set[str]:
        return set(re.findall(r'<button type="button" title="[^"]*" data-first="[^"]*">([^<]*)<', page))

    assert titles(render(make_summary())) == {
        "#", "Model", "Out of fold", "Test", "Behind the best", "Savings", "Share found", "False alarms", "Acted on",
        "AUC",
    }  # fmt: skip
    assert titles(render(make_summary(imbalance=True))) == {
        "#", "Model", "Out of fold", "Test", "Behind the best", "Share found", "False alarms", "Acted on", "AUC"
    }  # fmt: skip
    in_savings = titles(render(changed(make_summary(), question={"measure": "savings"})))
    assert "Cost" in in_savings
    assert "Savings" not in in_savings


def test_models_over_the_limit_are_marked(summary: dict[str, Any]) -> None:
    page = render(summary)
    assert page.count(">over the limit<") == 2 * sum(
        not row["in_limits"] for row in summary["leaderboards"]["out_of_fold"]
    )


def test_long_leaderboards_are_cut_and_say_so(summary: dict[str, Any]) -> None:
    new = copy.deepcopy(summary)
    new["leaderboards"]["out_of_fold"] *= 12
    assert "The first 500 of 576. All are in leaderboard.csv." in Reader(render(new)).words


def test_without_costs_there_is_no_word_of_money() -> None:
    summary = make_summary(imbalance=True)
    page = Reader(render(summary))
    assert "No costs were given." in page.words
    assert "is expected to reach balanced accuracy of 0." in page.words
    assert not {"figure-cost", "figure-gain", "sensitivity", "play", "records"} & {
        a.get("id") for _, a in page.elements
    }
    assert {"figure-roc", "figure-reliability"} <= {a.get("id") for _, a in page.elements}
    said = page.words.split("Terms in plain words")[1].split("Acted on called")[0]
    assert "saved" not in said
    assert "money" not in said


@pytest.mark.parametrize("imbalance", [False, True])
def test_a_study_in_which_nothing_kept_the_limits_still_has_a_report(imbalance: bool) -> None:
    summary = changed(
        make_summary(imbalance=imbalance),
        question={"max_fpr": 0.001, "max_acted": 0.05, "notes": ["1 column was constant"]},
        leaderboards={"out_of_fold": [], "test": []},
    )
    summary |= {"chosen": None, "curves": [], "iso_cost": None, "importance": [], "sensitivity": [], "tree": None}
    summary |= {"records": None}
    if summary["money"]:
        summary["money"] |= {"rivals": [], "insensitive": None, "chosen": None}
    page = Reader(render(summary))
    assert "No model keeps to the limits" in page.words
    assert "at most 0.1% of the records that need no action and acting on at most 5.0% of all records" in page.words
    assert "1 column was constant" in page.words
    assert not {"closer", "features", "sensitivity", "use"} & {a.get("id") for _, a in page.elements}


def test_numbers_that_are_missing_or_not_finite_do_no_harm(summary: dict[str, Any]) -> None:
    new = copy.deepcopy(summary)
    nan, inf = float("nan"), float("inf")
    new["leaderboards"]["out_of_fold"][3].update(auc=nan, fpr=None, low=nan, out_of_fold=None)
    new["curves"][0]["cost_curve"]["threshold"][0] = -inf
    new["curves"][0].update(threshold=inf, reliability=None)
    new["curves"][1].update(gain=None, point=None, roc=None, threshold=nan)
    new["iso_cost"]["lines"][0]["cost"] = nan
    new["importance"][1]["value"] = nan
    new["sensitivity"][0]["savings"] = None
    new["leaderboards"]["out_of_fold"][4]["difference"] = None
    new["money"].update(insensitive=None)
    new["money"]["chosen"].update(low=None, high=None)
    new["money"]["policies"][0]["saved"] = None
    new["chosen"]["expected"] = None
    page = render(new)
    figures = json.loads(embedded(page, "figures"), parse_constant=pytest.fail)
    assert set(figures) == {"cost", "gain", "roc", "reliability"}
    assert not re.search(r"\b(nan|inf|None)\b", Reader(page).words)


def test_every_part_of_the_configuration_is_told(summary: dict[str, Any], page: Reader) -> None:
    for fact in (
        "7,043 records", "26.5%", "2 * MonthlyCharges", "12 * MonthlyCharges", "62 methods", "12,345 models",
        "558 ensembles", "Trees of an ensemble 100", "Seed 0", "Version stakes 0.1.0",
        "stakes apply best.skops NEW.csv",
    ):  # fmt: skip
        assert fact in page.words
    terms = page.text["dt"]
    assert {"A miss", "False alarm", "Break-even", "Out of fold", "Blend, team"} <= set(terms)
    assert not re.search(r"DMECC|MEC|MTA|T_cs|T_thr|eps|FPR|TPR", " ".join(terms))


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_of_the_study_has_words(measure: str, summary: dict[str, Any]) -> None:
    words = Reader(render(changed(summary, question={"measure": measure}))).words
    assert MEASURES[measure].title in words


def test_a_measure_of_a_later_version_is_shown_by_its_name() -> None:
    assert measure_of("of a later version").words == "of a later version"


def test_savings_at_other_costs_are_all_listed(summary: dict[str, Any], page: Reader) -> None:
    for row in summary["sensitivity"]:
        assert (
            " ".join(
                (*(money(1000 * row[of] / N_TEST) for of in ("nothing", "at_most", "cost")), percent(row["savings"]))
            )
            in page.words
        )
    assert "It would pay off in each case" in page.words
    new = copy.deepcopy(summary)
    new["sensitivity"][1]["savings"] = -0.1
    assert "It would not pay off in 1 case of 5." in Reader(render(new)).words


def test_each_figure_says_what_to_see_in_it(summary: dict[str, Any]) -> None:
    chosen = {
        "name": "m", "threshold": 0.5, "cost": 300.0,
        "cost_curve": {"threshold": [0.0, 0.25, 0.5], "cost": [900.0, 100.0, 300.0]},
        "roc": {"fpr": [0, 1], "tpr": [0, 1]}, "point": {"fpr": 0.125, "tpr": 0.75},
        "gain": {"share": [0.0, 0.25, 1.0], "saving": [0.0, 800.0, -50.0]},
        "reliability": {"predicted": [0.1, 0.5], "observed": [0.2, 0.5], "count": [30, 10]},
    }  # fmt: skip
    words = Reader(render({**summary, "curves": [chosen]})).words
    assert (
        "as little as 100.00, at 0.25. The one it uses, 0.5 (dot), was set without seeing these records and costs "
        "300.00" in words
    )
    assert "finds 75.0% of the records worth acting on, and disturbs 12.5% of the others" in words
    assert "Acting on the 25.0% of records that the recommended model scores highest would save most: 800.00" in words
    assert "off by 7.5 percentage points on average" in words
    others = {"threshold": None, "gain": None, "reliability": None}
    words = Reader(render({**summary, "curves": [chosen | others, chosen | {"cost_curve": None}]})).words
    assert "a threshold of each record’s own" in words
    assert "does not rank records" in words
    assert "votes are not probabilities" in words


def test_features_come_with_their_share(summary: dict[str, Any], page: Reader) -> None:
    first = [row["value"] for row in summary["importance"]]
    assert f"make up {percent(sum(first[:3]) / sum(first))} of" in page.words
    assert "And 4 features with less." in page.words
    one = {**summary, "importance": [{"feature": "a", "value": 1234.0}]}
    assert "a makes up 100% of what moves the expected saving of acting on a record" in Reader(render(one)).words
    moved = {**summary, "importance": [{"feature": "c", "value": 3.0}, {"feature": "b", "value": 1.0}]}
    words = Reader(render(moved)).words
    assert "c and b make up 100% of what moves the expected saving of acting on a record" in words
    assert "c 3.00 b 1.00" in words
    words = Reader(render({**make_summary(imbalance=True), "importance": moved["importance"]})).words
    assert "c and b make up 100% of what moves the score of a record" in words
    assert "c 75.0% b 25.0%" in words


# ---- Figures


def test_the_dot_lies_on_the_staircase_at_the_threshold_in_use() -> None:
    curve = {"threshold": [0.0, 0.2, 0.4, 0.6], "cost": [9, 4, 6, 8]}
    figure = cost_figure([{"name": "m", "threshold": 0.45, "cost": 5.5, "cost_curve": curve}])
    assert figure
    line, dot = figure["lines"]
    assert (line["points"], line["steps"]) == ([[0.0, 9], [0.2, 4], [0.4, 6], [0.6, 8]], True)
    assert dot["points"] == [[0.45, 5.5]]  # the curve is thinned, the cost is not


def test_the_chosen_model_is_drawn_on_top(summary: dict[str, Any]) -> None:
    for figure in (
        cost_figure(summary["curves"]),
        roc_figure(summary["curves"], summary["iso_cost"]),
        gain_figure(summary["curves"]),
        reliability_figure(summary["curves"]),
    ):
        assert figure
        models = [line["model"] for line in figure["lines"] if line["model"] is not None]
        assert models == sorted(models, reverse=True)
        assert set(models) == set(range(5))


def test_lines_of_equal_cost_are_drawn_from_end_to_end(summary: dict[str, Any]) -> None:
    figure = roc_figure(summary["curves"], summary["iso_cost"])
    assert figure
    lines = [line for line in figure["lines"] if line["model"] is None]
    for drawn, line in zip(lines, summary["iso_cost"]["lines"], strict=True):
        assert [x for x, _ in drawn["points"]] == pytest.approx(line["fpr"], abs=1e-4)
        assert [y for _, y in drawn["points"]] == pytest.approx(line["tpr"], abs=1e-4)
        assert money(line["cost"]) in drawn["name"]


def test_the_limit_on_actions_is_drawn(summary: dict[str, Any]) -> None:
    figure = gain_figure(summary["curves"], max_acted=0.1)
    assert figure
    (limit,) = (line for line in figure["lines"] if line["model"] is None)
    assert [x for x, _ in limit["points"]] == [0.1, 0.1]


def test_figures_without_points_are_none() -> None:
    curve = {"name": "m", "gain": None, "roc": {"fpr": [], "tpr": []}}
    assert gain_figure([curve]) is None
    assert roc_figure([curve], None) is None
    assert cost_figure([]) is None
    assert points_of({"gain": {"share": [0, None], "saving": [1, 2]}}, "gain", "share", "saving") == [(0, 1)]


def test_axes_end_where_nothing_more_happens() -> None:
    rare = {
        "name": "m", "threshold": 0.01, "cost": 50.0,
        "cost_curve": {"threshold": [0.0, 0.02, 0.5], "cost": [90.0, 4.0, 8.0]},
        "roc": {"fpr": [0, 0.004, 1], "tpr": [0, 0.8, 1]}, "point": {"fpr": 0.004, "tpr": 0.8},
        "gain": {"share": [0.0, 0.006, 1.0], "saving": [0.0, 800.0, -50.0]},
        "reliability": {"predicted": [0.0, 0.1], "observed": [0.001, 0.2], "count": [9000, 10]},
    }  # fmt: skip
    drawn = (cost_figure([rare]), roc_figure([rare], None), gain_figure([rare]), reliability_figure([rare]))
    ends = [figure["x"]["range"][1] for figure in drawn if figure]
    assert ends == pytest.approx([0.1, 0.02, 0.03, 0.22])
    cost, _, gain, _ = drawn
    assert cost
    assert gain
    assert cost["y"]["range"] == [0, 16.0]  # twice the cheaper of acting on all and on none
    assert gain["lines"][0]["points"] == [
        [0.0, 0.0],
        [0.006, 800.0],
    ]  # the loss of acting on all does not stretch the other axis
    limited = gain_figure([rare], max_acted=0.05)
    assert limited
    assert limited["x"]["range"] == [0, 0.25]
    common = rare | {"point": {"fpr": 0.3, "tpr": 0.8}, "threshold": None, "roc": rare["roc"]}
    figure = roc_figure([rare, common], None)
    assert figure
    assert figure["x"]["range"] == [0, 1]


# ---- Hostile strings


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_string_of_the_summary_becomes_markup(attack: str) -> None:
    harmless = Reader(render(with_strings(make_summary(), lambda text: "x")))
    hostile = Reader(render(with_strings(make_summary(), lambda text: attack)))
    assert hostile.open == []
    assert hostile.comments == 0
    # The same elements with the same attributes: only values differ.
    assert [(name, list(attributes)) for name, attributes in hostile.elements] == [
        (name, list(attributes)) for name, attributes in harmless.elements
    ]
    assert attack in hostile.words


def test_the_script_is_the_same_whatever_the_summary_says_and_the_policy_allows_it_alone() -> None:
    def script_and_policy(page: str) -> tuple[str, str]:
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
        return script, policy

    script, policy = script_and_policy(render(make_summary()))
    assert script_and_policy(render(with_strings(make_summary(), lambda text: ATTACKS[0]))) == (script, policy)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.replace("&#39;", "'").split("; ")[:2] == ["default-src 'none'", f"script-src 'sha256-{digest}'"]


def test_json_in_a_script_cannot_end_it() -> None:
    attack = "</script><!--<script>]]>&\u2028"
    data = embedded(render(with_strings(make_summary(), lambda text: attack)), "figures")
    assert not set("<>&\u2028") & set(data)
    assert json.loads(data)["roc"]["lines"][-1]["name"] == attack


def test_text_that_no_encoding_takes_is_replaced() -> None:
    value = {"a": ["a\x00\ud800\u202eb\tc\n", 1, None]}
    assert printable(value) == {"a": ["a\ufffd\ufffd\ufffdb\tc\n", 1, None]}
    hostile = with_strings(make_summary(), lambda text: text + "\ud800\x00\u202e")
    assert "churn.csv\ufffd" in render(hostile).encode().decode()


# ---- Words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0.00"), (0.5, "0.50"), (1e-9, "1e-09"), (12, "12.00"), (12.3, "12.30"), (999.999, "1,000"),
        (1234.5, "1,234"), (-85_000.4, "−85,000"), (1e300, "1e+300"), (float("inf"), "–"), (None, "–"),
    ],
)  # fmt: skip
def test_money_is_as_precise_as_its_size(value: float | None, shown: str) -> None:
    assert money(value) == shown


def test_training_is_told_in_words() -> None:
    assert training({"train_costs": "none"}) == "trained on no costs"
    assert training({"train_costs": "1:6", "decision_costs": "real"}) == "trained on costs 1:6"
    assert (
        training({"train_costs": "record", "decision_costs": "1:20"})
        == "trained on each record’s costs, decides by 1:20"
    )
    assert training({}) is None


# ---- Files


def test_the_report_is_written_next_to_the_summary(tmp_path: Path, summary: dict[str, Any]) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    path = write_report(tmp_path)
    assert path == tmp_path / "report.html"
    assert path.read_bytes() == render(summary).encode()
    assert len(path.read_bytes()) < 500_000
    assert (tmp_path / "model-card.md").read_text(encoding="utf-8") == render_card(summary)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model-card.md", "report.html", "summary.json", "written.json"
    ]  # fmt: skip


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", '{"money": null}', '"text"', "\x80"])
def test_a_summary_that_cannot_be_read_is_refused_and_the_old_report_kept(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "report.html").write_text("old")
    if content is not None:
        (tmp_path / "summary.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(StudyError, match=re.escape(str(tmp_path))) as caught:
        write_report(tmp_path)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "report.html").read_text() == "old"


def test_a_report_that_cannot_be_written_is_one_clear_error(tmp_path: Path, summary: dict[str, Any]) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "report.html").mkdir()
    with pytest.raises(StudyError, match=r"cannot write .*report\.html"):
        write_report(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["report.html", "summary.json"]


def test_a_summary_that_is_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.json").mkdir()
    with pytest.raises(StudyError, match=r"cannot read .*summary\.json"):
        write_report(tmp_path)


def test_a_model_without_scores_or_intervals_is_reported_without_them(summary: dict[str, Any]) -> None:
    new = copy.deepcopy(summary)
    new["curves"][0]["cost_curve"] = None
    for row in new["sensitivity"]:
        row["savings"] = None
    page = Reader(render(new))
    assert "The recommended model has no scores to put a threshold on." in page.words
    assert "It would pay off" not in page.words
    new["chosen"]["expected"] = None
    assert "90% sure: " not in Reader(render(new)).words
