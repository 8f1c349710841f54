"""From rates to a stated allocation: expected rows, cost and error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.budget import LEAST_RATE, Allocation, Budget, Share
from shedding.concept import Concept

Floats = NDArray[np.float64]

_NONE: Mapping[int, str] = {}


class Objective(Protocol):
    """Anything that can say how wrong keys are at given rates."""

    def errors(self, concept: Concept, rates: Floats) -> Floats:
        """Expected error of each key."""

    def total(self, concept: Concept, errors: Floats) -> float:
        """One number for all keys."""


def settle(
    concept: Concept,
    budget: Budget,
    share: Share,
    rates: Floats,
    objective: Objective,
    omitted: Mapping[int, str] = _NONE,
) -> Allocation:
    """State what these rates cost and lose; rates are put into (0, 1] first, those of omitted keys to 0."""
    rates = np.clip(rates, LEAST_RATE, 1.0)
    left_out = np.fromiter(omitted, dtype=np.int64, count=len(omitted))
    rates[left_out] = 0.0
    errors = objective.errors(concept, rates)
    rates, rows = _complete(concept, budget, rates)
    cost = float(np.sum(rows * concept.cost)) + share.unseen_rate * share.unseen_cost
    kept = errors.copy()
    kept[left_out] = 0.0  # an omitted key publishes nothing, so it adds no error
    over = cost - budget.rows
    return Allocation(
        rates=rates,
        unseen_rate=share.unseen_rate,
        expected_rows=float(np.sum(rows)) + share.unseen_rate * share.unseen_rows,
        expected_cost=cost,
        expected_error=errors,
        total_error=objective.total(concept, kept),
        omitted=dict(omitted),
        exceeded_by=over if over > 1e-9 * budget.rows else 0.0,
    )


def _complete(concept: Concept, budget: Budget, rates: Floats) -> tuple[Floats, Floats]:
    """Thresholds and expected rows; where completeness is required and the smallest u is known, one row is certain."""
    rows = rates * concept.population
    certain = ~np.isnan(concept.least_u) & (rates > 0)
    if budget.completeness == "best_effort" or not np.any(certain):
        return rates, rows
    needed = np.nextafter(concept.least_u, 1.0)  # u < needed holds for the row of smallest u
    single = certain & (rows <= 1 + 1e-9) & (rates < 1)
    rates = np.where(single, needed, np.where(certain, np.maximum(rates, needed), rates))
    missed = np.where(certain, np.power(1 - np.minimum(rows / concept.population, 1.0), concept.population), 0.0)
    return rates, np.where(single, 1.0, rows + missed)
