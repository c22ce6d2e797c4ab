"""Files and folders that are written as a whole: who may read them, and what is there if they cannot be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stakes._atomic import complete_folder, write_atomically

of_posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions are those of POSIX")


@of_posix
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_the_user_asks_for(umask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "decisions.csv", b"private")
    finally:
        os.umask(before)
    assert (tmp_path / "decisions.csv").stat().st_mode & 0o777 == mode


@of_posix
def test_a_file_that_is_written_again_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_put_back_if_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, replace = tmp_path / "decisions", os.replace
    path.mkdir()
    (path / "part.csv").write_bytes(b"old")

    def fails_for_new(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise PermissionError("a file in it is open")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_for_new)
    with pytest.raises(PermissionError), complete_folder(path) as folder:
        (folder / "part.csv").write_bytes(b"new")
    assert (path / "part.csv").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
