"""What moved the score of a record, feature by feature: values that add up to it."""

from stakes.explain.explanation import Explanation

__all__ = ["Explanation"]
