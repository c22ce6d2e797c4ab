"""Figures as lines and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.contenders import PEERS
from benchmarks.data import PROBLEMS
from benchmarks.targets import AUC_TOLERANCE, TARGETS, Target

__all__ = ["headline", "report", "same_quality"]

Figures = Mapping[str, Any]

PLOTS = {"pair": ("Times faster than peers", "ratios"), "growth": ("Growth of time and memory", "growth")}
# So many cores that others keep busy can be seen in the figures.
DISTURBANCE = 0.2
SIDES = ("ours", "peer")

PAIR_HEADER = (
    "against", "threads", "ours, s", "peer, s", "trees", "turns", "times faster", "target", "reached",
    "AUC", "peer's", "difference", "savings", "peer's", "memory, MB", "peer's",
)  # fmt: skip


def headline(name: str, figures: Figures, targets: Mapping[str, Target] = TARGETS) -> str:
    """Return the figures of a case in a line."""
    if figures["kind"] == "pair":
        ours, peer = figures["ours"], figures["peer"]
        target = targets.get(name)
        aim = "" if target is None else f", target {target}: {_verdict(target, figures['ratio']['estimate'])}"
        return (
            f"{_times(figures['ratio'])} faster, {ours['seconds']:.3g} s against {peer['seconds']:.3g} s "
            f"({_trees(figures)} trees){aim}; AUC {ours['auc']:.4f} against {peer['auc']:.4f}"
        )
    if figures["kind"] == "growth":
        return f"{figures['seconds']:.3g} s, {_megabytes(figures)} MB"
    return "; ".join(f"{figure} {value:.4g}" for figure, value in figures["figures"].items())


def same_quality(figures: Figures) -> bool:
    """Return whether ours ranks as well as the peer with as many trees, up to the tolerance and to chance."""
    difference = figures["difference"]["auc"]
    return difference["mean"] + 2.0 * difference["error"] >= -AUC_TOLERANCE


def report(results: Mapping[str, Figures], targets: Mapping[str, Target] = TARGETS) -> str:
    """Return tables of all figures, in markdown."""
    return "\n".join(_sections(results, targets))


def _sections(results: Mapping[str, Figures], targets: Mapping[str, Target]) -> Iterator[str]:
    yield "# Benchmarks\n"
    yield from _machine(results)
    pairs = [item for item in results.items() if item[1]["kind"] == "pair"]
    for problem in PROBLEMS:
        met = [(name, figures) for name, figures in pairs if figures["problem"] == problem]
        if met:
            size = met[0][1]
            trees = max(figures["ours"]["trees"] for _, figures in met)
            yield f"## {problem}: {size['rows']:,} x {size['features']}, {trees} trees\n"
            yield from _table(PAIR_HEADER, [_pair_row(name, figures, targets) for name, figures in met])
    yield from _figures(results, targets)
    yield from _growth(results)


def _machine(results: Mapping[str, Figures]) -> Iterator[str]:
    versions: dict[str, str] = {}
    for figures in results.values():
        versions |= figures["machine"]["versions"] | figures.get("versions", {})
    machines = sorted({f"{f['machine']['cpu']}, {f['machine']['cores']} cores" for f in results.values()})
    listed = ", ".join(f"{package} {version}" for package, version in versions.items())
    yield f"On {' and '.join(machines)}; {listed}.\n"
    kinds = {figures["kind"] for figures in results.values()}
    yield from (f"![{title}]({plot}.svg)\n" for kind, (title, plot) in PLOTS.items() if kind in kinds)
    if absent := [peer for peer in PEERS if not any(f.get("peer_name") == peer for f in results.values())]:
        yield f"Not measured, or not installed: {', '.join(absent)}.\n"
    disturbed = [name for name, figures in results.items() if figures["machine"].get("others", 0.0) > DISTURBANCE]
    if disturbed:
        yield f"Other processes were busy meanwhile, which makes these doubtful: {', '.join(disturbed)}.\n"
    greedy = [f"{name} ({side})" for name, figures in results.items() for side in SIDES if _greedy(figures, side)]
    ended = [f"{name} ({side})" for name, figures in results.items() for side in SIDES if _ended(figures, side)]
    if ended:
        yield f"Boosting ended early, and rounds that were not made count as those that were: {', '.join(ended)}.\n"
    if greedy:
        yield f"Used more cores than they were allowed threads: {', '.join(greedy)}.\n"
    if any(figures.get("quick") for figures in results.values()):
        yield "Some figures are from a quick run, of few repetitions.\n"


def _ended(figures: Figures, side: str) -> bool:
    """Return whether a boosting made fewer rounds than it was asked for."""
    return figures["kind"] == "pair" and figures[side]["made"] < figures[side]["trees"]


def _greedy(figures: Figures, side: str) -> bool:
    """Return whether a side of a pair kept more cores busy than it was to have threads."""
    cores = figures.get(side, {}).get("cores")
    return cores is not None and cores > figures["threads"] + 0.25


def _pair_row(name: str, figures: Figures, targets: Mapping[str, Target]) -> tuple[str, ...]:
    ours, peer = figures["ours"], figures["peer"]
    target = targets.get(name)
    reached = "" if target is None else _verdict(target, figures["ratio"]["estimate"])
    if target is not None and not same_quality(figures):
        reached += ", AUC lower"
    difference = figures["difference"]["auc"]
    return (
        figures["peer_name"],
        str(figures["threads"]),
        f"{ours['seconds']:.3g}",
        f"{peer['whole_seconds']:.3g}",
        _trees(figures),
        str(len(ours["all_seconds"])),
        _times(figures["ratio"]),
        "" if target is None else str(target),
        reached,
        f"{ours['auc']:.4f}",
        f"{peer['auc']:.4f}",
        f"{difference['mean']:+.4f} ± {difference['error']:.4f}",
        f"{ours['savings']:.3f}",
        f"{peer['savings']:.3f}",
        _megabytes(ours),
        _megabytes(peer),
    )


def _figures(results: Mapping[str, Figures], targets: Mapping[str, Target]) -> Iterator[str]:
    rows = []
    for name, figures in results.items():
        for figure, value in figures.get("figures", {}).items():
            target = targets.get(f"{name}: {figure}")
            aim = ("", "") if target is None else (str(target), _verdict(target, value))
            rows.append((name, figure, f"{value:.4g}", *aim))
    if rows:
        yield "## Prediction, memory and start-up\n"
        yield from _table(("case", "figure", "value", "target", "reached"), rows)


def _growth(results: Mapping[str, Figures]) -> Iterator[str]:
    rows = [
        (
            figures["series"],
            figures["ours_name"],
            f"{figures['rows']:,}",
            str(figures["trees"]),
            figures["dtype"],
            f"{figures['seconds']:.3g}",
            f"{1e9 * figures['seconds'] / figures['rows'] / figures['trees']:.0f}",
            f"{figures['auc']:.4f}",
            f"{figures['savings']:.3f}",
            f"{figures['input_megabytes']:.0f}",
            f"{figures['model_megabytes']:.0f}",
            _megabytes(figures),
            _megabytes(figures, "process_megabytes"),
        )
        for figures in results.values()
        if figures["kind"] == "growth"
    ]
    if rows:
        yield "## Growth\n"
        header = ("series", "ours", "rows", "trees", "input", "s", "ns per row and tree", "AUC", "savings")
        yield from _table((*header, "input, MB", "model, MB", "peak growth, MB", "process at peak, MB"), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, tuple("-" * width for width in widths), *rows):
        yield "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
    yield ""


def _verdict(target: Target, figure: float) -> str:
    return "yes" if target.met(figure) else "NO"


def _times(ratio: Mapping[str, float]) -> str:
    return f"{ratio['estimate']:.3g}x ({ratio['low']:.3g} to {ratio['high']:.3g})"


def _trees(figures: Figures) -> str:
    ours, peer = figures["ours"]["trees"], figures["peer"]["trees"]
    return f"{ours}" if ours == peer else f"{peer} of {ours}, scaled"


def _megabytes(figures: Figures, which: str = "megabytes") -> str:
    return "" if figures[which] is None else f"{figures[which]:.0f}"
