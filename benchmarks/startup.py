"""What the first fit costs: on a new machine, where kernels are compiled, and in every later process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from benchmarks.cases import Limits

__all__ = ["STARTUP", "StartUp"]

# Everything that has kernels, each step timed; then the same again, which is the time without compilation.
SCRIPT = """
import json, time
start = time.perf_counter()
import numpy as np
from stakes import CostBaggingClassifier, CostBoostClassifier, CostTreeClassifier, Decision
seconds = {"import": time.perf_counter() - start}
busy = {}
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 10), dtype=np.float32)
y = (X[:, 0] + rng.normal(size=2000) > 1).astype(int)
costs = {"fp_cost": rng.uniform(1, 2, 2000), "fn_cost": rng.uniform(1, 9, 2000)}
tuned = Decision(member="tuned", output="vote", vote_weight="accuracy", threshold="tuned")
steps = {
    "first fit": lambda: CostBaggingClassifier(n_estimators=2, random_state=0).fit(X, y, **costs),
    "predict": lambda: CostBaggingClassifier(n_estimators=2, random_state=0).fit(X, y, **costs).predict(X, **costs),
    "cost tree, pruned": lambda: CostTreeClassifier(criterion="cost", pruning="reduced_error").fit(X, y, **costs),
    "tuned votes": lambda: CostBaggingClassifier(n_estimators=2, decision=tuned, random_state=0).fit(X, y, **costs),
    "boosting": lambda: CostBoostClassifier(n_estimators=2).fit(X, y, **costs).predict(X, **costs),
}
for turn in ("", "again "):
    for name, step in steps.items():
        start, begun = time.perf_counter(), time.process_time()
        step()
        seconds[turn + name] = time.perf_counter() - start
        busy[turn + name] = time.process_time() - begun
print(json.dumps({"seconds": seconds, "busy": busy, "steps": list(steps)}))
"""


@dataclass(frozen=True)
class StartUp:
    """Two new processes, one after the other, that share a cache of kernels which is empty at first."""

    name: str = "start-up"
    environment: str = "peers"
    threads: int = 2
    quick: bool = True

    def run(self, limits: Limits) -> dict[str, Any]:
        """Return the seconds of the first fits, and of all compilation."""
        with tempfile.TemporaryDirectory() as cache:
            first, later = (_process(cache) for _ in range(2))
        return {
            "kind": "figures",
            "figures": {
                "seconds to compile all kernels": _beyond(first, "seconds"),
                "CPU seconds to compile all kernels": _beyond(first, "busy"),
                "seconds of the first fit on a new machine": first["seconds"]["first fit"],
                "seconds of the first fit in a later process": later["seconds"]["first fit"],
                "seconds to load all kernels in a later process": _beyond(later, "seconds"),
                "seconds to import stakes": later["seconds"]["import"],
            },
        }


def _beyond(process: dict[str, Any], clock: str) -> float:
    """Return how much longer all steps took the first time than the second."""
    times = process[clock]
    return sum(times[step] - times[f"again {step}"] for step in process["steps"])


def _process(cache: str) -> dict[str, Any]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


#: The benchmark of the first fit, by name.
STARTUP = {"start-up": StartUp()}
