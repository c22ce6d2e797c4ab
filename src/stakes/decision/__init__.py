"""After training: from members to one score, and from a score to an outcome (FRAMEWORK 8)."""
