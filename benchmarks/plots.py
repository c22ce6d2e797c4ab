"""Figures as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.targets import TARGETS

mpl.use("svg")
import matplotlib.pyplot as plt

__all__ = ["plot"]

Figures = Mapping[str, Any]


def plot(results: Mapping[str, Figures], directory: Path) -> None:
    """Draw what there is: how many times faster ours is, and how its time and memory grow."""
    # The same figures give the same file.
    with mpl.rc_context({"svg.hashsalt": "stakes", "font.size": 9}):
        _plot_ratios(results, directory / "ratios.svg")
        _plot_growth(results, directory / "growth.svg")


def _save(figure: Any, file: Path) -> None:
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def _plot_ratios(results: Mapping[str, Figures], file: Path) -> None:
    """Draw a bar for each pair by its largest number of threads, with its target as a line across."""
    pairs: dict[str, dict[str, tuple[str, Figures]]] = {}
    for name, figures in results.items():
        if figures["kind"] == "pair":
            known = pairs.setdefault(figures["problem"], {}).get(figures["peer_name"])
            if known is None or known[1]["threads"] < figures["threads"]:
                pairs[figures["problem"]][figures["peer_name"]] = name, figures
    if not pairs:
        return
    peers = list(dict.fromkeys(f["peer_name"] for f in results.values() if f["kind"] == "pair"))[::-1]
    size = (3.0 + 2.5 * len(pairs), 1.5 + 0.3 * len(peers))
    figure, axes = plt.subplots(1, len(pairs), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axis, (problem, met) in zip(axes[0], pairs.items(), strict=True):
        for peer, (name, figures) in met.items():
            at, times = peers.index(peer), figures["ratio"]
            axis.barh(at, times["estimate"], color="tab:blue", alpha=0.7)
            axis.plot([times["low"], times["high"]], [at, at], color="black", linewidth=1)
            if (target := TARGETS.get(name)) is not None:
                axis.plot([target.at_least] * 2, [at - 0.45, at + 0.45], color="tab:red", linewidth=2)
        axis.set(xscale="log", xlabel="times faster", title=problem, yticks=range(len(peers)), yticklabels=peers)
        axis.axvline(1.0, color="grey", linewidth=0.8)
    figure.suptitle("Times faster than peers (red: target; black: extremes of all repetitions)")
    _save(figure, file)


def _plot_growth(results: Mapping[str, Figures], file: Path) -> None:
    grown = [figures for figures in results.values() if figures["kind"] == "growth"]
    if not any(figures["series"] in ("rows", "trees") for figures in grown):
        return
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    panels = [("rows", "seconds", "s"), ("trees", "seconds", "s"), ("rows", "megabytes", "peak growth of memory, MB")]
    for axis, (series, value, label) in zip(axes, panels, strict=True):
        for ours in dict.fromkeys(f["ours_name"] for f in grown):
            mine = [f for f in grown if (f["series"], f["ours_name"]) == (series, ours) and f[value]]
            x, y = np.array([f[series] for f in mine]), np.array([f[value] for f in mine])
            if x.size:
                axis.plot(x, y, "o-", label=f"{ours}{_power(x, y, series)}")
        fixed = {"rows": "10 trees", "trees": "100,000 rows"}[series]
        axis.set(xscale="log", yscale="log", xlabel=series, ylabel=label, title=f"{fixed}, 30 features, 2 threads")
        if axis.lines:
            axis.legend()
    _save(figure, file)


def _power(x: np.ndarray, y: np.ndarray, series: str) -> str:
    """Return the exponent of growth over the larger half, where what is done once per fit hardly counts."""
    large = x >= np.sqrt(x.min() * x.max())
    if np.unique(x[large]).size < 2:
        return ""
    return f", ~ {series}^{np.polyfit(np.log(x[large]), np.log(y[large]), 1)[0]:.2f}"
