"""The report in a real browser: it is drawn, sorted, filtered, and cannot be broken into.

Needs a Chromium of the system (it is never downloaded) and the package `playwright`; skipped otherwise.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_summary import make_summary, with_strings

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

    def restore(self) -> None:
        page = self.page
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1280, "height": 900})
        page.get_by_role("tab").first.click()
        page.get_by_role("button", name="Reset").click()
        page.get_by_label("the best of each method").uncheck()
        for button in page.get_by_role("button", name="Show the first 15").all():
            button.click()
        while self.sorted_by() != {"#": "ascending"}:
            self.header("#").click()

    def names(self, board: str = "out_of_fold") -> list[str]:
        """Return the models of the rows that are shown, in order."""
        return self.page.locator(f"#board-{board} tbody tr:visible th code").all_inner_texts()

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
    for name, lines in {"cost": 5, "gain": 5, "roc": 5 + 3, "reliability": 5 + 1}.items():
        assert visit.page.locator(f"#figure-{name} svg.main-svg").count() >= 1
        drawn = visit.page.locator(f"#figure-{name} .scatterlayer .lines path.js-line")
        assert drawn.count() == lines
        assert all(len(path.get_attribute("d")) > 10 for path in drawn.all())
    assert visit.page.locator("#figure-roc .scatterlayer .points path").count() == 5
    width = visit.page.locator("#figure-cost svg.main-svg").first.bounding_box()["width"]
    assert 300 < width < 700


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
        hidden = visit.page.evaluate(
            f"document.getElementById('figure-{name}').data.filter((t) => t.visible === false).map((t) => t.meta)"
        )
        assert set(hidden) == {1}
    visit.page.locator("[data-model='1']").check()
    assert visit.page.locator("#figure-gain .scatterlayer .lines path.js-line").count() == 5


def test_it_fits_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 360, "height": 740})
    picture = visit.page.locator("#figure-cost svg.main-svg").first
    for _ in range(50):  # it follows the page after a moment
        if picture.bounding_box()["width"] < 350:
            break
        visit.page.wait_for_timeout(50)
    assert picture.bounding_box()["width"] < 350
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_paper_both_leaderboards_are_there_and_the_controls_are_not(visit: Visit) -> None:
    visit.page.emulate_media(media="print")
    assert visit.page.locator("#board-out_of_fold").is_visible()
    assert visit.page.locator("#board-test").is_visible()
    assert visit.page.locator(".controls").is_hidden()


def test_by_night_text_is_light_on_dark(browser: Any, report: Path) -> None:
    visit = Visit(browser, report, color_scheme="dark")

    def brightness(selector: str, style: str) -> float:
        colour = visit.page.evaluate(f"getComputedStyle(document.querySelector('{selector}')).{style}")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness("body", "backgroundColor") < 50
    assert brightness("h1", "color") > 200
    assert brightness("#figure-roc .xtick text", "fill") > 140
    visit.context.close()


def test_without_scripts_everything_but_the_pictures_is_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#board-out_of_fold tbody tr").count() == 48
    assert page.locator("#board-test").is_visible()
    assert page.locator(".controls").is_hidden()
    context.close()


def test_without_costs_what_needs_none_is_drawn(browser: Any, folder: Path) -> None:
    path = folder / "imbalance.html"
    path.write_text(render(make_summary(imbalance=True)), encoding="utf-8")
    visit = Visit(browser, path)
    assert visit.page.locator(".plot").evaluate_all("(plots) => plots.map((plot) => plot.id)") == [
        "figure-roc",
        "figure-reliability",
    ]
    assert visit.page.locator("#figure-roc .scatterlayer .lines path.js-line").count() == 5
    assert visit.complaints == []
    visit.context.close()


def test_hostile_strings_do_nothing(browser: Any, folder: Path) -> None:
    attacks = itertools.cycle(ATTACKS)
    hostile = with_strings(make_summary(), lambda text: next(attacks))
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
        page.wait_for_timeout(60)
        seen |= set(page.locator("#figure-roc .hoverlayer text.nums").all_text_contents())
    assert any(curve["name"] in label for curve in hostile["curves"] for label in seen)
    assert page.locator("#figure-roc .hoverlayer a").count() == 0
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
