"""Kosarak's clicks as the optimal paper uses them: windows of 10,000 transactions, item sets of 1 % support."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.curve import ReciprocalCurve
from shedding.allocation.problem import Problem
from shedding.allocation.strata import Strata
from shedding.allocation.water_filling import bounded_rates
from shedding.patterns.bitmaps import Bitmaps
from shedding.policies import get_policy

Floats = NDArray[np.float64]
WINDOW, SUPPORT, LONGEST = 10_000, 0.01, 8
THRESHOLD = SUPPORT * WINDOW


@cache
def window_bitmaps(data: Path, window: int) -> Bitmaps:
    """The window's transactions, in an order by chance as `u` gives it."""
    with gzip.open(data / "kosarak_tx000001-024000.dat.gz", "rt") as lines:
        baskets = [np.array(line.split(), dtype=np.int64) for line in lines][window * WINDOW : (window + 1) * WINDOW]
    number = np.repeat(np.arange(WINDOW), [basket.size for basket in baskets])
    u = np.random.default_rng(7).random(WINDOW)
    return Bitmaps.of(number, np.concatenate(baskets), u, least=int(THRESHOLD / 2))


@dataclass(frozen=True)
class Patterns:
    """Frequencies of the first window's patterns: there (`prior`, what a shedder knows) and in the second (`truth`)."""

    prior: Floats
    truth: Floats

    @classmethod
    def of(cls, data: Path, least: float) -> Patterns:
        """The patterns in at least `least` transactions of the first window."""
        before, after = (window_bitmaps(data, window) for window in (0, 1))
        patterns = before.frequent(int(least), LONGEST)
        truth, _ = after.counts(list(patterns), np.ones(len(patterns)))
        return cls(np.array(list(patterns.values()), dtype=np.float64), truth.astype(np.float64))

    def rates(self, policy: str, part: float, **options: int) -> Floats:
        """The policy's rates for `part` of the resources: counting a pattern at rate r costs r, its variance f / r.

        `proportional` is Eq. 11 with what caps leave spent again, without the sure row of the policy of that name.
        """
        size = self.prior.size
        if policy == "proportional":
            return bounded_rates(self.prior, 1.0, part * size)
        strata = Strata(self.prior, True, 1 / self.prior, np.ones(size), np.full(size, np.nan))
        problem = Problem(strata, ReciprocalCurve(self.prior, self.prior), Budget(rows=part * size))
        return get_policy(policy, **options).solve(problem).rates

    def variance(self, rates: Floats) -> float:
        """Total variance of the estimated counts of the second window (Eq. 3)."""
        return float(np.sum(self.truth * (1 / rates - 1)))
