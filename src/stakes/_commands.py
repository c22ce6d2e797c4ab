"""What all commands share: options, and whatever is wrong is said in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["INTERRUPTED", "Jobs", "Seed", "destination", "plain_errors"]

BAD_INPUT = 2
INTERRUPTED = 130


Jobs = Annotated[int | None, typer.Option(min=1, help="How many processes to use; all cores by default.")]
Seed = Annotated[int, typer.Option(min=0, help="Everything random depends on it alone.")]


def destination(what: str, metavar: str = "DIR") -> Any:
    """Return an option for where to write."""
    return typer.Option(metavar=metavar, parser=_path_of, help=what)


def _path_of(text: str) -> Path:
    """Return a path; an empty text, such as that of a variable that is not set, would stand for this directory."""
    if not text:
        raise typer.BadParameter("it is empty: give a path")
    return Path(text)


@contextmanager
def plain_errors(resume: Path | None = None) -> Iterator[None]:
    """Say in one line what is wrong with what the user gave, or that the user interrupted."""
    from stakes import exceptions

    expected = tuple(
        error for error in (getattr(exceptions, name) for name in exceptions.__all__) if not issubclass(error, Warning)
    )
    hint = "" if resume is None else f"; what is finished is in {resume}, and the same command goes on from there"
    try:
        yield
    except BrokenPipeError:  # whoever was reading has enough
        raise
    except (*expected, OSError) as error:
        said = str(error) if not isinstance(error, OSError) else f"{error.filename or ''}: {error.strerror or error}"
        typer.echo(f"stakes: {' '.join(said.split())}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except MemoryError:
        less = "" if resume is None else f"{hint}; fewer --jobs need less memory"
        typer.echo(f"stakes: there is not enough memory{less}", err=True)
        raise typer.Exit(BAD_INPUT) from None
    except KeyboardInterrupt:
        typer.echo(f"stakes: stopped{hint}", err=True)
        raise typer.Exit(INTERRUPTED) from None
