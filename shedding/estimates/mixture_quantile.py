"""The 95th percentile of errors over keys and chance, where each key's error has a normal law of its own."""

from __future__ import annotations

import numpy as np
from scipy import special

from shedding.estimates.accuracy import MISSING, TAIL
from shedding.estimates.moments import Floats

_HALVINGS = 45
_FEW = 4096
"""Keys, evenly spread, that tell about where the percentile lies."""
_SECANTS = 8
_NEAR = 3e-11
_MARGIN = 1e-12
"""Shares nearer to each other than this may differ by rounding alone."""


def mixture_quantile(deviation: Floats) -> float:
    """x with P(|error| <= x) = 95 % in the mean of the keys; a nan deviation is an error of exactly 1.

    The end of 45 halvings. Most of them are decided by two points close around x, found by secants, and not by a pass
    over the keys: the same bits in a third of the time.

    >>> round(mixture_quantile(np.ones(3)), 6)
    1.959964
    """
    errors = _Errors(deviation)
    if errors.unknown >= 1 - TAIL:
        return np.inf
    low, high = 0.0, max(40 * errors.largest, 1.0)
    below, above = errors.around(high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        less = middle <= below or (middle < above and errors.within(middle) < TAIL)
        low, high = (middle, high) if less else (low, middle)
    return high


class _Errors:
    """The keys of a window by the deviations of their errors, missing ones apart."""

    def __init__(self, deviation: Floats) -> None:
        self.size = deviation.size
        missing = np.isnan(deviation)
        self._missing = int(missing.sum())
        self.unknown = float(np.isinf(deviation).sum() / max(self.size, 1))
        self._sure = int((deviation == 0).sum())
        # All are kept, in their places, so that sums are rounded as ever.
        self._deviation = np.where(missing, 1.0, deviation)
        self._is_missing = missing if self._missing else None
        finite = self._deviation[np.isfinite(self._deviation)]
        self.largest = float(finite.max(initial=0.0))

    def within(self, limit: float) -> float:
        """The share of errors up to a limit."""
        if self._sure == self.size:
            return 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = special.erf(limit / (self._deviation * np.sqrt(2)))
        if self._sure:
            inside = np.where(self._deviation > 0, inside, 1.0)
        if self._is_missing is not None:
            inside = np.where(self._is_missing, float(limit >= MISSING), inside)
        return float(inside.sum() / self.size)

    def around(self, high: float) -> tuple[float, float]:
        """Two points, the share surely below 95 % at the first and above it at the second; 0 and `high` at worst."""
        some = self._deviation[:: max(1, self.size // _FEW)]
        if self.size <= 2 * _FEW or self._sure == self.size:
            return 0.0, high  # a pass over few keys costs nothing
        guess = mixture_quantile(some)
        if not np.isfinite(guess):
            return 0.0, high
        last, x = guess, guess * 1.001
        share, now = self.within(last), self.within(x)
        for _ in range(_SECANTS):
            if now == share or not x > 0:
                return 0.0, high
            last, x, share = x, x + (TAIL - now) * (x - last) / (now - share), now
            now = self.within(x)
            if abs(x - last) <= _NEAR * x:
                break
        below, above = x * (1 - _NEAR), x * (1 + _NEAR)
        sure = self.within(below) < TAIL - _MARGIN and self.within(above) > TAIL + _MARGIN
        return (below, above) if sure else (0.0, high)
