"""posterior: the allocation that knows that its estimates will be shrunk to history (estimates.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.policies.allocation import settle
from shedding.policies.budget import Allocation, Budget, completeness_floor, split
from shedding.policies.concept import Concept
from shedding.policies.goal import Goal
from shedding.policies.posterior_curve import PosteriorCurve, posterior_rates

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _PosteriorObjective:
    curve: PosteriorCurve

    def errors(self, concept: Concept, rates: Floats) -> Floats:
        return self.curve.errors(rates)

    def total(self, concept: Concept, errors: Floats) -> float:
        return float(np.sum(concept.weight / concept.weight.sum() * errors)) if len(concept) else 0.0


@dataclass(frozen=True, slots=True)
class Posterior:
    """The least mean relative error after shrinkage; a tenth of the uniform rate is every key's.

    `expected_error` is the posterior error s(n) of each key, `total_error` its weighted mean; the goal does not change
    them: shrinkage is defined for relative errors. Its curves count rows, so a key whose smallest u was kept at arrival
    gets the one row it was given for sure (`certain_thresholds`), where coin flips lose it in e^-n of all cases.
    """

    goal: Goal
    name: str = "posterior"

    def allocate(self, concept: Concept, budget: Budget) -> Allocation:
        """The greedy rates along the keys' posterior curves, within lower bounds where completeness is required."""
        share = split(concept, budget)
        curve = PosteriorCurve.of(concept)
        rates = posterior_rates(concept, curve, share.capacity, completeness_floor(concept, budget))
        return settle(concept, budget, share, rates, _PosteriorObjective(curve), certain=True)
