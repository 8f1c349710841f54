"""What may be spent, and what an allocation says it will spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.strata import Strata
from shedding.errors import BudgetError

Floats = NDArray[np.float64]

LEAST_RATE = 2.0**-53
"""The smallest positive threshold that can keep a row; rates of a policy are never 0."""
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

    def unseen_rows(self, strata: Strata) -> float:
        """Expected rows of keys that no prior knows; none where the keys were counted at arrival."""
        if strata.known:
            return 0.0
        if self.slot_rows is not None:
            return self.unseen_share * self.slot_rows
        seen = float(strata.population.sum())
        return seen * self.unseen_share / (1 - self.unseen_share) if self.unseen_share < 1 else 0.0


@dataclass(frozen=True, slots=True)
class Allocation:
    """Rates of a slot and what they are expected to cost and to lose.

    rates (K,) in (0, 1]: thresholds on u. shares (K,): the share of each key's rows that they keep in expectation, the
    same but for sure rows. unseen_rate: for keys that the concept does not hold. expected_error (K,): the curve's error
    of each key; total_error: its weighted mean
    (root of the mean square where the curve is reciprocal). exceeded_by: cost beyond the budget, 0 where it is kept.
    """

    rates: Floats
    shares: Floats
    unseen_rate: float
    expected_rows: float
    expected_cost: float
    expected_error: Floats
    total_error: float
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
