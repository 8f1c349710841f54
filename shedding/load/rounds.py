"""A budget of seconds kept by nested rounds: each is admitted by what the rounds before it took, not by a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from shedding.load.delay import MostDelay

Floats = NDArray[np.float64]

PILOT = 0.2
"""Part of the budget that the first round is forecast to take; its clock corrects the forecast of the others."""
MOST_ROUNDS = 4
LEAST_STEP = 0.02
"""A round that would take less than this part of the budget is not worth its scan."""
MARGIN = 0.1
"""Where too few rounds were measured to tell."""
PARTS = 10
"""Parts of an audited slot's calls that stand for rounds."""
_FEW = 8
_QUANTILE = 0.9
_LARGEST_MARGIN = 1.0
_ROUNDING = 1.0 - 1e-9


def round_ratios(measured: Floats, forecast: Floats) -> Floats:
    """How far off a forecast would have been, part after part of an audited slot's calls, given in order of u.

    The first two of ten parts are the pilot, which gives kappa; of each other part measured over kappa times forecast.
    """
    if measured.size < PARTS * _FEW:
        return np.zeros(0)
    cuts = np.linspace(0, measured.size, PARTS + 1).astype(int)[:-1]
    took, said = np.add.reduceat(measured, cuts), np.add.reduceat(forecast, cuts)
    kappa = took[:2].sum() / said[:2].sum()
    return np.asarray(took[2:] / (kappa * said[2:]))


def calibrated_margin(ratios: Sequence[float]) -> float:
    """The margin that nine of ten rounds would have kept: the .9 quantile of measured over forecast, less 1."""
    if len(ratios) < _FEW:
        return MARGIN
    return float(np.clip(np.quantile(np.asarray(ratios), _QUANTILE) - 1.0, LEAST_STEP, _LARGEST_MARGIN))


@dataclass(slots=True)
class Rounds:
    """How far the rows of a slot may be taken within `seconds`.

    The unit is the factor: at factor f the rows of an allocation of f times the budget, by forecast, are taken. `whole`
    is the factor at which all rows are. `speed` is kappa: the measured seconds over those that were forecast for the
    same rows. Guarantee: no round starts whose forecast, corrected by kappa and widened by the margin, does not fit
    into what is left; so the budget is exceeded by at most one round's forecast error beyond its margin.
    """

    seconds: float
    whole: float
    margin: float = MARGIN
    pilot: float = PILOT
    reached: float = 0.0
    limit: float = 0.0
    spent: float = 0.0
    forecast: float = 0.0
    ratios: list[float] = field(default_factory=list)
    _count: int = 0

    @property
    def speed(self) -> float:
        """kappa: measured over forecast of the rounds so far; 1 before the first."""
        return self.spent / self.forecast if self.forecast > 0 and self.spent > 0 else 1.0

    def next(self) -> float | None:
        """The factor of the next round, None where the budget has no room for one."""
        if self._count == 0:
            return min(self.pilot, self.whole)
        if self._count >= MOST_ROUNDS or self.reached >= self.whole:
            return None
        factor = min(self.limit, self.whole)
        step = self.speed * (1 + self.margin) * (factor * self.seconds - self.forecast)
        worth = factor >= self.whole or step >= LEAST_STEP * self.seconds
        admitted = MostDelay(self.seconds).admits(self.spent + step * _ROUNDING)
        return factor if factor > self.reached and worth and admitted else None

    def record(self, factor: float, spent: float, forecast: float) -> None:
        """What all rows up to the factor took, and what the forecast said of the same rows."""
        if self._count and forecast > self.forecast and spent > self.spent:
            self.ratios.append((spent - self.spent) / (self.speed * (forecast - self.forecast)))
        self._count += 1
        self.reached, self.spent, self.forecast = factor, spent, forecast
        left = max(0.0, self.seconds - spent) / (self.speed * (1 + self.margin))
        self.limit = max(factor, (forecast + left) / self.seconds)

    @property
    def settled(self) -> float:
        """The factor to record: what was reached, and where all rows were taken, how many more would have fitted."""
        return max(self.reached, self.limit) if self.reached >= self.whole else self.reached
