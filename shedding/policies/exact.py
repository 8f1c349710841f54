"""exact: nothing is shed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, Share, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal


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
