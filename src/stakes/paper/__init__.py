"""The three applications of the paper, run again and set beside its tables."""
