"""From rates to a stated allocation: expected rows, cost and error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shedding.policies.budget import LEAST_RATE, Allocation, Budget, Share, as_rates
from shedding.policies.concept import Concept

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
    *,
    certain: bool = False,
) -> Allocation:
    """State what these rates cost and lose; rates are put into (0, 1] first, those of omitted keys to 0.

    With `certain`, and always where completeness is required, a key whose smallest u is known gets its rows by
    `certain_thresholds`: the same number in expectation, but never none where one was meant.
    """
    rates = as_rates(rates)
    left_out = np.fromiter(omitted, dtype=np.int64, count=len(omitted))
    rates[left_out] = 0.0
    errors = objective.errors(concept, rates)
    rows = rates * concept.population
    known = ~np.isnan(concept.least_u) & (rates > 0)
    if (certain or budget.completeness == "required") and np.any(known):
        thresholds = certain_thresholds(rows[known], concept.population[known], concept.least_u[known])
        rates[known] = np.clip(thresholds, LEAST_RATE, 1.0)
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


def certain_thresholds(rows: Floats, population: Floats, least_u: Floats) -> Floats:
    """Thresholds on u that keep n of N rows in expectation, one of them with certainty where n >= 1.

    The smallest u of the key, L, is known. n >= 1: L and (n - 1) / (N - 1) of what lies above it, so that the other
    N - 1 rows bring n - 1. n < 1: L alone, in the share n of all cases (those with L < 1 - (1 - n)^(1/N)). Which rows
    are kept depends on u alone, so given their number they are a simple random sample. Monotone in n, hence nested.

    >>> certain_thresholds(np.array([1.0, 2.0, 4.0]), np.full(3, 4.0), np.full(3, 0.25)).round(3)
    array([0.25, 0.5 , 1.  ])
    """
    needed = np.nextafter(least_u, 1.0)  # u < needed holds for the row of smallest u
    more = needed + (1.0 - needed) * np.clip((rows - 1.0) / np.maximum(population - 1.0, 1.0), 0.0, 1.0)
    with np.errstate(divide="ignore"):
        chance = -np.expm1(np.log1p(-np.minimum(rows, 1.0)) / population)
    return np.where(rows >= population * (1 - 1e-12), 1.0, np.where(rows < 1.0, np.minimum(chance, needed), more))
