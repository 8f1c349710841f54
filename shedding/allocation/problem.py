"""An allocation problem: strata, the curve of their errors, and a budget; and what given rates cost and lose."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from shedding.allocation.admission import admitted_rows
from shedding.allocation.budget import LEAST_RATE, Allocation, Budget, Share, as_rates
from shedding.allocation.cheapest import cheapest_first
from shedding.allocation.clustering import group_by_ratio
from shedding.allocation.concept import Concept
from shedding.allocation.curve import Curve, Floats
from shedding.allocation.goal import Goal
from shedding.allocation.hull import hull_rows
from shedding.allocation.strata import Strata
from shedding.allocation.sure_row import certain_thresholds
from shedding.allocation.water_filling import bounded_rates, optimal_rates
from shedding.errors import BudgetError

LOSS = 0.01
"""With completeness required: the probability that any key at all of the slot is lost is at most this."""
UNSEEN_PART = 0.7
"""Largest part of the budget for keys that no prior knows, while others can use the rest."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What a policy is asked, with the steps that policies are made of. Everything here is a function of its fields.

    `needed` (K,): rows below which a stratum is of no use, where it has an error limit.
    """

    strata: Strata
    curve: Curve
    budget: Budget
    needed: Floats | None = None

    @classmethod
    def of(cls, concept: Concept, budget: Budget, goal: Goal, needed: Floats | None = None) -> Problem:
        """The problem of a slot's concept under a goal."""
        return cls(concept.strata, goal.curve(concept), budget, needed)

    @property
    def leaves_out(self) -> bool:
        """Whether the budget is short of what the strata need, so that `admitted` is all that can be done with it."""
        needed = 0.0 if self.needed is None else float(np.sum(self.needed * self.strata.cost))
        return needed > self.share().capacity

    def admitted(self) -> Allocation:
        """What they need for as many strata, by weight, as the budget goes round for; next to nothing of the others."""
        share = self.share()
        assert self.needed is not None
        rows = admitted_rows(self.strata, self.needed, share.capacity)
        return self.settle(rows / self.strata.population, share, sure=True)

    def share(self) -> Share:
        """Set aside what unseen keys need: rate min(1, 0.7 B / expected unseen rows), inside the budget.

        More than 0.7 B only where the other keys are whole and leave it over. Where no unseen row is expected the rate
        is 1: a key that nobody foresaw is kept whole.
        """
        strata, spendable = self.strata, self.budget.rows
        rows = self.budget.unseen_rows(strata)
        if rows <= 0:
            return Share(spendable, 1.0, 0.0, 0.0)
        row_cost = float(strata.full_cost.sum() / strata.population.sum()) if len(strata) else 1.0
        room = max(UNSEEN_PART * spendable, spendable - float(strata.full_cost.sum()))
        rate = float(as_rates(room / (rows * row_cost)))
        return Share(max(0.0, spendable - rate * rows * row_cost), rate, rows, rows * row_cost)

    def common_share(self) -> Share:
        """The budget cut so that unseen keys have the rate of all others, L / sum of costs."""
        share = self.share()
        whole = float(self.strata.full_cost.sum()) + share.unseen_cost
        rate = float(as_rates(self.budget.rows / whole)) if whole > 0 else 1.0
        return Share(self.budget.rows - rate * share.unseen_cost, rate, share.unseen_rows, share.unseen_cost)

    def whole_share(self) -> Share:
        """Unseen keys whole, whatever that costs."""
        share = self.share()
        return Share(self.budget.rows, 1.0, share.unseen_rows, share.unseen_cost)

    def floor(self) -> Floats:
        """Least rates that lose no key where completeness is required, and that meet error limits; else zeros.

        Required, and the key's smallest u is known: 1/N, one row, which `settle` then keeps with certainty.
        Required otherwise: a key of N rows is missed at rate r with probability (1 - r)^N (1/e at r = 1/N). The rates
        keep the expected number of missed keys, hence the probability of missing any, below `LOSS`:
        r = 1 - (LOSS / K)^(1/N); keys of no more than log(K / LOSS) rows are kept whole. Holds for known populations,
        for estimated ones as far as the estimate does.
        """
        strata = self.strata
        if self.needed is not None:
            return np.minimum(1.0, self.needed / strata.population)
        if self.budget.completeness == "best_effort" or not len(strata):
            return np.zeros(len(strata))
        rows = math.log(len(strata) / LOSS)
        likely = np.where(strata.population <= rows, 1.0, -np.expm1(-rows / strata.population))
        return np.where(np.isnan(strata.least_u), likely, np.minimum(1.0, 1.0 / strata.population))

    def row_floor(self, share: Share) -> Floats:
        """`floor`, and one row of every key, all scaled down alike where the share's capacity is less than that."""
        one = np.minimum(1.0, 1.0 / self.strata.population)
        cost = float(np.sum(one * self.strata.full_cost))
        return np.maximum(one * min(1.0, share.capacity / cost) if cost > 0 else one, self.floor())

    def in_proportion(self, ideal: ArrayLike, share: Share, lower: Floats) -> Floats:
        """Rates in proportion to `ideal`, at least `lower` and at most 1, that spend the share's capacity."""
        ratios = np.broadcast_to(np.asarray(ideal, dtype=np.float64), self.strata.population.shape)
        return bounded_rates(ratios, self.strata.full_cost, share.capacity, lower)

    def optimum(self, share: Share, lower: Floats) -> Floats:
        """The rates of least total error: by water filling where the curve is reciprocal, else along its hulls."""
        b, strata = self.curve.reciprocal, self.strata
        if b is not None:
            return optimal_rates(b, strata.weight, strata.full_cost, share.capacity, lower)
        least = self._affordable(share, lower) * strata.population
        return hull_rows(strata, self.curve, share.capacity, least) / strata.population

    def cheapest_first(self, share: Share, lower: Floats) -> Floats:
        """The rates that keep most rows: what `lower` leaves over is spent in order of the cost of a row."""
        return cheapest_first(self.strata, share.capacity, self._affordable(share, lower))

    def grouped_optimum(self, groups: int, share: Share, lower: Floats) -> Floats:
        """The best rates when keys of like rate in the optimum share one of `groups`.

        Keys that the optimum caps at 1 are alike, however large their ideal ratios. The paper gives a group the mean of
        its members' rates, which is a bit worse.
        """
        b, cost = self.curve.reciprocal, self.strata.full_cost
        if b is None:
            raise BudgetError("groups of rates need a goal whose errors are reciprocal: relative or variance")
        b = b * self.strata.weight
        group = group_by_ratio(np.square(self.optimum(share, lower)) * cost, cost, groups)
        ideal = np.sqrt(np.bincount(group, b) / np.bincount(group, cost))[group]
        return self.in_proportion(ideal, share, lower)

    def uniform_rate(self, capacity: float) -> float:
        """The one rate that would spend `capacity`."""
        whole = float(self.strata.full_cost.sum())
        return min(1.0, capacity / whole) if whole > 0 else 1.0

    def _affordable(self, share: Share, lower: Floats) -> Floats:
        """`lower`, as far as the share's capacity goes round beyond what completeness requires."""
        ones = np.ones(len(self.strata))
        return np.minimum(lower, bounded_rates(ones, self.strata.full_cost, share.capacity, self.floor()))

    def settle(self, rates: Floats | float, share: Share, *, sure: bool = False) -> Allocation:
        """State what these rates cost and lose; they are put into (0, 1] first.

        With `sure`, and always where completeness is required, a key whose smallest u is known gets its rows by
        `certain_thresholds`: the same number in expectation, but never none where one was meant.
        """
        strata, rates = self.strata, as_rates(np.broadcast_to(rates, self.strata.population.shape))
        shares, errors = rates.copy(), self.curve.at_rates(rates)
        rows = rates * strata.population
        known = ~np.isnan(strata.least_u) & (rates > 0)
        if (sure or self.budget.completeness == "required") and np.any(known):
            thresholds = certain_thresholds(rows[known], strata.population[known], strata.least_u[known])
            rates[known] = np.clip(thresholds, LEAST_RATE, 1.0)
        cost = float(np.sum(rows * strata.cost)) + share.unseen_rate * share.unseen_cost
        over = cost - self.budget.rows
        return Allocation(
            rates=rates,
            shares=shares,
            unseen_rate=share.unseen_rate,
            expected_rows=float(np.sum(rows)) + share.unseen_rate * share.unseen_rows,
            expected_cost=cost,
            expected_error=errors,
            total_error=self.curve.total(strata.weight, errors),
            exceeded_by=over if over > 1e-9 * self.budget.rows else 0.0,
        )
