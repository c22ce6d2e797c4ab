"""The command `stakes compare`, which imports what it needs when it runs, as all commands do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stakes._commands import plain_errors

__all__ = ["command"]

TOP = 10

command = typer.Typer()


@command.command()
def compare(
    studies: Annotated[
        list[Path],
        typer.Argument(
            metavar="STUDY...", help="Directories of finished studies, or directories that have such in them."
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("comparison.html"),
    measure: Annotated[
        str, typer.Option(help="What is compared: savings, or balanced_accuracy, g_mean, auc, ...")
    ] = "savings",
    methods: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The methods to compare, with commas; by default all that can be."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a page that exists.")] = False,
) -> None:
    """Compare methods over many data sets: one page of ranks, tests, and what each part of the framework contributes.

    A method that is new enters with a study of its own on the same data. Figures are kept beside the page, as CSV.
    """
    with plain_errors():
        from stakes.exceptions import StudyError
        from stakes.study.comparison.compare import compare as compare_studies
        from stakes.study.comparison.page import write_figures, write_page

        figures = out.with_suffix(".csv")
        if out.suffix.lower() not in (".html", ".htm"):
            raise StudyError(f"--out {out}: the page is HTML, so give it a name that ends in .html")
        for path in (out, figures):
            if path.exists() and not overwrite:
                raise StudyError(f"{path} exists: choose another --out, or --overwrite it")
        asked = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
        found = compare_studies(studies, measure=measure, methods=asked)
        for place in found.places[:TOP]:
            typer.echo(f"{place.rank:7.2f}  {place.name}")
        typer.echo(f"See {write_page(found, out)} and {write_figures(found, figures)}")
