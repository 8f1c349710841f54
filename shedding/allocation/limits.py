"""Errors that a user will not see: keys that cannot meet a limit are omitted, or the budget is made to fit.

Mozafari and Zaniolo, Sec. V-D: subset results, and the capacity that a quality needs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.allocation.budget import Allocation, Budget, completeness_floor, split
from shedding.allocation.goals import Goal
from shedding.allocation.outcome import settle
from shedding.allocation.ratios import optimal_rates
from shedding.concept import Concept
from shedding.errors import BudgetError

Floats = NDArray[np.float64]


def rates_for_error(concept: Concept, goal: Goal, limit: ArrayLike) -> Floats:
    """The least rate at which each key's expected error is at most `limit` (one number, or one a key).

    sqrt(b (1/r - 1)) <= e gives r = b / (b + e^2); a limit of 0 asks for all rows.

    >>> rates_for_error(Concept.grouped([100], cv=[1.0]), Goal(), 0.1)
    array([0.5])
    """
    allowed = np.asarray(limit, dtype=np.float64)
    if np.any(allowed < 0) or np.any(np.isnan(allowed)):
        raise BudgetError("an error limit is a number that is not negative; use infinity for no limit")
    if goal.name == "support":
        raise BudgetError("error limits are defined for the goals relative and variance; choose one of them")
    b = goal.coefficients(concept)
    return b / (b + np.square(allowed))


def least_budget(concept: Concept, goal: Goal, limit: ArrayLike) -> float:
    """The cost of meeting the limit for every key: the least budget with which `allocate_subset` omits none."""
    return float(np.sum(rates_for_error(concept, goal, limit) * concept.full_cost))


def allocate_subset(concept: Concept, budget: Budget, goal: Goal, limit: ArrayLike) -> Allocation:
    """The optimum among keys that can all meet their limit; the others are omitted and their budget goes to these.

    Keys are admitted by weight over the cost of meeting their limit, as many as the budget holds; that maximises the
    admitted weight up to one key. A key that one skips for lack of budget ends the list, so a larger budget never
    omits a key that a smaller one admitted. With completeness required nothing is omitted, if need be over budget.
    """
    share = split(concept, budget)
    need = np.maximum(rates_for_error(concept, goal, limit), completeness_floor(concept, budget))
    cost = need * concept.full_cost
    order = np.argsort(-concept.weight / np.maximum(cost, np.finfo(np.float64).tiny), kind="stable")
    fits = np.cumsum(cost[order]) <= share.capacity * (1 + 1e-12)
    admitted = np.ones(len(concept), dtype=np.bool_)
    if budget.completeness == "best_effort":
        admitted[order] = fits
    rates = np.zeros(len(concept))
    rates[admitted] = optimal_rates(
        goal.coefficients(concept)[admitted],
        concept.weight[admitted],
        concept.full_cost[admitted],
        share.capacity,
        need[admitted],
    )
    why = "its error limit needs {:.4g} cost units, more than the budget leaves"
    omitted = {int(k): why.format(cost[k]) for k in np.flatnonzero(~admitted)}
    return settle(concept, budget, share, rates, goal, omitted)
