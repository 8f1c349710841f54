"""What a pool's rates cost and could at best gain, from the rows themselves and not from counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.pool import Member
from shedding.allocation.water_filling import optimal_rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def row_union(keys: Sequence[Ints], rates: Sequence[Floats]) -> float:
    """Rows kept by at least one member: each with the largest of its rates."""
    return float(np.max([own[key] for own, key in zip(rates, keys, strict=True)], axis=0).sum())


def squared_goal(members: Sequence[Member], rates: Sequence[Floats]) -> float:
    """G: the sum over members of weight times the weighted mean of squared errors."""
    return sum(
        one.weight * one.curve.total(one.strata.weight, one.curve.at_rates(own)) ** 2
        for one, own in zip(members, rates, strict=True)
    )


def dual_bound(members: Sequence[Member], keys: Sequence[Ints], budget: float, rounds: int = 150) -> float:
    """No rates whose union is within the budget have a smaller G: the best of many splits of the rows' prices.

    Any split of each row's price among the members is a bound, because a row's largest rate is at least any mean of
    its rates. The splits are running means of "the largest rate pays", a subgradient method.
    """
    b = _coefficients(members)
    ends = np.cumsum([len(one.strata) for one in members])[:-1]
    split = np.full((len(members), keys[0].size), 1.0 / len(members))
    best = 0.0
    for turn in range(rounds):
        paid = np.concatenate([np.bincount(key, own) for key, own in zip(keys, split, strict=True)])
        rates = optimal_rates(b, 1.0, np.maximum(paid, 1e-9), budget)
        best = max(best, float(np.sum(b * (1.0 / rates - 1.0))))
        laid = np.stack([own[key] for own, key in zip(np.split(rates, ends), keys, strict=True)])
        largest = (laid >= laid.max(axis=0)).astype(np.float64)
        split += (largest / largest.sum(axis=0) - split) * 2.0 / (turn + 3)
    return best


def summed_optimum(members: Sequence[Member], budget: float) -> list[Floats]:
    """The paper's pooled optimum: one common lambda, each member's rows paid for though another keeps them too."""
    b = _coefficients(members)
    cost = np.concatenate([one.strata.full_cost for one in members])
    return np.split(optimal_rates(b, 1.0, cost, budget), np.cumsum([len(one.strata) for one in members])[:-1])


def _coefficients(members: Sequence[Member]) -> Floats:
    """b of G's terms b (1 / r - 1), for keys of equal weight."""
    found = []
    for one in members:
        assert one.curve.reciprocal is not None
        found.append(one.curve.reciprocal * one.weight / len(one.strata))
    return np.concatenate(found)
