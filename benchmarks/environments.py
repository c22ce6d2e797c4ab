"""Virtual environments for the peers: stakes does not depend on them, and their licences are their own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.options import ROOT

__all__ = ["REQUIREMENTS", "Environments"]

# What is installed besides stakes; scikit-learn and imbalanced-learn come with it. empulse's licence is not like the
# others', so it is kept apart.
REQUIREMENTS = {"peers": ("lightgbm", "ydf"), "empulse": ("empulse",)}


class Environments:
    """Environments in a directory, each made when it is first asked for.

    Parameters
    ----------
    directory : Path or None
        None stands for the Python that runs already, whatever is installed in it.
    """

    def __init__(self, directory: Path | None) -> None:
        self.directory = directory

    def python(self, name: str) -> Path:
        """Return the Python of an environment."""
        if self.directory is None:
            return Path(sys.executable)
        folder = self.directory.resolve() / name
        python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        complete = folder / "complete"
        if not complete.exists():
            print(f"Installing stakes and {', '.join(REQUIREMENTS[name])} in {folder}", flush=True)
            venv.create(folder, with_pip=True, clear=True)
            _install(python, "-e", f"{ROOT}[plot]")
            for requirement in REQUIREMENTS[name]:
                try:
                    _install(python, requirement)
                except subprocess.CalledProcessError:
                    # Not every peer has a wheel for every Python: the others go on.
                    print(f"{requirement} cannot be installed: what needs it is skipped", flush=True)
            complete.touch()
        return python

    def cache(self, name: str) -> Path | None:
        """Return where an environment keeps compiled kernels: apart from those of other versions of numba."""
        return None if self.directory is None else self.directory.resolve() / name / "kernels"


def _install(python: Path, *what: str) -> None:
    # Quiet twice: errors are told, warnings are not.
    subprocess.run([str(python), "-m", "pip", "install", "-qq", *what], check=True)
