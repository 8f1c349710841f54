"""The policies that look at no spread: exact, uniform, proportional."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.budget import (
    Allocation,
    Budget,
    Share,
    as_rates,
    completeness_floor,
    one_row_floor,
    split,
)
from shedding.allocation.goals import Goal
from shedding.allocation.outcome import settle
from shedding.allocation.ratios import bounded_rates
from shedding.concept import Concept


@dataclass(frozen=True, slots=True)
class Exact:
    """All rows, whatever the budget; `exceeded_by` says what that is over it."""

    goal: Goal
    name: str = "exact"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Rate 1 for every key, seen or not."""
        share = split(concept, budget)
        everything = Share(budget.rows, 1.0, share.unseen_rows, share.unseen_cost)
        return settle(concept, budget, everything, np.ones(len(concept)), self.goal)


@dataclass(frozen=True, slots=True)
class Uniform:
    """One rate for all keys, L / sum of costs (Eq. 10), unseen keys included; spends the whole budget."""

    goal: Goal
    name: str = "uniform"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The common rate, raised where completeness is required."""
        share = split(concept, budget)
        whole = float(concept.full_cost.sum()) + share.unseen_cost
        rate = float(as_rates(budget.rows / whole)) if whole > 0 else 1.0
        shared = Share(budget.rows - rate * share.unseen_cost, rate, share.unseen_rows, share.unseen_cost)
        floor = completeness_floor(concept, budget)
        rates = bounded_rates(np.ones(len(concept)), concept.full_cost, shared.capacity, floor)
        return settle(concept, budget, shared, rates, self.goal)


@dataclass(frozen=True, slots=True)
class Proportional:
    """Resources in proportion to importance (Eq. 11), which is weight times frequency as in Example 1; capped at 1.

    r_k = v_k N_k / sum(v N) * L / c_k, and a grouped query pays c_k = N_k for a key: rates go by the weights, rows by
    the keys' sizes. As far as the budget goes round a key gets at least one row, n_k = max(1, lambda v_k N_k); it is a
    sure one where the key's smallest u is known. What a capped key cannot use goes to the others in the same
    proportion, so that comparisons are made at equal rows.
    """

    goal: Goal
    name: str = "proportional"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Rates by weight, raised to a row a key, and further where completeness is required."""
        share = split(concept, budget)
        floor = np.maximum(one_row_floor(concept, share.capacity), completeness_floor(concept, budget))
        rates = bounded_rates(concept.weight / concept.cost, concept.full_cost, share.capacity, floor)
        return settle(concept, budget, share, rates, self.goal, certain=True)
