"""CoD: concept-driven load shedding (Katsipoulakis, Labrinidis, Chrysanthis, Sec. V and VI)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.water_filling import bounded_rates


@dataclass(frozen=True, slots=True)
class ConceptDriven:
    """Frequent keys at one common rate, infrequent ones at more, rare ones whole.

    The concept is the frequency of the keys. A key with at least the mean number of rows is represented in proportion,
    at the concept's rate q; a smaller one gets as many rows as a key of mean size would, q mean(N), and is whole if it
    has no more than that: r_k = min(1, q max(1, mean(N) / N_k)). q is chosen so that the budget is met, where the paper
    lets the whole keys come on top. The guarantee that no key is lost is `completeness: required`.
    A scalar query has one key and one rate.
    """

    goal: Goal
    name: str = "cod"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The concept's rates, raised where completeness is required."""
        share = split(concept, budget)
        size = float(concept.population.mean()) if len(concept) else 1.0
        ideal = np.maximum(1.0, size / concept.population)
        rates = bounded_rates(ideal, concept.full_cost, share.capacity, completeness_floor(concept, budget))
        return settle(concept, budget, share, rates, self.goal)
