"""Strata: what a budget is spent on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Strata:
    """K groups of rows that each get a rate: the keys of a slot, or of both sides of a join.

    population (K,): rows, positive; `known` says whether they were counted or are estimated. cost (K,): cost units of
    one row. weight (K,): importance v_k >= 0. least_u (K,): the smallest u of the stratum's rows, nan where unknown.
    """

    population: Floats
    known: bool
    cost: Floats
    weight: Floats
    least_u: Floats

    def __len__(self) -> int:
        return self.population.size

    @property
    def full_cost(self) -> Floats:
        """Cost of keeping all rows of a stratum: N_k times the cost of a row; keeping rate r costs r times that."""
        return self.population * self.cost
