"""Scores to draw, and what a figure shows of them."""

import pytest

from stakes.plots import (
    CostCurveDisplay,
    CostROCDisplay,
    CostSensitivityDisplay,
    GainDisplay,
    ReliabilityDisplay,
)

PREDICTION_DISPLAYS = [CostCurveDisplay, CostROCDisplay, CostSensitivityDisplay, GainDisplay, ReliabilityDisplay]
every_display = pytest.mark.parametrize("display_class", PREDICTION_DISPLAYS)
CONSTANT = {"fp_cost": 2.0, "fn_cost": 9.0}


def drawn(ax):
    """Draw for real, which is when matplotlib finds most of its errors, and return the entries of the legend."""
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def texts(ax):
    return [text.get_text() for text in ax.texts]


def curves(ax):
    """Return the lines that are neither references nor single points."""
    return [line for line in ax.lines if line.get_gid() is None and len(line.get_xdata()) > 2]
