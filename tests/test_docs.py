"""The documentation does what it says: its code runs, and prints what is printed next to it.

A page is read from top to bottom, as a reader would, in an empty directory:

- a ``python`` block is run, all blocks of a page in one namespace;
- a ``text`` block directly below is what it prints, with ``...`` for what varies;
- a ``console`` block has commands (``$ stakes ...``) and what they print;
- a ``diff`` block is a change to the source, which is made in a copy of it: there the page is run as a whole, and so is
  what the tests ask of all parts of its kind.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sklearn import config_context

from stakes.exceptions import NoEffectWarning

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Written elsewhere: the specification, and figures with the commands that made them.
NOT_OURS = {"framework.md", "benchmarks", "results", "_build", "api"}

FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[a-z]*)[^\n]*\n(?P<body>.*?)^ *```[ \t]*$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
    if not (path.is_relative_to(DOCS) and path.relative_to(DOCS).parts[0] in NOT_OURS)
}


class Block(NamedTuple):
    """A block of code, the line it starts in, and what is said to come out of it."""

    kind: str
    code: str
    line: int
    output: str | None


def blocks_of(page: str) -> Iterator[Block]:
    """Return the blocks of a page that are run, with their outputs."""
    found = list(FENCE.finditer(page))
    for block, following in zip(found, [*found[1:], None], strict=False):
        line = page.count("\n", 0, block.start()) + 1
        if block["kind"] == "console":
            # A backslash at the end of a line continues it, as in a shell.
            for part in re.split(r"^\$ ", block["body"].replace("\\\n", " "), flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield Block("console", command, line, output)
        elif block["kind"] == "python":
            is_output = following is not None and following["kind"] == "text"
            adjacent = is_output and not page[block.end() : following.start()].strip()
            yield Block("python", block["body"], line, following["body"] if adjacent else None)
        elif block["kind"] == "diff":
            yield Block("diff", block["body"], line, None)


def run_page(name: str, page: str) -> None:
    """Run a page in the directory at hand."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings(), config_context():
        warnings.simplefilter("default")  # the tests make errors of warnings; readers do not
        warnings.simplefilter("error", NoEffectWarning)  # which a page would teach its readers to get
        for block in blocks_of(page):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                if block.kind == "python":
                    # As many empty lines above as there are in the page, so that tracebacks point into it.
                    exec(compile("\n" * block.line + block.code, name, "exec"), namespace)
                elif block.kind == "console":
                    run_command(block.code)
            if block.output is not None:
                same(block.output, printed.getvalue(), f"{name}, line {block.line}")


def run_command(line: str) -> None:
    """Run the command line in this process: starting another one takes longer than most commands."""
    program, *arguments = shlex.split(line)
    assert program == "stakes", f"{line!r} is not a command of stakes"
    app = importlib.import_module("stakes.cli").app
    status = app(arguments, prog_name=program, standalone_mode=False)
    assert not status, f"{line!r} ends with {status}"


def same(expected: str, got: str, where: str) -> None:
    """Compare outputs by the rules of doctest."""
    checker = doctest.OutputChecker()
    if not checker.check_output(expected, got, FLAGS):
        example = doctest.Example("", expected)
        raise AssertionError(f"{where}:\n{checker.output_difference(example, got, FLAGS | doctest.REPORT_NDIFF)}")


def changed(source: str, diff: str) -> str:
    """Return a file with a change made to it; the lines around the change tell where."""
    for hunk in re.split(r"^@@.*\n", diff, flags=re.MULTILINE)[1:]:
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if not line.startswith("+"))
        new = "".join(line[1:] for line in lines if not line.startswith("-"))
        assert source.count(old) == 1, f"the source has this {source.count(old)} times, and once is right:\n{old}"
        source = source.replace(old, new)
    return source


def changes_of(page: str) -> Iterator[tuple[str, str]]:
    """Return the files that a page changes, each with its diff."""
    for block in blocks_of(page):
        if block.kind == "diff":
            for part in re.split(r"^--- a/", block.code, flags=re.MULTILINE)[1:]:
                yield part.partition("\n")[0].strip(), part


# What the tests that go through all parts of a kind call the one that a page adds, and where these tests are.
PROPERTIES = {
    "boosting-rule": ("patient", "tests/test_catalog.py"),
    "calibration": ("histogram", "tests/decision/test_calibration.py"),
    "catalogue-name": ("nb", "tests/test_catalog.py tests/test_promises.py"),
    "criterion": ("dkm", "tests/tree/test_criteria.py tests/tree/test_growing.py"),
    "measure": ("", "tests/test_measures.py"),
    "sampler": ("RouletteSampler or roulette", "tests/sampling tests/test_catalog.py"),
    "vote-weight": ("edge", "tests/decision/test_weights.py"),
}
CHANGING = sorted(name for name, page in PAGES.items() if any(changes_of(page)))
RUNNING = sorted(name for name, page in PAGES.items() if any(blocks_of(page)) and name not in CHANGING)


@pytest.mark.parametrize("name", RUNNING)
def test_code_runs_and_prints_what_the_page_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registries: None
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(name, PAGES[name])


@pytest.fixture
def registries() -> Iterator[None]:
    """Whatever a page registers is gone after it."""
    from stakes.boosting import RULES
    from stakes.sampling import SAMPLERS

    before = [(table, dict(table)) for table in (RULES, SAMPLERS)]
    yield
    for table, rows in before:
        table.clear()
        table.update(rows)


@pytest.fixture(scope="module")
def changed_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All changes to the source and its tests made in one copy of them."""
    folder = tmp_path_factory.mktemp("changed")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in CHANGING:
        for path, diff in changes_of(PAGES[name]):
            file = folder / path
            file.write_text(changed(file.read_text(encoding="utf-8"), diff), encoding="utf-8")
    return folder


def run_changed(folder: Path, *command: str, compiled: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy; not compiled by default: that takes longer than few records do without it."""
    variables = {
        "NUMBA_DISABLE_JIT": str(int(not compiled)), "PYTHONPATH": str(folder / "src"), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=os.environ | variables,
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def changed_runs(changed_copy: Path) -> dict[str, str]:
    """What came of running the pages in the copy."""
    done = run_changed(changed_copy, __file__, *CHANGING)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", CHANGING)
def test_code_runs_after_the_change_that_the_page_makes(name: str, changed_runs: dict[str, str]) -> None:
    assert changed_runs[name] == ""


PYTEST = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m")


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_part_that_a_page_adds_has_the_properties_of_its_kind(name: str, changed_copy: Path) -> None:
    part, files = PROPERTIES[name]
    done = run_changed(changed_copy, *PYTEST, "not slow and not compiled", "-k", part, *files.split())
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_nothing_else_knows_how_many_parts_there_are(changed_copy: Path) -> None:
    parts = " or ".join(part for part, _ in PROPERTIES.values() if part)
    rooms = ("bagging", "boosting", "decision", "sampling", "tree", "test_promises.py", "test_feature_costs.py")
    for asked in (["-k", parts, *(f"tests/{room}" for room in rooms)], ["src"]):
        done = run_changed(changed_copy, *PYTEST, "not slow", *asked, compiled=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_page_that_adds_a_part_is_asked_for_its_properties() -> None:
    assert {f"docs/extending/{name}.md" for name in PROPERTIES} == set(CHANGING)


def test_what_the_source_does_not_say_cannot_be_changed() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@\n a = 1\n-b = 2\n+b = 3\n"
    assert changed("a = 1\nb = 2\n", diff) == "a = 1\nb = 3\n"
    with pytest.raises(AssertionError, match="0 times"):
        changed("a = 1\nb = 4\n", diff)


def test_wrong_output_is_noticed() -> None:
    with pytest.raises(AssertionError, match="here, line 1"):
        run_page("here", "```python\nprint(2)\n```\n\n```text\n3\n```\n")


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (name, target)
        for name, page in PAGES.items()
        for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)[^)]*\)", FENCE.sub("", page))
        if not re.match(r"[a-z]+:", target)
    ]
    assert links
    assert [link for link in links if not (ROOT / link[0]).parent.joinpath(link[1]).exists()] == []


def test_readme_has_the_two_set_up_commands() -> None:
    lines = PAGES["README.md"].splitlines()
    assert "pip install . && stakes demo" in lines
    assert 'pip install -e ".[test]" && pytest' in lines


@pytest.mark.slow
def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="needs the docs extra")
    # In a copy: building writes the pages of the reference next to the others.
    shutil.copytree(DOCS, tmp_path / "docs", ignore=shutil.ignore_patterns("_build", "api"))
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tmp_path)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "docs", "docs/_build"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def main(names: list[str]) -> None:
    """Run pages, and print for each of them what went wrong."""
    found = {}
    for name in names:
        try:
            run_page(name, PAGES[name])
            found[name] = ""
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
