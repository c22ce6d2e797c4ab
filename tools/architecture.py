"""Draw the rooms of the package, and who imports whom, from the source.

    python tools/architecture.py --write   # bring the diagram in docs/architecture.md up to date

A room is a step on the way of a record from a file to a decision. A room may import from the rooms above it in ROOMS,
and from no other; tests/test_architecture.py says where that is not so, and when the diagram is out of date.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "stakes"
PAGE = ROOT / "docs" / "architecture.md"
START, END = "<!-- rooms: start -->", "<!-- rooms: end -->"


class Room(NamedTuple):
    """A group of modules with one job."""

    name: str
    job: str
    modules: tuple[str, ...]  # below the package: a module, or a folder with all that is in it


# In the order in which data flows.
ROOMS = (
    Room(
        "foundation",
        "types, errors, validation, seeds, rows of any table",
        (
            "_commands",
            "_dates",
            "_docs",
            "_fitting",
            "_forks",
            "_format",
            "_jit",
            "_random",
            "_routing",
            "_rows",
            "_typing",
            "_validation",
            "_warn",
            "_atomic",
            "exceptions",
            "_progress",
            "table",
        ),
    ),
    Room(
        "costs",
        "what mistakes and features cost; records with costs",
        ("_estimation", "_expressions", "costs", "feature_costs", "records"),
    ),
    Room("sampling", "before training: multiplicities, synthetic records", ("sampling",)),
    Room("tree", "the engine: bins, splits, pruning, leaves", ("tree",)),
    Room("members", "trained trees or models, and what makes them", ("_learners", "_members")),
    Room("decision", "after training: votes, calibration, thresholds", ("decision",)),
    Room("measures", "what outcomes are worth", ("curves", "measures", "metrics")),
    Room("explain", "what moved a score, feature by feature", ("explain",)),
    Room(
        "classifiers",
        "members + a decision, with scikit-learn's manners",
        (
            "_acquisition",
            "bagging",
            "_base",
            "boosting",
            "cost_decision",
            "cost_tree",
            "delivered",
            "encoded",
            "_ensemble",
            "gradient_boosting",
            "_member_classifier",
            "metacost",
            "pool",
            "as_sklearn",
            "_objectives",
            "_regression",
            "_rivals",
        ),
    ),
    Room("catalog", "names of the literature", ("catalog",)),
    Room("teams", "several models that decide together", ("teams",)),
    Room("persist", "model files, and export", ("persist", "_model_checks", "export")),
    Room("datasets", "published and simulated data", ("datasets",)),
    Room("plots", "pictures for notebooks", ("plots",)),
    Room("study", "try, choose, deliver, report", ("study",)),
    Room("paper", "the published protocol, run again", ("paper",)),
    Room("command", "the command line", ("cli",)),
)


def room_of(module: str) -> Room | None:
    """Return the room of a module such as `tree.growing`; None if it has none."""
    for room in ROOMS:
        if any(module == own or module.startswith(f"{own}.") for own in room.modules):
            return room
    return None


@cache
def modules() -> list[str]:
    """Return all modules of the package, by their names below it."""
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    return sorted(name for name in names if name != "__init__")


@cache
def imports_of(module: str) -> list[str]:
    """Return the modules of the package that a module imports when it runs."""
    found = []
    path = PACKAGE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    known = set(modules())
    for node in _run(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "stakes":
            source = node.module.removeprefix("stakes").removeprefix(".")
            for alias in node.names:
                inside = f"{source}.{alias.name}".removeprefix(".")
                if inside in known:
                    found.append(inside)
                elif source in known:
                    found.append(source)
    return found


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a module that are executed, not only read by a type checker."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        yield node
        yield from _run(node)


def crossings() -> Iterator[tuple[str, Room, str, Room]]:
    """Yield the imports from another room: who imports, in which room, what, and from which."""
    for module in modules():
        here = room_of(module)
        for imported in imports_of(module):
            there = room_of(imported)
            if here is not None and there is not None and here != there:
                yield module, here, imported, there


def arrows() -> set[tuple[str, str]]:
    """Return which room imports from which."""
    return {(here.name, there.name) for _, here, _, there in crossings()}


def backward() -> list[str]:
    """Return the imports that go against the flow."""
    return sorted(
        {
            f"{module} ({here.name}) imports {imported} ({there.name})"
            for module, here, imported, there in crossings()
            if ROOMS.index(there) > ROOMS.index(here)
        }
    )


def direct(edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows that are not implied by others."""

    @cache
    def reached(name: str) -> set[str]:
        ahead = {there for here, there in edges if here == name}
        return ahead.union(*map(reached, ahead))

    return {
        (here, there)
        for here, there in edges
        if not any(there in reached(other) for h, other in edges if h == here and other != there)
    }


def diagram() -> str:
    """Return the diagram as a block of mermaid: an arrow is an import, those implied by others are left out."""
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'  {room.name}["<b>{room.name}</b><br/>{room.job}"]' for room in ROOMS]
    lines += [f"  {there} --> {here}" for here, there in sorted(direct(arrows()))]
    return "\n".join([*lines, "```"])


def drawn(page: str) -> str:
    """Return the page with the diagram in its place."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{diagram()}\n{END}{after}"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="bring the page up to date")
    options = parser.parse_args()
    if options.write:
        PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(diagram())
    for line in backward():
        print(line, file=sys.stderr)
    return 1 if backward() else 0


if __name__ == "__main__":
    sys.exit(main())
