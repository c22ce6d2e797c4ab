"""How fast stakes is, and how good, beside its peers: `python -m benchmarks` from the root of the repository."""
