"""The policies that look at no spread: exact, uniform, proportional."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.budget import LEAST_RATE, Allocation, Budget, Share, completeness_floor, split
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
        rate = max(LEAST_RATE, min(1.0, budget.rows / whole)) if whole > 0 else 1.0
        shared = Share(budget.rows - rate * share.unseen_cost, rate, share.unseen_rows, share.unseen_cost)
        floor = completeness_floor(concept, budget)
        rates = bounded_rates(np.ones(len(concept)), concept.full_cost, shared.capacity, floor)
        return settle(concept, budget, shared, rates, self.goal)


@dataclass(frozen=True, slots=True)
class Proportional:
    """Resources in proportion to importance (Eq. 11): r_k = v_k / sum(v) * L / c_k, capped at 1.

    A key's cost is that of all its rows, so equal weights give every key an equal number of rows. As in the paper
    (footnote 11) what a capped key cannot use is not given to others: the budget is kept, not always spent.
    """

    goal: Goal
    name: str = "proportional"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """Equal resources for equal weights, raised where completeness is required."""
        share = split(concept, budget)
        floor = completeness_floor(concept, budget)
        ideal = concept.weight / concept.weight.sum() / concept.full_cost
        within = bounded_rates(ideal, concept.full_cost, share.capacity, floor)
        printed = np.maximum(np.minimum(1.0, ideal * share.capacity), floor)
        # The floors may cost more than the caps leave over; then all other keys give way in proportion.
        return settle(concept, budget, share, np.minimum(within, printed), self.goal)
