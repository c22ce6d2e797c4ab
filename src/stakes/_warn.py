"""Warnings that name the line of the user."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["warn"]

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and name the line that called the package, however deep in it the reason was found."""
    frame, level = sys._getframe(), 1
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
