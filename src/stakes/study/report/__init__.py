"""The report of a study: one HTML file that needs nothing else, for people who decide."""

from stakes.study.report.page import render, write_report

__all__ = ["render", "write_report"]
