"""Run tests with the oldest versions of all dependencies that pyproject.toml allows.

    python tools/minima.py /tmp/minima                                # the fast tests
    python tools/minima.py /tmp/minima -n 0 tests/test_cost_tree.py   # with arguments of pytest

The first argument is the folder of the environment, which is made where there is none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]


def minima() -> list[str]:
    """Return the oldest versions that are allowed, of what is needed and of what the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["test"]])
    return [f"{one.name}=={bound.version}" for one in wanted for bound in one.specifier if bound.operator == ">="]


def main(folder: str, *arguments: str) -> int:
    """Make the environment, and run the tests in it."""
    python = Path(folder) / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *minima()], check=True)
    env = os.environ | {"PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}
    return subprocess.run([python, "-m", "pytest", *arguments], cwd=ROOT, env=env).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
