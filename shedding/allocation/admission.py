"""Which strata a budget is spent on where each needs so many rows to be of any use (maximum tolerable errors)."""

from __future__ import annotations

import numpy as np

from shedding.allocation.curve import Floats
from shedding.allocation.strata import Strata


def admitted_rows(strata: Strata, needed: Floats, capacity: float) -> Floats:
    """Rows of each stratum, at most what it needs: strata in the order of weight over the cost of their need.

    Guarantee: within the capacity; spends it unless all needs fit; monotone in it, stratum by stratum, so that more of
    it never leaves out more. Where it ends the next stratum in line gets the rest, though that is of no use to it
    yet: given to the admitted ones it would be taken away from them by the next row of budget. Equals stand in the
    order of their smallest u, which is chance.
    """
    price = needed * strata.cost
    worth = np.divide(strata.weight, price, out=np.full(len(strata), np.inf), where=price > 0)
    order = np.lexsort((np.nan_to_num(strata.least_u, nan=1.0), strata.population, -worth))
    before = np.cumsum(price[order]) - price[order]
    free = np.ones(len(strata))
    part = np.divide(capacity - before, price[order], out=free, where=price[order] > 0)
    rows = np.empty(len(strata))
    rows[order] = np.clip(part, 0.0, 1.0) * needed[order]
    return rows
