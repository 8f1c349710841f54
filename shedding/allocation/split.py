"""A key's rows split by cost: what its error takes is allocated by key, and spent within the key where it is cheap."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.budget import Allocation, Budget
from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal
from shedding.allocation.problem import Problem

Floats = NDArray[np.float64]
Shares = Callable[[Problem], Floats]


def whole_keys(concept: Concept) -> Concept:
    """The keys behind a concept of (key, cost class), each with the cost of one effective row.

    Rates r_h = rho E[sqrt c] / sqrt(c_h) give a key with equal spreads the variance of rho N rows drawn alike, for
    rho N E[sqrt c]^2 seconds: that is the price of a row of the key, below its mean cost where costs differ.
    """
    _, first, key = np.unique(concept.strata_key, return_index=True, return_inverse=True)
    rows = np.bincount(key, concept.population).astype(np.float64)
    root = np.bincount(key, concept.population * np.sqrt(concept.cost)) / rows
    least = np.full(rows.size, np.inf)
    with np.errstate(invalid="ignore"):
        np.minimum.at(least, key, concept.least_u)  # nan, unknown, stays nan
    return Concept(
        population=rows,
        known=concept.known,
        cv=concept.cv[first],
        scale=concept.scale[first],
        prior_variance=concept.prior_variance[first],
        weight=np.bincount(key, np.sqrt(concept.weight)).astype(np.float64)
        ** 2,  # of strata v q^2 each, with q the shares
        cost=root**2,
        least_u=least,
    )


def split_by_cost(concept: Concept, budget: Budget, goal: Goal, shares: Shares, reserve: float) -> Allocation:
    """Rates of (key, cost class): by `shares` of the keys' own problem, then as 1 / sqrt(cost) within each key.

    Keeps the budget as every policy does; `reserve` is the part of it that stays uniform.
    """
    key = np.unique(concept.strata_key, return_inverse=True)[1]
    keys = whole_keys(concept)
    ideal = shares(Problem.of(keys, budget, goal))[key] * np.sqrt(keys.cost[key] / concept.cost)
    problem = Problem.of(concept, budget, Goal("relative"))
    share = problem.share()
    lower = problem.floor().clip(problem.uniform_rate(reserve * share.capacity))
    return problem.settle(problem.in_proportion(ideal, share, lower), share, sure=True)
