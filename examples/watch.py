"""Watch a model in service: whether its mistakes cost what was expected of them.

python examples/watch.py decisions.csv outcomes.csv --target churn --positive leaves
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Watched:
    """What mistakes have cost, beside what was expected of them when it was decided."""

    n_records: int
    expected: float
    realised: float
    error: float  # standard error of the difference, if probabilities and costs are right

    @property
    def alarm(self) -> bool:
        """Whether the difference is larger than chance explains: three standard errors."""
        return abs(self.realised - self.expected) > 3 * self.error


def realised_costs(decided: pl.DataFrame, positive: np.ndarray, label: str) -> dict[str, Watched]:
    """Compare realised costs with expected ones: of the records acted on, and of those left alone.

    Apart, because probabilities that are all too low make the former too dear and the latter too cheap. `decided` is
    what `stakes apply` wrote, `positive` which of its records turned out to be positive, and `label` what the positive
    class is called.
    """
    p = decided["probability"].to_numpy()
    acted = (decided["decision"] == label).to_numpy()
    # Divided by their probabilities, expected costs are the costs themselves.
    fp = decided["expected_cost_if_positive"].to_numpy() / np.maximum(1 - p, 1e-12)
    fn = decided["expected_cost_if_negative"].to_numpy() / np.maximum(p, 1e-12)
    found = {}
    for name, of, cost, chance, wrong in (
        ("acted on", acted, fp, 1 - p, ~positive),
        ("left alone", ~acted, fn, p, positive),
    ):
        found[name] = Watched(
            n_records=int(of.sum()),
            expected=float((chance * cost)[of].sum()),
            realised=float(cost[of & wrong].sum()),
            error=float(np.sqrt((chance * (1 - chance) * cost**2)[of].sum())),
        )
    return found


def main() -> None:
    """Print what the costs of a file of decisions have turned out to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("decisions", help="written by stakes apply")
    parser.add_argument("outcomes", help="the same records, in the same order, with what they turned out to be")
    parser.add_argument("--target", required=True, help="column of the outcomes")
    parser.add_argument("--positive", required=True, help="what the positive class is called")
    given = parser.parse_args()
    outcome = pl.read_csv(given.outcomes)[given.target].cast(pl.String)
    watched = realised_costs(pl.read_csv(given.decisions), (outcome == given.positive).to_numpy(), given.positive)
    for name, part in watched.items():
        verdict = "more than chance explains" if part.alarm else "as expected, but for chance"
        print(f"{part.n_records:,} {name}: expected {part.expected:,.2f}, realised {part.realised:,.2f}, {verdict}")


if __name__ == "__main__":
    main()
