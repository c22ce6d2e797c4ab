"""What the studies of many data sets say: questions that have two sides, each answered with its interval.

    python -m benchmarks.answers --imbalance STUDIES --costs STUDIES --simulated STUDIES --out docs/results

fills in the tables of `state-of-the-art.md`, and writes the figure of every method on every data set
(`state-of-the-art.parquet`) and diagrams.
Each side of a question is a set of models. On each data set every method is represented by its model that is best on
out-of-fold records, and judged on test records; a side has the mean of its methods. Not the best of them all: among
thousands of models that one is lucky, and the side with more models has more luck. Methods are compared by the same
decision, decisions within the same methods. Data sets, not models, are what intervals are about.

Savings have no lower bound: where acting on all is next to free, a model that ignores costs may save -40, and a mean
over data sets would be about that one. Savings below -1, which is a bill twice as high as without a model, count as -1.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
WORST = -1.0
BLENDS = ("top5", "team", "stack")

SINGLE = ~pl.col("name").is_in(BLENDS) & ~pl.col("name").str.starts_with("mc-")
IN_TRAINING = pl.col("train_costs") != "none"
AFTERWARDS = (pl.col("threshold") != "half") | (pl.col("member") != "label")
BAGGED = SINGLE & (pl.col("family") == "bagging")
BOOSTED = SINGLE & (pl.col("family") == "boosting")
GRADIENT = SINGLE & (pl.col("family") == "gradient boosting")
IMBALANCED_LEARN = SINGLE & (pl.col("family") == "imbalanced-learn")
UNPRICED = SINGLE & ~IN_TRAINING
AS_THEY_COME = ~AFTERWARDS & pl.col("calibration").is_null()
VOTE, MEAN = pl.col("output") == "vote", pl.col("output") == "average"
BY_T_CS = pl.col("threshold") == "cost"
EQUAL = pl.col("vote_weight") == "equal"
STACK = pl.col("name") == "stack"


def named(*names: str) -> pl.Expr:
    """Return which models are of some methods, whichever way their members vote."""
    return pl.col("method").is_in(names) & SINGLE


def bagged(*prefixes: str) -> pl.Expr:
    """Return which models are ensembles of trees with ways of sampling, by the beginning of their names."""
    return named(*(f"{prefix}{kind}" for prefix in prefixes for kind in ("bg", "rf", "rdf"))) & SAME


@dataclass(frozen=True)
class Question:
    """Whether one kind of model saves more than another."""

    asked: str
    this: pl.Expr
    other: pl.Expr
    within: bool = False  # only methods that have models of both kinds


# A decision that all methods with scores have, so that none has more of them to choose from: they are compared by it.
SAME = pl.col("calibration").is_not_null() & BY_T_CS
ADABOOST = named("ab", "adamec", "cab") & SAME
LEARNT_AGAIN = BAGGED & SAME
QUESTIONS = (
    # Decisions: within the same methods.
    Question("Costs used after training, against ignored", UNPRICED & SAME, UNPRICED & AS_THEY_COME, within=True),
    Question("Costs after training, against in training only", UNPRICED & SAME, SINGLE & IN_TRAINING & AS_THEY_COME),
    Question("Costs at both times, against after training only", SINGLE & IN_TRAINING & SAME, UNPRICED & SAME),
    Question(
        "Members that vote by cost (`dm-`), against members that vote by label",
        BAGGED & VOTE & (pl.col("member") == "cost") & (pl.col("threshold") == "half"),
        BAGGED & VOTE & (pl.col("member") == "label") & (pl.col("threshold") == "half"),
        within=True,
    ),
    Question(
        "Majority threshold adjustment, against votes above one half",
        BAGGED & VOTE & (pl.col("threshold") == "cost"),
        BAGGED & VOTE & (pl.col("threshold") == "half"),
        within=True,
    ),
    Question(
        "Votes above T_cs, against calibrated probabilities above it", BAGGED & VOTE & BY_T_CS, LEARNT_AGAIN, True
    ),
    Question(
        "A tuned threshold, against T_cs", SINGLE & (pl.col("threshold") == "tuned"), SINGLE & BY_T_CS, within=True
    ),
    Question(
        "Calibrated probabilities above T_cs, against those of the members",
        SINGLE & MEAN & SAME,
        SINGLE & MEAN & BY_T_CS & pl.col("calibration").is_null(),
        within=True,
    ),
    Question(
        "Weighted votes, against equal ones",
        BAGGED & VOTE & pl.col("vote_weight").is_in(["accuracy", "log_odds", "exp_odds", "squared_odds"]),
        BAGGED & VOTE & EQUAL,
        within=True,
    ),
    Question(
        "Pruned ensembles, against whole ones", BAGGED & (pl.col("vote_weight") == "pruned"), BAGGED & EQUAL, True
    ),
    # Methods: by the same decision.
    Question("SMOTE, against under-sampling", bagged("s", "sp"), bagged("u", "up")),
    Question("SMOTE, against over-sampling by copies", bagged("s", "sp"), bagged("o", "op")),
    Question("Under-sampling, against a bootstrap of all", bagged("u", "up"), bagged("")),
    Question("Over-sampling, against a bootstrap of all", bagged("o", "op"), bagged("")),
    Question("Cost-proportionate sampling, against a bootstrap of all", bagged("cpr"), bagged("")),
    Question("Weights by cost, against a bootstrap of all", bagged("w"), bagged("")),
    Question("Trees that split by cost, against the usual ones", bagged("cs"), bagged("")),
    Question("Random forests, against bagging", named("rf") & SAME, named("bg") & SAME),
    Question("Extremely randomised trees, against random forests", named("et") & SAME, named("rf") & SAME),
    Question("AdaCost, against AdaBoost", named("acost") & SAME, ADABOOST),
    Question("All AdaBoosts with costs in training, against AdaBoost", BOOSTED & IN_TRAINING & SAME, ADABOOST),
    Question("AdaBoost, against a random forest", ADABOOST, named("rf") & SAME),
    Question("LightGBM, against a random forest", named("lgbm") & SAME, named("rf") & SAME),
    Question("Boosting of small trees (`gb`), against LightGBM as it comes", named("gb") & SAME, named("lgbm") & SAME),
    Question(
        "Costs in gradient boosting (`wgb`, `csgb`), against `gb`", named("wgb", "csgb") & SAME, named("gb") & SAME
    ),
    Question("imbalanced-learn's ensembles, against a random forest", IMBALANCED_LEARN & SAME, named("rf") & SAME),
    Question("Logistic regression, against LightGBM", named("lr") & SAME, named("lgbm") & SAME),
    Question("The blend of all models (`stack`), against LightGBM", STACK, named("lgbm") & SAME),
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


def bounded(sources: Sequence[Source]) -> list[Source]:
    """Return studies in which no savings are below the worst that count."""
    return [replace(one, results=one.results.with_columns(pl.col(TEST).clip(lower_bound=WORST))) for one in sources]


def chosen(source: Source, kind: pl.Expr, figure: str = TEST) -> dict[str, float]:
    """Return the test figure of each method's model of a kind that is best on out-of-fold records."""
    rows = _ranked(source, kind, pl.col(figure).is_finite()).unique("method", keep="first", maintain_order=True)
    return dict(rows.select("method", figure).iter_rows())


def best(source: Source) -> float:
    """Return the test figure of the single model that is best on out-of-fold records."""
    return float(_ranked(source, SINGLE, pl.col(TEST).is_not_null())[TEST][0])


def _ranked(source: Source, *kinds: pl.Expr) -> pl.DataFrame:
    """Return the models of some kinds, the best on out-of-fold records first."""
    known = source.results.filter(*kinds, pl.col(OUT_OF_FOLD).is_not_null())
    return known.sort(OUT_OF_FOLD, descending=True, maintain_order=True)


def answer(question: Question, sources: Sequence[Source]) -> Answer | None:
    """Return the answer over the data sets that have models of both kinds."""
    differences = []
    for source in sources:
        this, other = chosen(source, question.this), chosen(source, question.other)
        if question.within:
            both = this.keys() & other.keys()
            this, other = ({name: side[name] for name in both} for side in (this, other))
        if this and other:
            differences.append(float(np.mean([*this.values()]) - np.mean([*other.values()])))
    return _answer(question.asked, differences)


def blend(sources: Sequence[Source]) -> Answer | None:
    """Return what the blend of all models saves against the best single one."""
    pairs = [(chosen(source, STACK), best(source)) for source in sources]
    return _answer(
        "The blend of all models (`stack`), against the best single model out of fold",
        [this["stack"] - other for this, other in pairs if this],
    )


def metacost(sources: Sequence[Source]) -> Answer | None:
    """Return what MetaCost's tree loses against the model that taught it, which is the recommended one."""
    differences = []
    for source in sources:
        taught = source.results.filter(pl.col("name").str.starts_with("mc-")).head(1)
        if len(taught):
            teacher = taught["name"][0].removeprefix("mc-")
            other = [*chosen(source, pl.col("name") == teacher).values()]
            differences += [float(taught[TEST][0]) - figure for figure in other]
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
    scores = np.moveaxis([_by_method(source, names) for source in sources], 2, 0)
    chosen = [names.index(name) for name in RIVALS if name in names]
    found = []
    while len(chosen) < min(n, len(names)):
        gains = [(-np.inf if j in chosen else _delivered(scores, [*chosen, j])) for j in range(len(names))]
        chosen.append(int(np.argmax(gains)))
        found.append((names[chosen[-1]], float(max(gains))))
    return [(names[j], _delivered(scores, chosen[: len(RIVALS)])) for j in chosen[: len(RIVALS)]] + found


def _by_method(source: Source, names: Sequence[str]) -> np.ndarray:
    """Return the best out-of-fold figure of each method, and the test figure that goes with it, in a row."""
    rows = _ranked(source, SINGLE, pl.col(TEST).is_not_null()).unique("method", keep="first", maintain_order=True)
    figures = {name: both for name, *both in rows.select("method", OUT_OF_FOLD, TEST).iter_rows()}
    return np.array([figures.get(name, (-np.inf, np.nan)) for name in names])


def _delivered(scores: np.ndarray, chosen: Sequence[int]) -> float:
    out_of_fold, test = scores[:, :, chosen]
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
    found = [*(answer(question, sources) for question in QUESTIONS), blend(sources), metacost(sources)]
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


def parts_table(parts: dict[str, list[Source]], figure: str = TEST) -> str:
    """Return the test figures of kinds of models in parts of the data sets."""
    rows = []
    for name, sources in parts.items():
        sides = [[chosen(source, kind, figure) for source in sources] for kind in KINDS.values()]
        found = [[np.mean([*each.values()]) for each in side if each] for side in sides]
        rows.append((name, len(sources), *(f"{np.mean(values):.3f}" if values else "" for values in found)))
    return table(("", "data sets", *KINDS), rows)


KINDS = {
    "`rf`, costs ignored": named("rf") & AS_THEY_COME,
    "`rf`": named("rf") & SAME,
    "`lr`": named("lr") & SAME,
    "`lgbm`": named("lgbm") & SAME,
    "sampled or weighted": BAGGED & IN_TRAINING & SAME,
    "AdaBoosts": BOOSTED & SAME,
    "gradient boosting": GRADIENT & SAME,
    "imbalanced-learn": IMBALANCED_LEARN & SAME,
    "`stack`": STACK,
}


def components_table(comparison: Comparison) -> str:
    """Return what each component of the framework explains."""
    rows = [
        (
            component.words,
            f"{component.share:.1%}",
            f"{component.low:.1%} to {component.high:.1%}",
            *(f"{level.name} ({level.rank:.2f})" for level in (component.levels[0], component.levels[-1])),
        )
        for component in comparison.components
    ]
    return table(("component", "explains", "90% interval", "best choice (mean rank)", "worst choice"), rows)


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
    sources = {kind: bounded(read_studies([path], MEASURE)) for kind, path in asked.items() if path}
    compared = {kind: compare([asked[kind]], measure=MEASURE) for kind in sources}
    tables: dict[str, str] = {}
    for kind, studies in sources.items():
        tables |= {f"{kind} answers": answers_table(studies), f"{kind} ranks": ranks_table(compared[kind]),
                   f"{kind} components": components_table(compared[kind])}  # fmt: skip
        write_diagram(compared[kind], out / f"state-of-the-art-{kind}.svg")
    divided = {"imbalance": levels, "costs": domains}
    tables |= {f"{kind} parts": parts_table(divided[kind](sources[kind])) for kind in sources if kind in divided}
    if "costs" in sources:
        tables["costs roi"] = parts_table(domains(sources["costs"]), "test_roi")
    everything = [source for studies in sources.values() for source in studies]
    tables["first methods"] = table(
        ("method", "mean savings of the choice with it"),
        [(f"`{name}`", f"{value:.4f}") for name, value in first_methods(everything)],
    )
    write_tables(out / "state-of-the-art.md", tables)
    frames = [
        figures_of(studies, MEASURE).select(pl.lit(kind).alias("kind"), "data", "name", "figure")
        for kind, studies in sources.items()
    ]
    pl.concat(frames).write_parquet(out / "state-of-the-art.parquet", compression="zstd")


if __name__ == "__main__":
    main()
