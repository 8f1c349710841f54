"""How long the optimum takes for millions of keys: the linear form, and the sorting one it replaces (Table I, Fig. 5c).

Problems are critical settings with variable costs: b log-normal, v and c uniform, a budget of 1 % of the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.water_filling import optimal_rates

Floats = NDArray[np.float64]
SIZES = {"1M": 1_000_000, "10M": 10_000_000, "20M": 20_000_000}
PAPER = {"10M": 0.758, "20M": 1.515}


def problem(keys: int) -> tuple[Floats, Floats, Floats, float]:
    """A seeded critical setting: (b, v, c, capacity)."""
    rng = np.random.default_rng(keys)
    b = rng.standard_normal(keys)
    np.exp(np.multiply(b, 0.5, out=b), out=b)
    v = rng.uniform(0.5, 2.0, keys)
    c = rng.uniform(0.5, 2.0, keys)
    return b, v, c, 0.01 * float(c.sum())


def run(bench: Any) -> None:
    """Measure both forms at each size, one size in memory at a time."""
    linear_seconds: dict[str, float] = {}
    for label, keys in SIZES.items():
        b, v, c, capacity = problem(keys)

        def linear() -> Floats:
            return optimal_rates(b, v, c, capacity, method="linear")  # noqa: B023 - measured before the next size

        def sorting() -> Floats:
            return optimal_rates(b, v, c, capacity, method="sorting")  # noqa: B023

        np.testing.assert_allclose(linear(), sorting(), rtol=1e-9)
        seconds = bench.measure({label: linear, f"sorting_{label}": sorting}, repetitions=5, warmup=1)
        linear_seconds[label] = seconds[label]
        bench.ratio(f"sorting_over_linear_{label}", seconds[f"sorting_{label}"] / seconds[label])
        inputs = (b.nbytes + v.nbytes + c.nbytes) / 2**20
        bench.ratio(f"memory_over_input_{label}", 1 + bench.grown_mb[label] / inputs)
        beside = f", the paper reports {PAPER[label]} s" if label in PAPER else ""
        bench.note(f"{label}: input arrays {inputs:.0f} MB{beside}")
    bench.ratio("growth_10M_to_20M", linear_seconds["20M"] / linear_seconds["10M"])
