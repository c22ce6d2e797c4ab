"""The rooms of the package are as the architecture page draws them, and data flows one way."""

from __future__ import annotations

from tools import architecture


def test_every_module_has_a_room() -> None:
    assert [module for module in architecture.modules() if architecture.room_of(module) is None] == []


def test_every_room_has_modules() -> None:
    known = set(architecture.modules())
    assert [own for room in architecture.ROOMS for own in room.modules if own not in known] == []


def test_no_room_imports_a_later_one() -> None:
    assert architecture.backward() == []


def test_the_diagram_is_up_to_date() -> None:
    page = architecture.PAGE.read_text(encoding="utf-8")
    assert architecture.drawn(page) == page, "run: python tools/architecture.py --write"


def test_an_import_against_the_flow_is_found(monkeypatch) -> None:
    reverse = tuple(reversed(architecture.ROOMS))
    monkeypatch.setattr(architecture, "ROOMS", reverse)
    assert architecture.backward() != []
