"""What is to be reached: at least so many times faster than a peer, or at most so many seconds or megabytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AUC_TOLERANCE", "ENGINE_TARGETS", "TARGETS", "Target"]

# AUCs that differ by less are the same.
AUC_TOLERANCE = 0.005


@dataclass(frozen=True)
class Target:
    """A bound on a figure, from below or from above."""

    at_least: float | None = None
    at_most: float | None = None

    def met(self, figure: float) -> bool:
        """Return whether a figure keeps to the bound."""
        above = self.at_least is None or figure >= self.at_least
        return above and (self.at_most is None or figure <= self.at_most)

    def __str__(self) -> str:
        return f">= {self.at_least:g}" if self.at_least is not None else f"<= {self.at_most:g}"


def _faster(peer: str, times: float, *problems: str, threads: int = 2) -> dict[str, Target]:
    return {f"{peer}/{problem}/{threads}": Target(at_least=times) for problem in problems}


# By the name of a pair; or by the name of a case and of one of its figures.
TARGETS = {
    **_faster("scikit-learn bagging", 45, "noisy"),
    **_faster("scikit-learn bagging", 200, "rare"),
    **_faster("scikit-learn forest", 18, "noisy"),
    **_faster("scikit-learn forest", 35, "rare"),
    **_faster("scikit-learn forest", 20, "big"),
    **_faster("scikit-learn AdaBoost", 130, "noisy", "rare"),
    **_faster("imbalanced-learn forest", 10, "noisy", "rare"),
    **_faster("imbalanced-learn RUSBoost", 10, "noisy", "rare"),
    **_faster("imbalanced-learn RUSBoost, deeper", 10, "noisy", "rare"),
    **_faster("imbalanced-learn EasyEnsemble", 10, "noisy", "rare"),
    **_faster("empulse forest", 5, "noisy", "rare"),
    **_faster("empulse bagging", 50, "noisy", "rare"),
    **_faster("empulse forest, ours deeper", 5, "noisy", "rare"),
    **_faster("empulse bagging, ours deeper", 50, "noisy", "rare"),
    **_faster("YDF forest", 8, "noisy", "rare"),
    **_faster("YDF bagging", 12, "noisy", "rare"),
    **_faster("LightGBM bagging", 5, "rare"),
    **_faster("LightGBM forest", 5, "rare"),
    **_faster("R rpart bagging", 60, "noisy", "rare", threads=1),
    "prediction/leaf ids: times faster than scikit-learn's predict_proba": Target(at_least=2),
    **{f"prediction/single row, {kind}: milliseconds": Target(at_most=1) for kind in ("bagging", "forest", "AdaBoost")},
    "prediction/decisions: seconds": Target(at_most=3),
}

# What the engine alone has to reach, by itself.
ENGINE_TARGETS = {
    **_faster("scikit-learn bagging", 30, "noisy"),
    **_faster("scikit-learn forest", 12, "noisy"),
    "memory/forest: megabytes": Target(at_most=500),
    "start-up: seconds to compile all kernels": Target(at_most=15),
    "start-up: seconds of the first fit in a later process": Target(at_most=1),
}
