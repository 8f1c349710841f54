"""What may be spent, and what an allocation says it will spend."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shedding.errors import BudgetError
from shedding.policies.concept import Concept

Floats = NDArray[np.float64]

LOSS = 0.01
"""With completeness required: the probability that any key at all of the slot is lost is at most this."""
UNSEEN_PART = 0.7
"""Largest part of the budget for keys that no prior knows, while others can use the rest (estimates.md)."""
LEAST_RATE = 2.0**-53
"""The smallest positive threshold that can keep a row; rates are never 0 except for omitted keys."""
_LESS_THAN_WHOLE = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class Budget:
    """`rows` that may be processed in expectation (cost units, where rows cost unequally).

    completeness "required" keeps every key, if need be over budget; "best_effort" keeps the budget. With estimated
    populations, `unseen_share` of the slot's rows are expected from keys that no prior knows; `slot_rows` is the
    number of all rows if the caller knows it.
    """

    rows: float
    completeness: Literal["best_effort", "required"] = "best_effort"
    unseen_share: float = 0.0
    slot_rows: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rows) and self.rows > 0):
            raise BudgetError(f"a budget is a positive, finite number of rows, got {self.rows}")
        if not 0 <= self.unseen_share <= 1:
            raise BudgetError(f"unseen_share is a share of the rows in [0, 1], got {self.unseen_share}")

    def unseen_rows(self, concept: Concept) -> float:
        """Expected rows of keys that no prior knows; none where the keys were counted at arrival."""
        if concept.known:
            return 0.0
        if self.slot_rows is not None:
            return self.unseen_share * self.slot_rows
        seen = float(concept.population.sum())
        return seen * self.unseen_share / (1 - self.unseen_share) if self.unseen_share < 1 else 0.0


@dataclass(frozen=True, slots=True)
class Allocation:
    """Rates of a slot and what they are expected to cost and to lose.

    rates (K,) in (0, 1], 0 only for `omitted` keys (index -> why). unseen_rate: for keys that the concept does not
    hold. expected_error (K,): the goal's own error of each key (see `Goal.errors`); total_error: its weighted mean
    (root of the mean square where the goal is squared). exceeded_by: cost beyond the budget, 0 where it is kept.
    """

    rates: Floats
    unseen_rate: float
    expected_rows: float
    expected_cost: float
    expected_error: Floats
    total_error: float
    omitted: Mapping[int, str] = field(default_factory=dict)
    exceeded_by: float = 0.0


@dataclass(frozen=True, slots=True)
class Share:
    """The budget cut in two: `capacity` for the concept's keys, and the rate of the unseen stratum with its cost."""

    capacity: float
    unseen_rate: float
    unseen_rows: float
    unseen_cost: float


def as_rates(shares: Floats | float) -> Floats:
    """Shares of rows as rates in [LEAST_RATE, 1]; what is 1 but for rounding is 1: all rows leave none out."""
    return np.where(np.asarray(shares) > _LESS_THAN_WHOLE, 1.0, np.maximum(shares, LEAST_RATE))


def split(concept: Concept, budget: Budget) -> Share:
    """Set aside what unseen keys need: rate min(1, 0.7 B / expected unseen rows), inside the budget.

    More than 0.7 B only where the other keys are whole and leave it over. Where no unseen row is expected the rate
    is 1: a key that nobody foresaw is kept whole.
    """
    rows = budget.unseen_rows(concept)
    if rows <= 0:
        return Share(budget.rows, 1.0, 0.0, 0.0)
    row_cost = float(concept.full_cost.sum() / concept.population.sum()) if len(concept) else 1.0
    room = max(UNSEEN_PART * budget.rows, budget.rows - float(concept.full_cost.sum()))
    rate = float(as_rates(room / (rows * row_cost)))
    return Share(max(0.0, budget.rows - rate * rows * row_cost), rate, rows, rows * row_cost)


def completeness_floor(concept: Concept, budget: Budget) -> Floats:
    """Least rates that lose no key: zeros for best effort.

    Required, and the key's smallest u is known: 1/N, one row, which `settle` then keeps with certainty.
    Required otherwise: a key of N rows is missed at rate r with probability (1 - r)^N (1/e at r = 1/N). The rates keep
    the expected number of missed keys, hence the probability of missing any, below `LOSS`: r = 1 - (LOSS / K)^(1/N);
    keys of no more than log(K / LOSS) rows are kept whole. Holds for known populations, for estimated ones as far as
    the estimate does.
    """
    keys = len(concept)
    if budget.completeness == "best_effort" or not keys:
        return np.zeros(keys)
    rows = math.log(keys / LOSS)
    floor = -np.expm1(-rows / concept.population)
    thrown = np.where(concept.population <= rows, 1.0, floor)
    return np.where(np.isnan(concept.least_u), thrown, np.minimum(1.0, 1.0 / concept.population))


def one_row_floor(concept: Concept, capacity: float) -> Floats:
    """The rate that gives every key one row, all of them scaled down alike where the capacity is less than that."""
    one = np.minimum(1.0, 1.0 / concept.population)
    cost = float(np.sum(one * concept.full_cost))
    return one * min(1.0, capacity / cost) if cost > 0 else one
