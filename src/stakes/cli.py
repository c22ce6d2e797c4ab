"""The command `stakes`: study, check, apply, save, report, compare, methods, demo, paper.

Commands import what they need when they run, so that help comes at once. What a command is given goes on by its name:
options are called as the parameters of the function that does the work. Whatever is wrong with what a user gave is
said in one line, with exit code 2. A command that lives in a module of its own is added here by ``app.add_typer``.
"""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stakes._commands import INTERRUPTED, Jobs, Seed, destination, plain_errors
from stakes._format import money
from stakes.paper.command import command as paper

if TYPE_CHECKING:
    from stakes.study.data import StudyData

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find out which method saves the most money, given data and what mistakes cost.",
)
app.add_typer(paper)

# Methods that `compare` lists in the terminal.
TOP = 10


def several(what: str, metavar: str = "COLUMN") -> Any:
    """Return an option that may be given several times, or several at once with commas: see `_listed`."""
    return typer.Option(metavar=metavar, help=f"{what} Several: with commas, or again.")


# Options that `load_data` has under the same names.
OF_DATA = ("target", "positive", "fp_cost", "fn_cost", "drop", "after", "allow", "test", "groups", "time")
# Options that several commands have.
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV or Parquet file, one record in a row; or a folder or pattern of Parquet files.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a file that another program wrote.")]
FpCost = Annotated[
    str | None,
    typer.Option(
        "--fp-cost",
        metavar="EXPR",
        help='What a false positive costs: a number, or arithmetic over columns such as "2 * MonthlyCharges".',
    ),
]
FnCost = Annotated[
    str | None, typer.Option("--fn-cost", metavar="EXPR", help="What a false negative costs, in the same way.")
]
Target = Annotated[str, typer.Option(metavar="COLUMN", help="The column with the two classes.")]
Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The value of the positive class; by default 1, yes or true, and otherwise the rarer class.",
    ),
]
Drop = Annotated[list[str] | None, several("Not a feature, though costs may use it.")]
After = Annotated[
    list[str] | None,
    several(
        "Known only after the decision, such as a donation: not a feature; costs are judged by it, and decided by an "
        "estimate."
    ),
]
Allow = Annotated[list[str] | None, several("A feature although it looks like an ID, or gives the class away.")]
Test = Annotated[
    str,
    typer.Option(
        metavar="PART",
        help='What to test on: a share of the records, a file of the same layout, or "COLUMN>VALUE" for a split in '
        "time.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Records with the same value, such as a customer's, stay together."),
]
Time = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Judge models on records that are later than those they learnt from."),
]
Dask = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: the address of its scheduler.")
]
Mode = Annotated[
    Literal["live", "plain", "quiet"] | None,
    typer.Option("--progress", help="A live bar, lines for a log, or nothing. By default what fits the terminal."),
]


@app.callback(invoke_without_command=True)
def stakes(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Find out which method saves the most money, given data and what mistakes cost."""
    if version:
        import stakes as package

        typer.echo(package.__version__)
        raise typer.Exit


@app.command()
def study(
    data: Data,
    target: Target,
    positive: Positive = None,
    fp_cost: FpCost = None,
    fn_cost: FnCost = None,
    drop: Drop = None,
    after: After = None,
    allow: Allow = None,
    methods: Annotated[list[str] | None, several('Names, patterns such as "dm-*", quick or all.', "NAME")] = None,
    trees: Annotated[int, typer.Option(min=1, help="Members of each ensemble.")] = 100,
    folds: Annotated[int, typer.Option(min=2, help="Into how many folds the learning records are divided.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="How often they are divided anew.")] = 1,
    test: Test = "0.2",
    groups: Groups = None,
    time: Time = None,
    train_costs: Annotated[
        list[str] | None,
        several(
            'What to train by: record, "class means", or pairs such as 1:6; without costs, the pairs to try.', "COSTS"
        ),
    ] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is compared, such as cost (the default), savings, profit; without costs balanced_accuracy (the "
            "default), f1, auc. An unknown name is answered by a list of all.",
        ),
    ] = None,
    max_fpr: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The largest false positive rate to accept: above 0 and up to 1."),
    ] = None,
    max_acted: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The largest share of records to act on: above 0 and up to 1."),
    ] = None,
    metacost: Annotated[
        Literal["best", "none"], typer.Option(help="Teach a readable tree by the recommended model, or none.")
    ] = "best",
    decisions: Annotated[
        Literal["all", "follow-costs"],
        typer.Option(help="Try all decisions, or only those that follow the costs of the day."),
    ] = "all",
    teams: Annotated[bool, typer.Option(help="Let models decide together, too.")] = True,
    refit: Annotated[
        Literal["learning", "all"],
        typer.Option(help="Train the delivered model on the learning records, or on the test records, too."),
    ] = "learning",
    feature_costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Prices of features, which count as cost: CSV with feature, price and group, or JSON or TOML.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Start no further ensemble after this; the most promising first."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory to keep to, such as 6GB: of Parquet files with more records than go into it, a sample is "
            "judged, and ensembles are trained on all others from disk.",
        ),
    ] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Annotated[
        Path | None, destination("Where to keep the results; by default the name of the file with -study.")
    ] = None,
    seed: Seed = 0,
    progress: Mode = None,
) -> None:
    """Try methods and decisions on data, and report which saves the most money.

    The same command again goes on where the last one was stopped.
    """
    given = dict(locals())
    directory = out or _results(data)
    with plain_errors(resume=directory):
        from stakes.study.plan import Config
        from stakes.study.store import BINS, check_own

        check_own(directory)
        given |= {"methods": _listed(methods, "quick"), "train_costs": _listed(train_costs, "record")}
        # What is wrong with these is said before records are read, which may take minutes.
        in_money = fp_cost is not None or fn_cost is not None
        Config.of(in_money=in_money, **{field.name: given[field.name] for field in fields(Config)})
        loaded = _loaded(given, memory=given.pop("memory"), jobs=jobs, bins=directory / BINS)
        for note in loaded.info["notes"]:
            typer.echo(f"Note: {note}.", err=True)
        _run_study(loaded, **given | {"out": directory})


@app.command()
def check(
    data: Data,
    target: Target,
    positive: Positive = None,
    fp_cost: FpCost = None,
    fn_cost: FnCost = None,
    drop: Drop = None,
    after: After = None,
    allow: Allow = None,
    test: Test = "0.2",
    groups: Groups = None,
    time: Time = None,
    seed: Seed = 0,
) -> None:
    """Look at data before a study: columns that give the class away, IDs, few records, what has moved.

    Every study looks at its data in the same way, and stops at what would make its figures wrong. The exit code is 1 in
    that case.
    """
    given = dict(locals())
    with plain_errors():
        from stakes.study.check import ERROR, look

        loaded = _loaded(given)
        found = look(loaded, seed)
    n, features = int(loaded.positive.sum()), f"{loaded.frame.width} features"
    typer.echo(f"{len(loaded):,} records, {n:,} of them {loaded.classes[1]!r} ({n / len(loaded):.1%}); {features}.")
    told = {str(each) for each in found}
    for note in loaded.info["notes"]:
        if note not in told:
            typer.echo(f"note: {note}.")
    for each in found:
        typer.echo(f"{each.severity}: {each}.")
    if any(each.severity == ERROR for each in found):
        raise typer.Exit(1)


@app.command()
def demo(
    out: Annotated[Path | None, destination("Where to keep the results; a temporary directory by default.")] = None,
    jobs: Jobs = None,
    seed: Seed = 0,
    progress: Mode = None,
) -> None:
    """Run a small study end to end, on simulated card transactions with their amounts."""
    with plain_errors(resume=out):
        import tempfile

        import polars as pl

        from stakes._atomic import write_atomically
        from stakes.datasets import make_transactions
        from stakes.exceptions import StudyError
        from stakes.study.loading import load_data

        directory = out or Path(tempfile.mkdtemp(prefix="stakes-demo-"))
        directory.mkdir(parents=True, exist_ok=True)
        made = make_transactions(30_000, random_state=seed)
        data = directory / "transactions.csv"
        records = made.frame.with_columns(fraud=pl.Series(made.target)).write_csv().encode()
        if data.exists() and data.read_bytes() != records:
            raise StudyError(f"{data} is there, and is not of this demo: choose another --out")
        write_atomically(data, records)
        typer.echo(
            f"{len(made):,} simulated card transactions, {made.target.sum():,} of them fraud. A missed fraud costs its "
            "amount, a false alarm 5. The same as\n\n"
            f"  stakes study {data} --target fraud --fp-cost 5 --fn-cost amount --trees 50\n"
        )
        loaded = load_data(data, target="fraud", fp_cost="5", fn_cost="amount")
        _run_study(loaded, trees=50, jobs=jobs, out=directory / "study", seed=seed, progress=progress)


@app.command()
def apply(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model of a study, such as best.skops.")],
    data: Annotated[
        str,
        typer.Argument(metavar="NEW", help="New records, as CSV or Parquet, or a folder or pattern of Parquet files."),
    ],
    out: Annotated[
        Path | None,
        destination(
            "Where to write, as CSV or .parquet, a folder for a folder, or - for standard output; by default NEW with "
            "-decisions.",
            "FILE",
        ),
    ] = None,
    fp_cost: FpCost = None,
    fn_cost: FnCost = None,
    keep: Annotated[list[str] | None, several("Copy these columns only, or none.")] = None,
    budget: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Act on the N records with the largest expected saving, and sort by it."),
    ] = None,
    max_acted: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="The same, as a share of the records."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse new costs where the model cannot follow them.")
    ] = False,
    overwrite: Overwrite = False,
    spreadsheet: Annotated[
        bool,
        typer.Option("--spreadsheet", help="Mark texts that a spreadsheet would run as formulas, by an apostrophe."),
    ] = False,
    reasons: Annotated[
        int, typer.Option(metavar="N", min=0, help="Add the N features that moved each record most, in money.")
    ] = 0,
    dask: Dask = None,
) -> None:
    """Decide on new records by a model, with today's costs.

    Costs that are not given are those of the study.
    """
    given = dict(locals())
    with plain_errors():
        from stakes._atomic import is_stream
        from stakes.study.apply import apply_model

        files = given.pop("model"), given.pop("data"), given.pop("out") or _decisions(data)
        say = partial(typer.echo, err=is_stream(files[-1]))  # what is said must not be among the records
        columns = None if keep is None else [name for name in _listed(keep, "") if name != "none"]
        with _counter() as count:
            done = apply_model(*files, **given | {"keep": columns, "progress": count})
        for note in done.notes:
            typer.echo(f"Note: {note}.", err=True)
        say(f"{done.n_positive:,} of {done.n_records:,} records are {done.positive!r}: see {done.out}")
        if done.expected_cost is not None:
            say(
                f"Mistakes are expected to cost {money(done.expected_cost)}, which is {money(done.expected_saving)} "
                "less than acting on none."
            )
        if done.paid is not None:
            say(f"Features cost {money(done.paid)}, {money(done.paid / done.n_records)} per record.")


@app.command()
def save(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a finished study.")],
    row: Annotated[int | None, typer.Option(min=1, help="A row of the leaderboard, by its rank out of fold.")] = None,
    name: Annotated[str | None, typer.Option(help="Or a name, of which the best is taken.")] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DATA", help="The records, if they are no longer where they were.")
    ] = None,
    out: Annotated[Path | None, destination("Where to write; by default a name in the directory.", "FILE")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write another model of a study to a file, in place of the recommended one."""
    with plain_errors():
        from stakes.decision.wording import decision_words
        from stakes.exceptions import StudyError
        from stakes.persist import is_model_file
        from stakes.study.study import saved_study
        from stakes.study.words import model_words

        if (row is None) == (name is None):
            raise StudyError("say which model: give --row or --name")
        wanted: int | str = row if name is None else name  # type: ignore[assignment]
        path = out or directory / f"model-{wanted}.skops"
        if path.exists() and not overwrite and not is_model_file(path):
            raise StudyError(f"--out {path} is there, and is no model: choose another name, or give --overwrite")
        saved = saved_study(directory, data=data).save(wanted, path)
        typer.echo(f"{model_words(saved['name'])} ({saved['name']}), {decision_words(saved)}: see {path}")


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of a finished study.")],
) -> None:
    """Write the report of a study again."""
    with plain_errors():
        from stakes.study.report import write_report

        typer.echo(f"See {write_report(directory)}")


@app.command()
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
        asked = None if methods is None else _listed([methods], "")
        found = compare_studies(studies, measure=measure, methods=asked)
        for place in found.places[:TOP]:
            typer.echo(f"{place.rank:7.2f}  {place.name}")
        typer.echo(f"See {write_page(found, out)} and {write_figures(found, figures)}")


@app.command()
def methods(
    name: Annotated[str, typer.Argument(metavar="[PATTERN]", help='Only names like this, such as "dm-*".')] = "*",
    when: Annotated[
        Literal["before", "during", "after", "never"] | None,
        typer.Option(help="Only methods in which costs act at this time."),
    ] = None,
    family: Annotated[
        str | None, typer.Option(help='Only this family, such as bagging or "gradient boosting".')
    ] = None,
    costs: Annotated[
        str | None, typer.Option(help="Only methods that take these costs: record, constant or none.")
    ] = None,
) -> None:
    """List the methods: what they are called, when costs act, and what they need.

    mc- before any of the names is MetaCost: a readable tree, taught by the method.
    """
    with plain_errors():
        from stakes.catalog import list_methods
        from stakes.exceptions import StudyError

        found = list_methods().filter(name=name)
        for attribute, wanted in (("family", family), ("costs", costs)):
            known = sorted({getattr(method, attribute) for method in list_methods()})
            if wanted is not None and wanted not in known:
                raise StudyError(f"--{attribute} {wanted!r} is not known: choose from {', '.join(known)}")
            found = found if wanted is None else found.filter(**{attribute: wanted})
        if when is not None:
            found = found.filter(when=() if when == "never" else when)
        if not name.startswith("mc-"):
            found = type(found)([method for method in found if not method.name.startswith("mc-")])
        if not len(found):
            raise StudyError(f"no method matches {name!r} and these options: `stakes methods` lists all")
        if not sys.stdout.isatty():
            typer.echo(repr(found))
            return
        from stakes.study.display import print_methods

        print_methods(found)


def main() -> None:
    """Run the command."""
    for stream in (sys.stdout, sys.stderr):
        # A character that a console does not have is shown as another, in place of an error.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    # What a system or a scheduler asks for is answered like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app(prog_name="stakes")
    except KeyboardInterrupt:
        typer.echo("stakes: stopped", err=True)
        sys.exit(INTERRUPTED)


def _listed(given: list[str] | None, default: str) -> list[str]:
    """Return options that may be given several times, or several at once with commas."""
    return [part.strip() for item in given or [default] for part in item.split(",") if part.strip()]


def _stem(path: Path) -> str:
    """Return a name without what tells the format: sales.2024-01 of sales.2024-01.csv.gz, sales of sales/*.parquet."""
    return re.sub(r"(\.(csv|txt|tsv|parquet|pq))?(\.gz)?$", "", path.name, flags=re.IGNORECASE)


def _place(data: str) -> Path:
    """Return where records are: the folder of a pattern, and one that is one's own by its name in place of a dot."""
    from stakes.study.dataset import before_pattern

    path = before_pattern(data)
    return path.resolve() if path.name in ("", "..") else path


def _results(data: str) -> Path:
    """Return where a study goes by default: here, but not into a folder of records, which will be read again."""
    place = _place(data)
    path = Path(f"{_stem(place)}-study")
    is_inside = Path(data).is_dir() and place.resolve() in path.resolve().parents
    return place.with_name(path.name) if is_inside else path


def _decisions(data: str) -> Path:
    """Return where decisions go by default: next to a file or a folder, and here for a pattern or an address."""
    from stakes.study.dataset import is_pattern, is_url

    path = _place(data)
    name = f"{_stem(path)}-decisions"
    if is_url(data) or is_pattern(data):
        return Path(name)
    suffix = ".parquet" if path.suffix.lower() in (".parquet", ".pq") else ".csv"
    return path.with_name(name + ("" if path.is_dir() else suffix))


def _loaded(given: dict[str, Any], **more: Any) -> StudyData:
    """Read the records that a command is given, and take their options out of the others."""
    from stakes.study.loading import load_data

    options = {name: given.pop(name) for name in OF_DATA}
    lists = {name: options[name] or () for name in ("drop", "after", "allow")}
    return load_data(given.pop("data"), **options | lists, **more)


def _run_study(data: StudyData, *, progress: str | None, **options: Any) -> None:
    from stakes.study.display import print_result
    from stakes.study.study import Study

    fitting = "live" if sys.stderr.isatty() else "plain"
    print_result(Study(data, progress=progress or fitting, **options).run())


@contextmanager
def _counter() -> Iterator[Any]:
    """Show how many records are done, where there is someone to see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:
        yield lambda n: status.update(f"{n:,} records")


if __name__ == "__main__":
    main()
