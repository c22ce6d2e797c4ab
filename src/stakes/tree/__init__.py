"""The engine: binning, growing, pruning, leaf tables, predicting; a module for each step."""
