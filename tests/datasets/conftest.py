import os
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Path:
    """The directory of the published data, which are not part of the repository."""
    folder = Path(os.environ.get("STAKES_DATA") or Path(__file__).parents[3] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"published data not found in {folder}; set STAKES_DATA")
    return folder


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STAKES_DATA", raising=False)
