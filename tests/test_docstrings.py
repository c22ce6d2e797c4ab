"""Docstrings of public names are complete: shared descriptions are filled in, and no parameter is left out."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import BaseEstimator

from stakes._docs import PLACEHOLDER, SHARED, SNIPPETS, documented

ROOT = Path(__file__).parents[1]


def public_names() -> Iterator[str]:
    """Return what the reference lists, as modules with attributes."""
    module = ""
    for line in (ROOT / "docs" / "reference.md").read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.fullmatch(r" {3}([A-Za-z_][\w.]*)", line):
            yield f"{module}.{found[1]}"


def resolve(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def documented_objects(name: str) -> Iterator[tuple[str, Any]]:
    """Return a name with what it stands for, and the public methods of a class, also the inherited ones of stakes."""
    thing = resolve(name)
    yield name, thing
    if isinstance(thing, type):
        for attribute, member in inspect.getmembers(thing, inspect.isroutine):
            ours = str(getattr(member, "__module__", "")).startswith("stakes")
            if ours and not attribute.startswith("_"):
                yield f"{name}.{attribute}", member


def described(doc: str) -> set[str]:
    """Return the names that the section on parameters describes."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n[A-Z]\w+\n-+\n|\Z)", doc, re.MULTILINE | re.DOTALL)
    headings = [line for line in section[1].splitlines() if re.match(r"\S", line)] if section else []
    return {name.strip(" *") for heading in headings for name in heading.split(" : ")[0].split(",")}


@pytest.mark.parametrize("name", sorted(set(public_names())))
def test_public_docstrings_are_filled_and_describe_all_parameters(name: str) -> None:
    for where, thing in documented_objects(name):
        doc = inspect.getdoc(thing)
        assert doc, f"{where} has no docstring"
        assert not PLACEHOLDER.search(doc), f"{where}: {PLACEHOLDER.search(doc)}"
        if names := described(doc):
            taken = set(inspect.signature(thing).parameters) - {"self"}
            if hasattr(thing, "__dataclass_fields__") and not issubclass(thing, BaseEstimator):
                taken &= set(thing.__annotations__)  # the others are described where they are inherited from
            assert taken <= names, f"{where} does not describe {sorted(taken - names)}"
            assert names <= taken, f"{where} describes {sorted(names - taken)}, and does not take them"


def test_the_reference_is_read() -> None:
    assert {"stakes.CostTreeClassifier", "stakes.metrics.total_cost"} <= set(public_names())


def test_every_shared_description_is_read_and_used() -> None:
    assert set(SNIPPETS) == set(re.findall(r"^\[(\w+)\]$", SHARED, re.MULTILINE))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")]
    placeholders = {found[2] for source in sources if "documented" in source for found in PLACEHOLDER.finditer(source)}
    assert placeholders == set(SNIPPETS)


def test_descriptions_are_filled_in_with_the_indentation_of_their_place() -> None:
    @documented
    class Example:
        """An example.

        Parameters
        ----------
        {weight_and_label}
        """

        @classmethod
        def make(cls) -> None:
            """Make one.

            {n_jobs}
            """

    assert described(inspect.getdoc(Example) or "") == {"sample_weight", "pos_label"}
    assert "n_jobs : int, default=None\n    How many threads to use." in (inspect.getdoc(Example.make) or "")


def test_a_description_that_is_not_known_is_an_error() -> None:
    def function() -> None:
        """{nothing}"""

    function.__doc__ = "Do.\n\n    {nothing}\n"
    with pytest.raises(KeyError, match="nothing"):
        documented(function)
