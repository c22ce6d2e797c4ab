"""Files that are written as a whole: who may read them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stakes._atomic import write_atomically

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_the_user_asks_for(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "decisions.csv", b"private")
    finally:
        os.umask(before)
    assert (tmp_path / "decisions.csv").stat().st_mode & 0o777 == mode


def test_a_file_that_is_written_again_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]
