"""What the studies of many data sets say: questions that have two sides, each answered with its interval.

    python -m benchmarks.answers --imbalance STUDIES --costs STUDIES --simulated STUDIES --out docs/results

writes `state-of-the-art.md`, the figure of every method on every data set (`state-of-the-art.parquet`), and diagrams.
Each side of a question is a set of models. On each data set it is represented by the model that is best on out-of-fold
records, and the two are compared on test records: data sets, not models, are what intervals are about.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy import stats

from benchmarks.sets import SETS
from stakes.datasets import load_keel
from stakes.study import Comparison, compare
from stakes.study.comparison.figures import Source, figures_of, read_studies
from stakes.study.comparison.page import write_diagram
from stakes.study.plan import RIVALS

MEASURE = "savings"
OUT_OF_FOLD, TEST = f"out_of_fold_{MEASURE}", f"test_{MEASURE}"
BLENDS = ("top5", "team", "stack")

SINGLE = ~pl.col("name").is_in(BLENDS) & ~pl.col("name").str.starts_with("mc-")
IN_TRAINING = pl.col("train_costs") != "none"
AFTERWARDS = (pl.col("threshold") != "half") | (pl.col("member") != "label")
BAGGED = SINGLE & (pl.col("family") == "bagging")
BOOSTED = SINGLE & (pl.col("family") == "boosting")
GRADIENT = SINGLE & (pl.col("family") == "gradient boosting")
IMBALANCED_LEARN = SINGLE & (pl.col("family") == "imbalanced-learn")
IGNORING = SINGLE & ~IN_TRAINING & ~AFTERWARDS
VOTE, MEAN = pl.col("output") == "vote", pl.col("output") == "average"
BY_T_CS = pl.col("threshold") == "cost"
EQUAL = pl.col("vote_weight") == "equal"
STACK = pl.col("name") == "stack"


def named(*names: str) -> pl.Expr:
    """Return which models are of some methods, whichever way their members vote."""
    return pl.col("method").is_in(names) & SINGLE


def bagged(prefix: str) -> pl.Expr:
    """Return which models are ensembles of trees with a way of sampling, by the beginning of their names."""
    return named(*(f"{prefix}{kind}" for kind in ("bg", "rf", "rdf")))


@dataclass(frozen=True)
class Question:
    """Whether one kind of model saves more than another."""

    asked: str
    this: pl.Expr
    other: pl.Expr


ADABOOST = named("ab", "adamec", "cab")
QUESTIONS = (
    Question("Costs used, against costs ignored", SINGLE & (IN_TRAINING | AFTERWARDS), IGNORING),
    Question(
        "Costs after training only, against in training only",
        SINGLE & ~IN_TRAINING & AFTERWARDS,
        SINGLE & IN_TRAINING & ~AFTERWARDS,
    ),
    Question(
        "Costs at both times, against after training only",
        SINGLE & IN_TRAINING & AFTERWARDS,
        SINGLE & ~IN_TRAINING & AFTERWARDS,
    ),
    Question(
        "Members that vote by cost (`dm-`), against members that do not",
        BAGGED & (pl.col("member") == "cost"),
        BAGGED & (pl.col("member") == "label"),
    ),
    Question(
        "Majority threshold adjustment, against probabilities above T_cs",
        BAGGED & VOTE & (pl.col("threshold") != "half"),
        BAGGED & MEAN & BY_T_CS,
    ),
    Question("A tuned threshold, against T_cs", SINGLE & (pl.col("threshold") == "tuned"), SINGLE & BY_T_CS),
    Question(
        "Calibrated probabilities, against those of the members",
        SINGLE & MEAN & pl.col("calibration").is_not_null(),
        SINGLE & MEAN & pl.col("calibration").is_null(),
    ),
    Question(
        "Weighted votes, against equal ones",
        BAGGED & VOTE & ~pl.col("vote_weight").is_in(["equal", "pruned"]),
        BAGGED & EQUAL,
    ),
    Question("Pruned ensembles, against whole ones", BAGGED & (pl.col("vote_weight") == "pruned"), BAGGED & EQUAL),
    Question("SMOTE, against under-sampling", bagged("s") | bagged("sp"), bagged("u") | bagged("up")),
    Question("SMOTE, against over-sampling by copies", bagged("s") | bagged("sp"), bagged("o") | bagged("op")),
    Question("Under-sampling, against a bootstrap of all", bagged("u") | bagged("up"), bagged("")),
    Question("Cost-proportionate sampling, against a bootstrap of all", bagged("cpr"), bagged("")),
    Question("Weights by cost, against a bootstrap of all", bagged("w"), bagged("")),
    Question("Trees that split by cost, against the usual ones", bagged("cs"), bagged("")),
    Question("Random forests, against bagging", named("rf"), named("bg")),
    Question("AdaCost, against AdaBoost by T_cs", named("acost"), ADABOOST),
    Question("All AdaBoosts with costs in training, against AdaBoost by T_cs", BOOSTED & IN_TRAINING, ADABOOST),
    Question("AdaBoosts, against forests and bagging", BOOSTED, BAGGED),
    Question("Gradient boosting, against forests and bagging", GRADIENT, BAGGED),
    Question("Gradient boosting with costs in training, against without", named("wgb", "csgb"), named("gb", "lgbm")),
    Question("imbalanced-learn's ensembles, against ours", IMBALANCED_LEARN, BAGGED),
    Question("Logistic regression, against LightGBM", named("lr"), named("lgbm")),
    Question("The blend of all models (`stack`), against LightGBM by T_cs", STACK, named("lgbm") & BY_T_CS),
    Question("The blend of all models (`stack`), against the best single model out of fold", STACK, SINGLE),
)


@dataclass(frozen=True)
class Answer:
    """The mean difference of test figures over data sets with its 95% interval, and where which side is better."""

    asked: str
    mean: float
    low: float
    high: float
    better: int
    worse: int
    n: int

    @property
    def words(self) -> str:
        """Whether it pays."""
        return "yes" if self.low > 0 else "no" if self.high < 0 else "cannot be told"


def best(source: Source, kind: pl.Expr) -> float | None:
    """Return the test figure of the model of a kind that is best on out-of-fold records."""
    rows = source.results.filter(kind, pl.col(OUT_OF_FOLD).is_not_null(), pl.col(TEST).is_not_null())
    return None if rows.is_empty() else float(rows.sort(OUT_OF_FOLD, descending=True, maintain_order=True)[TEST][0])


def answer(question: Question, sources: Sequence[Source]) -> Answer | None:
    """Return the answer over the data sets that have models of both kinds."""
    pairs = [(best(source, question.this), best(source, question.other)) for source in sources]
    return _answer(question.asked, [a - b for a, b in pairs if a is not None and b is not None])


def metacost(sources: Sequence[Source]) -> Answer | None:
    """Return what MetaCost's tree loses against the model that taught it, which is the recommended one."""
    differences = []
    for source in sources:
        taught = source.results.filter(pl.col("name").str.starts_with("mc-")).head(1)
        if len(taught):
            teacher = taught["name"][0].removeprefix("mc-")
            other = best(source, pl.col("name") == teacher)
            if other is not None:
                differences.append(float(taught[TEST][0]) - other)
    return _answer("MetaCost's tree, against the model that taught it", differences)


def _answer(asked: str, differences: list[float]) -> Answer | None:
    d = np.asarray(differences)
    if d.size < 3:
        return None
    half = stats.t.ppf(0.975, d.size - 1) * d.std(ddof=1) / np.sqrt(d.size)
    return Answer(asked, d.mean(), d.mean() - half, d.mean() + half, int((d > 0).sum()), int((d < 0).sum()), d.size)


def first_methods(sources: Sequence[Source], n: int = 10) -> list[tuple[str, float]]:
    """Return the methods to try first, with what the best of them out of fold saves on test records, on average.

    Each is the one that adds the most to those before it. The rivals, which are part of every study, come first.
    """
    names = sorted({name for source in sources for name in source.results.filter(SINGLE)["method"].unique()})
    tables = [_by_method(source, names) for source in sources]
    scores = np.array([table[0] for table in tables]), np.array([table[1] for table in tables])
    chosen = [names.index(name) for name in RIVALS if name in names]
    found = []
    while len(chosen) < min(n, len(names)):
        gains = [(-np.inf if j in chosen else _delivered(scores, [*chosen, j])) for j in range(len(names))]
        chosen.append(int(np.argmax(gains)))
        found.append((names[chosen[-1]], float(max(gains))))
    return [(names[j], _delivered(scores, chosen[: len(RIVALS)])) for j in chosen[: len(RIVALS)]] + found


def _by_method(source: Source, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the best out-of-fold figure of each method, and the test figure that goes with it."""
    rows = (
        source.results.filter(SINGLE, pl.col(OUT_OF_FOLD).is_not_null(), pl.col(TEST).is_not_null())
        .sort(OUT_OF_FOLD, descending=True, maintain_order=True)
        .group_by("method", maintain_order=True)
        .first()
    )
    figures = {name: (a, b) for name, a, b in rows.select("method", OUT_OF_FOLD, TEST).iter_rows()}
    both = np.array([figures.get(name, (-np.inf, np.nan)) for name in names])
    return both[:, 0], both[:, 1]


def _delivered(scores: tuple[np.ndarray, np.ndarray], chosen: Sequence[int]) -> float:
    out_of_fold, test = (part[:, chosen] for part in scores)
    return float(np.take_along_axis(test, out_of_fold.argmax(axis=1)[:, None], axis=1).mean())


def levels(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Return imbalanced data sets by how many negatives there are for a positive."""
    found: dict[str, list[Source]] = {"up to 9 : 1": [], "9 to 20 : 1": [], "above 20 : 1": []}
    for source in sources:
        share = load_keel(source.data).target.mean()
        ratio = (1 - share) / share
        found["up to 9 : 1" if ratio <= 9 else "9 to 20 : 1" if ratio <= 20 else "above 20 : 1"].append(source)
    return found


def domains(sources: Sequence[Source]) -> dict[str, list[Source]]:
    """Return data sets with costs by what they are about."""
    found: dict[str, list[Source]] = {}
    for source in sources:
        found.setdefault(SETS[source.data].domain, []).append(source)
    return found


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def answers_table(sources: Sequence[Source]) -> str:
    """Return all questions with their answers."""
    found = [answer(question, sources) for question in QUESTIONS] + [metacost(sources)]
    head = ("question", "mean difference", "95% interval", "better on", "worse on", "it pays")
    return table(
        head,
        [
            (a.asked, f"{a.mean:+.3f}", f"{a.low:+.3f} to {a.high:+.3f}", a.better, a.worse, a.words)
            for a in found
            if a is not None
        ],
    )


def ranks_table(comparison: Comparison, n: int = 15) -> str:
    """Return the methods of the best average ranks."""
    rows = [
        (f"`{place.name}`", f"{place.rank:.1f}", f"{place.figure:.3f}", place.wins, f"{place.bayes.worse:.0%}")
        for place in comparison.places[:n]
    ]
    return table(("method", "average rank", "mean savings", "best on", "worse than the first by > 0.01"), rows)


def parts_table(parts: dict[str, list[Source]], kinds: dict[str, pl.Expr]) -> str:
    """Return the mean test figures of kinds of models in parts of the data sets."""
    rows = []
    for name, sources in parts.items():
        found = [[value for source in sources if (value := best(source, kind)) is not None] for kind in kinds.values()]
        rows.append((name, len(sources), *(f"{np.mean(values):.3f}" if values else "" for values in found)))
    return table(("", "data sets", *kinds), rows)


KINDS = {
    "costs ignored": IGNORING,
    "`lr`": named("lr"),
    "`lgbm`": named("lgbm"),
    "forests, bagging": BAGGED & ~IN_TRAINING,
    "sampled or weighted": BAGGED & IN_TRAINING,
    "AdaBoosts": BOOSTED,
    "gradient boosting": GRADIENT,
    "imbalanced-learn": IMBALANCED_LEARN,
    "`stack`": STACK,
}


def components_table(comparison: Comparison) -> str:
    """Return what each component of the framework explains."""
    rows = []
    for component in comparison.components:
        first, last = component.levels[0], component.levels[-1]
        rows.append(
            (
                component.words,
                f"{component.share:.1%}",
                f"{component.low:.1%} to {component.high:.1%}",
                f"{first.name} ({first.rank:.2f})",
                f"{last.name} ({last.rank:.2f})",
            )
        )
    return table(("component", "explains", "90% interval", "best choice (mean rank)", "worst choice"), rows)


def never(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the methods that are within 0.01 of the best method on no data set of any comparison."""
    near: dict[str, int] = {}
    for comparison in comparisons:
        figures = comparison.figures.drop("data")
        top = figures.max_horizontal()
        for name in figures.columns:
            near[name] = near.get(name, 0) + int((figures[name] >= top - 0.01).sum())
    return sorted(name for name, count in near.items() if count == 0)


def write_tables(page: Path, tables: dict[str, str]) -> None:
    """Put tables into a page, between the comments that name them."""
    text = page.read_text(encoding="utf-8")
    for name, content in tables.items():
        start, end = f"<!-- {name}: start -->\n", f"\n<!-- {name}: end -->"
        before, _, rest = text.partition(start)
        _, found, after = rest.partition(end)
        if not found:
            raise SystemExit(f"{page} has no place for {name!r}: add {start.strip()} and {end.strip()}")
        text = f"{before}{start}{content}{end}{after}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the page, its figures and its diagrams."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = ("imbalance", "costs", "simulated")
    for kind in kinds:
        parser.add_argument(f"--{kind}", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = vars(parser.parse_args())
    out = asked.pop("out")
    sources = {kind: read_studies([path], MEASURE) for kind, path in asked.items() if path}
    compared = {kind: compare([asked[kind]], measure=MEASURE) for kind in sources}
    tables = {}
    for kind, studies in sources.items():
        tables |= {f"{kind} answers": answers_table(studies), f"{kind} ranks": ranks_table(compared[kind]),
                   f"{kind} components": components_table(compared[kind])}  # fmt: skip
        write_diagram(compared[kind], out / f"state-of-the-art-{kind}.svg")
    divided = {"imbalance": levels, "costs": domains}
    tables |= {f"{kind} parts": parts_table(divided[kind](sources[kind]), KINDS) for kind in sources if kind in divided}
    everything = [source for studies in sources.values() for source in studies]
    tables["first methods"] = table(
        ("method", "mean savings of the choice with it"),
        [(f"`{name}`", f"{value:.4f}") for name, value in first_methods(everything)],
    )
    tables["never"] = ", ".join(f"`{name}`" for name in never(list(compared.values())))
    write_tables(out / "state-of-the-art.md", tables)
    frames = [
        figures_of(studies, MEASURE).select(pl.lit(kind).alias("kind"), "data", "name", "figure")
        for kind, studies in sources.items()
    ]
    pl.concat(frames).write_parquet(out / "state-of-the-art.parquet", compression="zstd")


if __name__ == "__main__":
    main()
