"""Optimal load shedding by hand: Example 1, Lemma 4, Equations 14 to 16."""

from __future__ import annotations

import numpy as np

from shedding.allocation.water_filling import optimal_rates
from tests.reproduce.evidence import Evidence


def run(evidence: Evidence) -> None:
    """Example 1's three goals; equal rates under relative errors; the closed form is the general one."""
    frequency, ratio = np.array([1.0, 4.0]), 30 / 24
    uniform, proportional = np.full(2, ratio / 2), frequency / frequency.sum() * ratio
    best = optimal_rates(frequency, 1.0, np.ones(2), ratio)
    goals = [float(np.sum(frequency * (1 / rates - 1))) for rates in (uniform, proportional, best)]
    evidence.expect(
        "Optimal, Example 1", "G of uniform, proportional, optimal (W = 24, L = 30, f = 1, 4)",
        paper="3, 3, 2.2 at r = (10/24, 20/24)", measured=", ".join(f"{goal:.4g}" for goal in goals),
        verdict="reproduced", holds=np.allclose(goals, (3, 3, 2.2)) and np.allclose(best * 24, (10, 20)),
    )  # fmt: skip
    rng = np.random.default_rng(4)
    counts = rng.uniform(1, 1e4, 500)
    equal = optimal_rates(np.ones_like(counts), 1.0, np.ones_like(counts), 0.1 * counts.size)
    evidence.expect(
        "Optimal, Lemma 4", "COUNT under relative errors: largest over least rate of the optimum",
        paper="1 (uniform)", measured=f"{equal.max() / equal.min():.12g}", verdict="reproduced",
        holds=np.allclose(equal, 0.1, rtol=1e-12),
    )  # fmt: skip
    cost = rng.uniform(0.5, 2, counts.size)
    capacity = 0.002 * float(cost.sum())
    linear = optimal_rates(counts, 1.0, cost, capacity, method="linear")
    sorting = optimal_rates(counts, 1.0, cost, capacity, method="sorting")
    closed = float(np.sum(np.sqrt(counts * cost))) ** 2 / capacity
    reached = float(np.sum(counts / linear))
    evidence.expect(
        "Optimal, Eq. 14-16", "critical setting: closed form against sorting, and against Eq. 16's value",
        paper="equal", measured=f"{np.abs(linear / sorting - 1).max():.1e}, {abs(reached / closed - 1):.1e} apart",
        verdict="with an erratum", holds=np.allclose(linear, sorting, rtol=1e-9) and np.isclose(reached, closed),
        why="Algorithm 1, step 2 must divide by u",
    )  # fmt: skip
