"""The table of wrong formulas (mutations.txt), and how one is put into the source.

A formula is found by the name of the function or class that has it, and in there by its syntax tree: code may be moved,
files split, and lines broken anew without a change to the table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "stakes"
TABLE = Path(__file__).with_suffix(".txt")
NESTING = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Mutation(NamedTuple):
    """A wrong formula, and the tests that must fail with it."""

    family: str
    tests: str  # arguments of pytest
    place: str  # "module or package:function, class or class.method"
    old: str  # an expression or a statement that occurs once there
    new: str


class Place(NamedTuple):
    """Where a formula stands."""

    file: Path
    source: str
    node: ast.AST


def read_table(text: str) -> list[Mutation]:
    """Return the wrong formulas of a table: see the head of mutations.txt."""
    rows: list[Mutation] = []
    family = tests = place = old = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if line.startswith("["):
            family, tests = line[1:].split("]", 1)
        elif not line.startswith(" "):
            place = stripped
        else:
            first, *wrong = (part.strip() for part in stripped.split("->"))
            old = first or old
            rows += [Mutation(family, tests.strip(), place, old, new) for new in wrong]
    return rows


def find(place: str) -> Place:
    """Return the one definition of a function or class in a module, or in any module of a package."""
    room, _, name = place.partition(":")
    path = SOURCE / room.replace(".", "/")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    found = [place for file in files for known, place in _places(file) if known == name]
    if len(found) != 1:
        raise ValueError(f"{place} is defined {len(found)} times, not once")
    return found[0]


def mutate(mutation: Mutation) -> tuple[Path, str]:
    """Return a file of the source, and its text with the wrong formula in it."""
    file, source, within = find(mutation.place)
    old = _parse(mutation.old)
    wanted = ast.dump(old)
    same = [node for node in ast.walk(within) if type(node) is type(old) and ast.dump(node) == wanted]
    if len(same) != 1:
        raise ValueError(f"{mutation.place} has this {len(same)} times, not once: {mutation.old}")
    if ast.dump(_parse(mutation.new)) == wanted:
        raise ValueError(f"{mutation.place}: this changes nothing: {mutation.new}")
    new = f"({mutation.new})" if isinstance(old, ast.expr) else mutation.new
    start, end = _span(source, same[0])
    changed = (source.encode()[:start] + new.encode() + source.encode()[end:]).decode()
    ast.parse(changed)
    return file, changed


@cache
def _places(file: Path) -> list[tuple[str, Place]]:
    source = file.read_text(encoding="utf-8")
    return [(name, Place(file, source, node)) for name, node in _definitions(ast.parse(source))]


def _definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield all functions and classes, also those in others, and the tables of a module, by their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, NESTING):
            yield prefix + child.name, child
            yield from _definitions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Module):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            yield from ((target.id, child) for target in targets if isinstance(target, ast.Name))


def _parse(text: str) -> ast.AST:
    """Return the syntax tree of an expression or of one statement."""
    (statement,) = ast.parse(f"def _():\n {text}").body[0].body  # type: ignore[attr-defined]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _span(source: str, node: ast.AST) -> tuple[int, int]:
    """Return where a node starts and ends in the source, in bytes."""
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]


MUTATIONS = read_table(TABLE.read_text(encoding="utf-8"))
