"""The report of a study: one HTML file that needs nothing else, for people who decide; and a model card."""

from stakes.study.report.page import render, render_card, write_report

__all__ = ["render", "render_card", "write_report"]
