"""The report in a real browser: it is drawn, sorted, filtered, and cannot be broken into.

Needs a Chromium of the system (it is never downloaded) and the package `playwright`; skipped otherwise.
"""

from __future__ import annotations

import base64
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from report_summary import N_TEST, make_summary, with_strings

from stakes._format import money
from stakes.study.report import render

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
ATTACKS = [
    "</script><script>window.hacked=1</script>",
    "<!--<script>",
    "<img src=x onerror=window.hacked=1>",
    '" onmouseover="window.hacked=1" autofocus onfocus="window.hacked=1" x=\'',
    "</title></style><svg onload=window.hacked=1>",
    "<a href='javascript:window.hacked=1'>b</a>",
    "<b>%{x}</b>&lt;i&gt;`${window.hacked=1}`",
]

# Attributes that would run something.
HANDLERS = """[...document.querySelectorAll("*")].flatMap((element) =>
  [...element.attributes].map((attribute) => attribute.name).filter((name) => name.startsWith("on")))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser with an empty profile of its own, as playwright makes it."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page that was opened, and all that it complained of or asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-drawn]", timeout=20_000)

    def played(self, name: str) -> float:
        """Return a figure that depends on the sliders."""
        return float(self.page.locator(f"[data-play={name}]").get_attribute("data-value"))

    def slide(self, name: str, value: int) -> None:
        self.page.locator(f"#{name}").fill(str(value))

    def restore(self) -> None:
        page = self.page
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_role("tab").first.click()
        page.get_by_role("button", name="Reset").click()
        page.get_by_role("button", name="Start again").click()
        page.get_by_label("the best of each method").uncheck()
        for button in page.get_by_role("button", name="Show the first 15").all():
            button.click()
        while self.sorted_by() != {"#": "ascending"}:
            self.header("#").click()

    def names(self, board: str = "out_of_fold") -> list[str]:
        """Return the models of the rows that are shown, in order."""
        return self.page.locator(f"#board-{board} tbody tr:visible th > code").all_inner_texts()

    def values(self, column: str, board: str = "out_of_fold") -> list[float]:
        """Return the numbers of a column in the rows that are shown."""
        return self.page.evaluate(
            """([board, title]) => {
              const table = document.querySelector(`#board-${board} table`);
              const header = [...table.tHead.rows[0].cells].find((cell) => cell.textContent === title);
              return [...table.tBodies[0].rows].filter((row) => !row.hidden)
                .map((row) => Number(row.cells[header.cellIndex].dataset.value));
            }""",
            [board, column],
        )

    def header(self, title: str, board: str = "out_of_fold") -> Any:
        return self.page.locator(f"#board-{board} thead button", has_text=re.compile(f"^{re.escape(title)}$"))

    def sorted_by(self, board: str = "out_of_fold") -> dict[str, str]:
        cells = self.page.locator(f"#board-{board} thead th:not([aria-sort=none])").all()
        return {cell.text_content(): cell.get_attribute("aria-sort") for cell in cells}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    path = folder / "report.html"
    path.write_text(render(make_summary()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(browser: Any, report: Path) -> Iterator[Visit]:
    visit = Visit(browser, report)
    yield visit
    visit.context.close()


@pytest.fixture
def visit(opened: Visit) -> Visit:
    """The report as it was when it was opened: loading it for every test would take too long."""
    opened.restore()
    return opened


def test_it_loads_without_complaints_and_asks_for_nothing(visit: Visit, report: Path) -> None:
    assert visit.complaints == []
    assert visit.requests == [report.as_uri()]


def test_all_figures_are_drawn(visit: Visit) -> None:
    for name, lines in {"cost": 5, "gain": 5, "roc": 5 + 3, "reliability": 5 + 1, "play": 1}.items():
        drawn = visit.page.locator(f"#figure-{name} svg.chart polyline.line, #figure-{name} svg.chart polyline.dotted")
        assert drawn.count() == lines
        assert all(len(line.get_attribute("points")) > 10 for line in drawn.all())
        assert visit.page.locator(f"#figure-{name} text.tick").count() >= 6
    assert visit.page.locator("#figure-roc .dots circle").count() == 5
    assert 300 < visit.page.locator("#figure-cost svg").bounding_box()["width"] < 700


def test_the_numbers_of_an_axis_do_not_lie_on_its_title(visit: Visit) -> None:
    for name in ("cost", "gain", "roc", "reliability", "play"):
        title = visit.page.locator(f"#figure-{name} text.title").last.bounding_box()
        for tick in visit.page.locator(f"#figure-{name} text.tick[text-anchor=end]").all():
            assert tick.bounding_box()["x"] > title["x"] + title["width"]


def test_the_pointer_is_told_what_is_near(visit: Visit) -> None:
    figure = visit.page.locator("#figure-roc")
    figure.scroll_into_view_if_needed()
    dot = figure.locator(".dots circle.m0").bounding_box()
    visit.page.mouse.move(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    point = make_summary()["curves"][0]["point"]
    expected = f"dm-bg: false alarms {100 * point['fpr']:.1f}%, found {100 * point['tpr']:.1f}%"
    assert figure.locator(".tip").inner_text() == expected
    visit.page.mouse.move(0, 0)
    assert figure.locator(".tip").is_hidden()


# ---- Sliders


class Sums(NamedTuple):
    """What comes of acting on some of the records that the page holds."""

    cost: float
    saved: float
    acted: int


def worked_out(records: dict[str, Any], miss: float = 1.0, act: float = 1.0, share: float | None = None) -> Sums:
    """Return what the page must say, worked out anew."""

    def array(name: str, dtype: str) -> Any:
        return np.frombuffer(base64.b64decode(records[name]), dtype)

    y, p, critical = array("positive", "u1") == 1, array("probability", "<f4"), array("critical", "<f4")
    fp, fn, cost = array("fp", "<f4"), array("fn", "<f4"), array("cost", "<f8")
    own = miss / act > critical
    if share is not None:
        saves = p.astype(float) * fn * miss - (1 - p.astype(float)) * fp * act
        first = np.lexsort((-saves, ~own))[: int(np.ceil(share * y.size - 1e-9))]
        own = np.isin(np.arange(y.size), first)
    total = miss * cost[y & ~own].sum() + act * cost[~y & own].sum()
    return Sums(total, min(miss * cost[y].sum(), act * cost[~y].sum()) - total, int(own.sum()))


def test_unmoved_the_sliders_give_the_figures_of_the_study_to_the_cent(visit: Visit) -> None:
    records = make_summary()["records"]
    totals = records["totals"]
    cost = totals["missed"] + totals["wasted"]
    assert visit.played("cost") == pytest.approx(cost, abs=0.005)
    saved = min(totals["nothing"], totals["everything"]) - cost
    assert visit.played("saved") == pytest.approx(saved, abs=0.005)
    assert visit.played("acted") == totals["found"] + totals["alarms"]
    assert visit.page.locator("[data-play=saved]").inner_text() == f"{money(1000 * saved / records['n'])} saved"
    assert visit.page.locator("[data-play=policy]").inner_text() == "per 1,000 records, against acting on all"
    assert "as the model decides" in visit.page.locator("[data-play=share]").inner_text()


def test_costs_that_are_moved_change_decisions_and_savings(visit: Visit) -> None:
    records = make_summary()["records"]
    for miss, act, factors in ((8, 5, (2.0, 1.0)), (5, 8, (1.0, 2.0)), (2, 9, (0.5, 3.0)), (10, 0, (4.0, 0.25))):
        visit.slide("miss", miss)
        visit.slide("act", act)
        expected = worked_out(records, *factors)
        assert visit.played("cost") == pytest.approx(expected.cost)
        assert visit.played("saved") == pytest.approx(expected.saved)
        assert visit.played("acted") == expected.acted
    visit.page.get_by_role("button", name="Start again").click()
    assert visit.played("cost") == pytest.approx(worked_out(records).cost)


def test_acting_on_more_or_fewer_takes_those_that_save_most_first(visit: Visit) -> None:
    records = make_summary()["records"]
    for value in (0, 200, 500, 1000):
        visit.slide("share", value)
        expected = worked_out(records, share=(value / 1000) ** 2)
        assert visit.played("acted") == expected.acted
        assert visit.played("cost") == pytest.approx(expected.cost)
    visit.slide("miss", 8)  # the share stays
    assert visit.played("acted") == records["n"]
    visit.page.get_by_role("button", name="As the model decides").click()
    assert visit.played("acted") == worked_out(records, 2.0).acted


def test_a_loss_is_called_one(visit: Visit) -> None:
    visit.slide("share", 0)
    visit.slide("miss", 10)
    assert visit.page.locator("[data-play=saved]").inner_text().endswith(" lost")
    assert visit.page.locator(".play .tile.loss").count() == 1


def test_sliders_are_moved_by_keys_and_tell_their_value(visit: Visit) -> None:
    slider = visit.page.get_by_label("A miss costs")
    slider.focus()
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "× 1.25"
    assert visit.played("cost") == pytest.approx(worked_out(make_summary()["records"], 1.25).cost)


def test_where_some_records_stand_for_all_unmoved_figures_are_those_of_all(browser: Any, folder: Path) -> None:
    summary = make_summary()
    summary["records"] |= {"n": 5 * N_TEST, "weight": {"negative": 5.0, "positive": 5.0}}
    totals = summary["records"]["totals"]
    for name in totals:
        totals[name] = 5 * totals[name] + (7 if name in ("missed", "alarms") else 0)  # not what the sample says
    path = folder / "sampled.html"
    path.write_text(render(summary), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.played("cost") == pytest.approx(totals["missed"] + totals["wasted"], abs=0.005)
    assert visit.played("acted") == totals["found"] + totals["alarms"]
    assert "estimated from 1,408 of the 7,040 test records" in visit.page.locator("#play").inner_text()
    visit.slide("act", 8)
    expected = worked_out(summary["records"], 1.0, 2.0)
    assert visit.played("cost") == pytest.approx(5 * expected.cost + 7)
    visit.context.close()


def test_with_a_limit_savings_are_against_what_it_allows(browser: Any, folder: Path) -> None:
    summary = make_summary()
    summary["records"]["most"] = 0.1
    summary["money"]["policies"][1]["name"] = "acting on 10.0% at random"
    path = folder / "limited.html"
    path.write_text(render(summary), encoding="utf-8")
    visit = Visit(browser, path)
    totals = summary["records"]["totals"]
    without = min(totals["nothing"], 0.9 * totals["nothing"] + 0.1 * totals["everything"])
    assert visit.played("saved") == pytest.approx(without - visit.played("cost"))
    assert "against acting on 10.0% at random" in visit.page.locator("[data-play=policy]").inner_text()
    visit.context.close()


# ---- Leaderboards


def test_a_click_on_a_header_sorts_and_another_turns_it_around(visit: Visit) -> None:
    assert visit.sorted_by() == {"#": "ascending"}
    visit.header("False alarms").click()
    first = visit.values("False alarms")
    assert first == sorted(first)
    assert visit.sorted_by() == {"False alarms": "ascending"}
    visit.header("False alarms").click()
    again = visit.values("False alarms")
    assert again == sorted(again, reverse=True)
    assert max(again) > max(first)  # all rows were sorted, not only those shown
    visit.header("Test").click()  # the best first
    assert visit.values("Test") == sorted(visit.values("Test"))
    visit.header("Model").press("Enter")
    assert visit.names() == sorted(visit.names())
    visit.header("#").press("Space")
    assert visit.values("#") == list(range(1, 16))


def test_rows_without_a_number_come_last_in_both_directions(browser: Any, folder: Path) -> None:
    summary = make_summary()
    for row in summary["leaderboards"]["out_of_fold"][:2]:
        row["auc"] = None
    path = folder / "missing.html"
    path.write_text(render(summary), encoding="utf-8")
    visit = Visit(browser, path)
    visit.page.get_by_label("the best of each method").uncheck()
    visit.page.locator("#board-out_of_fold .more").click()
    for _ in range(2):
        visit.header("AUC").click()
        assert visit.page.locator("#board-out_of_fold tbody tr td:first-child").all_inner_texts()[-2:] == ["1", "2"]
    visit.context.close()


def test_families_can_be_left_out(visit: Visit) -> None:
    rows = make_summary()["leaderboards"]["out_of_fold"]
    for family in ("bagging", "gradient boosting"):
        visit.page.get_by_label(family, exact=True).uncheck()
    kept = [row["name"] for row in rows if row["family"] not in ("bagging", "gradient boosting")]
    assert visit.names() == kept[:15]
    assert visit.page.locator("#board-out_of_fold .count").inner_text() == f"15 of {len(kept)} models, chosen from 48"
    visit.page.locator("#board-out_of_fold .more").click()
    assert visit.names() == kept
    visit.page.get_by_label("bagging", exact=True).check()
    visit.page.get_by_label("gradient boosting", exact=True).check()
    assert visit.names() == [row["name"] for row in rows]


def test_at_first_there_is_the_best_of_each_method(visit: Visit) -> None:
    visit.page.get_by_label("Search").fill("platt")
    visit.page.get_by_label("tree", exact=True).uncheck()
    visit.page.get_by_label("False alarms at most").fill("10")
    visit.page.get_by_role("button", name="Reset").click()
    rows = make_summary()["leaderboards"]["out_of_fold"]
    assert visit.names() == list(dict.fromkeys(row["name"] for row in rows))
    assert visit.values("#") == list(range(1, 13))
    visit.header("AUC").click()  # in whatever order
    visit.header("AUC").click()
    assert sorted(visit.values("#")) == list(range(1, 13))
    visit.page.get_by_label("Search").fill("platt")  # the best of those that match
    assert sorted(visit.values("#")) == list(range(13, 25))


def test_the_recommended_model_is_shown_though_another_of_its_method_is_better(browser: Any, folder: Path) -> None:
    summary = make_summary()
    for row in summary["leaderboards"]["out_of_fold"]:
        row["chosen"] = row["rank"] == 14  # of the method of the second row
    path = folder / "chosen.html"
    path.write_text(render(summary), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.values("#") == [*range(1, 13), 14]
    assert visit.page.locator("#board-out_of_fold tr:visible .flag.good").count() == 1
    visit.context.close()


def test_the_slider_keeps_models_with_few_false_alarms(visit: Visit) -> None:
    rates = [row["fpr"] for row in make_summary()["leaderboards"]["out_of_fold"]]
    slider = visit.page.get_by_label("False alarms at most")
    slider.focus()
    visit.page.locator("#board-out_of_fold .more").click()
    slider.fill("60")
    limit = 0.36 * max(rates)
    assert visit.values("False alarms") == [rate for rate in rates if rate <= limit]
    assert visit.page.locator("#fpr-limit").inner_text() == f"{100 * limit:.1f}%"
    assert slider.get_attribute("aria-valuetext") == f"{100 * limit:.1f}%"
    slider.press("ArrowRight")
    assert visit.page.locator("#fpr-limit").inner_text() == f"{100 * 0.61**2 * max(rates):.1f}%"
    slider.fill("0")
    assert visit.names() == []
    assert "No model matches" in visit.page.locator("#board-out_of_fold .count").inner_text()
    slider.press("End")
    assert len(visit.names()) == 48
    assert visit.page.locator("#fpr-limit").inner_text() == "any"


def test_models_are_found_by_words(visit: Visit) -> None:
    visit.page.get_by_label("Search").fill("PLATT  dm-")
    rows = make_summary()["leaderboards"]["out_of_fold"]
    found = [row["name"] for row in rows if "platt" in row["description"] and row["name"].startswith("dm-")]
    assert found
    assert visit.names() == found


def test_both_leaderboards_can_be_looked_at(visit: Visit) -> None:
    boards = make_summary()["leaderboards"]
    trusted, papers = visit.page.get_by_role("tab").all()
    assert "what you can trust" in trusted.inner_text()
    assert "how papers report" in papers.inner_text()
    assert visit.page.locator("#board-test").is_hidden()
    papers.click()
    assert visit.page.locator("#board-out_of_fold").is_hidden()
    assert papers.get_attribute("aria-selected") == "true"
    assert visit.names("test") == [row["name"] for row in boards["test"][:15]]
    assert visit.values("Test", "test") == sorted(r["test"] for r in boards["test"])[:15]
    papers.press("ArrowLeft")
    assert visit.page.locator("#board-out_of_fold").is_visible()
    assert visit.page.evaluate("document.activeElement.id") == "board-out_of_fold-tab"


def test_a_model_can_be_taken_out_of_all_figures(visit: Visit) -> None:
    visit.page.locator("[data-model='1']").uncheck()
    for name in ("cost", "gain", "roc", "reliability"):
        assert visit.page.locator(f"#figure-{name} .m1").count() == 0
        assert visit.page.locator(f"#figure-{name} polyline.m2").count() == 1
    visit.page.locator("[data-model='1']").check()
    assert visit.page.locator("#figure-gain polyline.line").count() == 5


def test_it_fits_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 400, "height": 740})
    picture = visit.page.locator("#figure-cost svg")
    for _ in range(50):  # it follows the page after a moment
        if picture.bounding_box()["width"] < 390:
            break
        visit.page.wait_for_timeout(50)
    assert picture.bounding_box()["width"] < 390
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 400
    # All figures of a row are there, and text in pictures is no smaller than elsewhere.
    row = visit.page.locator("#board-out_of_fold tbody tr").first
    assert all(cell.bounding_box()["width"] > 20 for cell in row.locator("td.number").all()[1:])
    assert visit.page.evaluate("getComputedStyle(document.querySelector('#figure-cost text')).fontSize") == "12px"
    labels = visit.page.locator("#sensitivity td[data-label='Savings']").first
    assert labels.bounding_box()["x"] + labels.bounding_box()["width"] <= 400


def test_on_paper_both_leaderboards_are_there_and_the_controls_are_not(visit: Visit) -> None:
    visit.page.emulate_media(media="print")
    assert visit.page.locator("#board-out_of_fold").is_visible()
    assert visit.page.locator("#board-test").is_visible()
    assert visit.page.locator("#row-controls").is_hidden()


def test_by_night_text_is_light_on_dark(browser: Any, report: Path) -> None:
    visit = Visit(browser, report, color_scheme="dark")

    def brightness(selector: str, style: str) -> float:
        colour = visit.page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{style}")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness("body", "backgroundColor") < 50
    assert brightness("h1", "color") > 200
    assert brightness("#figure-roc text.tick", "fill") > 140
    visit.context.close()


def test_without_scripts_everything_but_the_pictures_is_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#board-out_of_fold tbody tr").count() == 48
    assert page.locator("#board-test").is_visible()
    assert page.locator("#row-controls").is_hidden()
    assert page.locator(".play").is_hidden()
    context.close()


def test_without_costs_what_needs_none_is_drawn(browser: Any, folder: Path) -> None:
    path = folder / "imbalance.html"
    path.write_text(render(make_summary(imbalance=True)), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.page.locator(".plot").evaluate_all("(plots) => plots.map((plot) => plot.id)") == [
        "figure-roc",
        "figure-reliability",
    ]
    assert visit.page.locator("#figure-roc polyline.line").count() == 5
    assert visit.complaints == []
    visit.context.close()


def test_hostile_strings_do_nothing(browser: Any, folder: Path) -> None:
    attacks = itertools.cycle(ATTACKS)
    hostile = with_strings(make_summary(), lambda text: next(attacks))
    hostile["records"] = make_summary()["records"]  # numbers, which are no text of the user
    path = folder / "hostile.html"
    path.write_text(render(hostile), encoding="utf-8")
    # Without the page's policy, which would stop scripts even if escaping failed.
    visit = Visit(browser, path, bypass_csp=True)
    page = visit.page
    assert hostile["title"] in page.title()
    assert page.locator("main img, main svg[onload], main script, main b, main i, main a").count() == 0
    assert page.evaluate(HANDLERS) == []
    # All that can be moved over, clicked and typed.
    figure = page.locator("#figure-roc")
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    seen = set()
    for i in range(1, 10):
        page.mouse.move(box["x"] + 64 + i * (box["width"] - 88) / 10, box["y"] + 40 + 10 * i)
        seen.add(page.locator("#figure-roc .tip").text_content())
    assert any(curve["name"] in label for curve in hostile["curves"] for label in seen)
    assert page.locator("#figure-roc .tip *").count() == 0
    for button in page.locator("thead button:visible").all():
        button.hover()
        button.click()
    page.locator("[data-model='0']").uncheck()
    for box in page.locator("[name=family]").all():
        box.uncheck()
    page.get_by_label("Search").fill("<img src=x onerror=window.hacked=1>")
    assert page.evaluate("window.hacked") is None
    assert visit.complaints == []
    assert visit.requests == [path.as_uri()]
    visit.context.close()


def test_the_policy_stops_scripts_that_are_not_the_pages_own(browser: Any, folder: Path) -> None:
    path = folder / "injected.html"
    injected = "<script>window.hacked=1</script><img src='data:,' onerror='window.hacked=1'>"
    path.write_text(render(make_summary()).replace("<main>", f"<main>{injected}"), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.page.locator("main script").count() == 1
    assert visit.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in complaint for complaint in visit.complaints)
    visit.context.close()
