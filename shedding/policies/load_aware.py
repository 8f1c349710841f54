"""load_aware: the fewest rows dropped, the goal of load-aware shedding (Rivetti, Busnel, Querzoni, Problem 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import bounded_rates

Floats = NDArray[np.float64]

RESERVE = 0.1
"""Part of the uniform rate that every key has: dear rows are sampled less, never left out."""


@dataclass(frozen=True, slots=True)
class LoadAware:
    """The cheapest rows whole first, equal costs at equal rates, a reserve for the rest.

    Under a budget of cost and the reserve no rates keep more rows in expectation. It looks at costs alone, so it is
    for comparison: `optimal` and `posterior` spend the same cost on the error. Unlike the paper's shedder it leaves
    every row a known, positive chance, so that its answers are unbiased.
    """

    goal: Goal
    name: str = "load_aware"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Rates by cost alone, raised where completeness is required."""
        share = split(concept, budget)
        least = _least_rates(concept, share.capacity, completeness_floor(concept, budget))
        rates = _cheapest_first(concept, share.capacity, least)
        return settle(concept, budget, share, rates, self.goal)


def _least_rates(concept: Concept, capacity: float, lower: Floats) -> Floats:
    """At least `lower` and the reserve, as far as the capacity goes round."""
    whole = float(concept.full_cost.sum())
    reserve = min(1.0, RESERVE * capacity / whole) if whole > 0 else 1.0
    affordable = bounded_rates(np.ones(len(concept)), concept.full_cost, capacity, lower)
    return np.minimum(np.maximum(lower, reserve), affordable)


def _cheapest_first(concept: Concept, capacity: float, least: Floats) -> Floats:
    """What the least rates leave over, spent class by class in order of the cost of a row."""
    classes, of_key = np.unique(concept.cost, return_inverse=True)
    missing = np.bincount(of_key, (1.0 - least) * concept.full_cost, classes.size)
    before = np.concatenate([[0.0], np.cumsum(missing)[:-1]]) if classes.size else missing
    left = max(0.0, capacity - float(least @ concept.full_cost))
    filled = np.divide(np.clip(left - before, 0.0, missing), missing, out=np.zeros(classes.size), where=missing > 0)
    return np.asarray(least + (1.0 - least) * filled[of_key])
