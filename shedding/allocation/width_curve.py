"""The half-width of a stratum's interval as it is planned, before a row is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shedding.allocation.curve import Curve, Floats, Ints, weighted_mean


@dataclass(frozen=True, slots=True)
class WidthCurve(Curve):
    """`quantile(n)` times the error of another curve, in `unit` (K,): what errors are relative to, over the curve's.

    `quantile` is the half-width over the deviation at n planned rows; it does not rise in n, so that this is a curve.
    """

    inner: Curve
    unit: Floats
    quantile: Callable[[Floats], Floats]

    @property
    def population(self) -> Floats:  # type: ignore[override]
        """Rows of each stratum."""
        return self.inner.population

    def errors(self, keys: Ints, n: Floats) -> Floats:
        """The planned half-widths of the strata `keys` at n rows, relative; 0 where all rows are kept."""
        error = self.inner.errors(keys, n)
        with np.errstate(invalid="ignore"):
            return np.where(error > 0, self.unit[keys, None] * self.quantile(n) * error, 0.0)

    def total(self, weight: Floats, errors: Floats) -> float:
        """The weighted mean."""
        return weighted_mean(weight, errors)
