"""Classifiers that learn and decide by what their mistakes cost."""

from stakes.costs import Costs

__version__ = "0.1.0"

__all__ = ["Costs", "__version__"]
