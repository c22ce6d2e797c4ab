"""Compare methods over many data sets: one study for each, one page for all."""
