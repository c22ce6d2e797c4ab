"""The command `stakes paper`, which imports what it needs when it runs, as all commands do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from stakes.exceptions import StudyError

__all__ = ["command"]


class ApplicationName(StrEnum):
    """The applications of the paper."""

    churn = "churn"
    fraud = "fraud"
    marketing = "marketing"


command = typer.Typer()


@command.command()
def paper(
    application: Annotated[ApplicationName, typer.Argument(help="Which of the paper's applications.")],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The directory with the files of its publisher.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to keep the results; by default paper- and the application."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quick look: a few methods, small ensembles, one split.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many processes to use; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Everything random depends on it alone.")] = 0,
) -> None:
    """Run an application by the protocol of the paper, and show the results beside its tables.

    The same command again goes on where the last one was stopped.
    """
    with _one_line_errors():
        from stakes.paper.experiment import run_paper
        from stakes.paper.page import print_tables

        result = run_paper(
            application.value,
            data,
            out=out,
            quick=quick,
            jobs=jobs,
            seed=seed,
            verbose=int(sys.stderr.isatty()),
            say=lambda line: typer.echo(line, err=True),
        )
        for note in result.notes:
            typer.echo(note)
        print_tables(_console(), result.tables, result.findings, result.application.shown)
        typer.echo(f"All of it: {result.page}")


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Say in one line what is wrong with what the user gave, or that the user stopped it."""
    try:
        yield
    except (StudyError, OSError) as error:
        typer.echo(f"stakes: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("stakes: stopped; what is finished is kept, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None


def _console() -> Any:
    from rich.console import Console

    # Its tables are wider than most terminals.
    return Console(width=max(Console().width, 190), highlight=False)
