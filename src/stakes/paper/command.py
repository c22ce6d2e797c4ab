"""The command `stakes paper`, which imports what it needs when it runs, as all commands do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from stakes._commands import Jobs, Seed, destination, plain_errors

__all__ = ["command"]


command = typer.Typer()


@command.command()
def paper(
    application: Annotated[
        Literal["churn", "fraud", "marketing"], typer.Argument(help="Which of the paper's applications.")
    ],
    data: Annotated[Path, typer.Option(metavar="DIR", help="The directory with the files of its publisher.")],
    out: Annotated[
        Path | None, destination("Where to keep the results; by default paper- and the application.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A quick look: a few methods, small ensembles, one split.")
    ] = False,
    jobs: Jobs = None,
    seed: Seed = 0,
) -> None:
    """Run an application by the protocol of the paper, and show the results beside its tables.

    The same command again goes on where the last one was stopped.
    """
    directory = out or Path(f"paper-{application}{'-quick' if quick else ''}")
    with plain_errors(resume=directory):
        from rich.console import Console
        from rich.markdown import Markdown

        from stakes.paper.experiment import run_paper

        result = run_paper(
            application,
            data,
            out=directory,
            quick=quick,
            jobs=jobs,
            seed=seed,
            verbose=int(sys.stderr.isatty()),
            say=lambda line: typer.echo(line, err=True),
        )
        # Its tables are wider than most terminals.
        console = Console(width=max(Console().width, 190), highlight=False)
        console.print(Markdown(result.page.read_text(encoding="utf-8")))
        typer.echo(f"All of it: {result.page}")
