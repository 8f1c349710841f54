"""Variance components that a few wild keys cannot inflate and many still ones cannot hide."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from shedding.estimates.moments import Floats

CAP = 9.0
TARGET = 0.97
"""E min(z^2, 9) of a standard normal z, rounded down a little for heavier tails."""
FEWEST = 5
_LEAST, _MOST = 1e-14, 100.0


def variance_component(squares: Floats, known: Floats) -> float | None:
    """The t >= 0 that solves mean(min(e^2 / (t + v), 9)) = .97; None from fewer than 5 errors.

    `squares` are squared errors e^2 whose variance is t + v with v `known`. The left side falls in t, so the root is
    unique; 0 where the known part alone explains the errors. Guarantee: any share of errors below a few per cent can be
    arbitrarily large and moves the result by a bounded factor (subtraction of means has no such bound, medians
    under-estimate).

    >>> errors = np.random.default_rng(1).normal(0, 0.3, 20000)
    >>> round(variance_component(errors**2, np.full(20000, 0.05)), 3)
    0.041
    """
    usable = np.isfinite(squares) & np.isfinite(known)
    errors, known = squares[usable], np.maximum(known[usable], 1e-300)
    if errors.size < FEWEST:
        return None

    def excess(component: float) -> float:
        return float(np.mean(np.minimum(errors / (component + known), CAP))) - TARGET

    if excess(0.0) <= 0:
        return 0.0
    if excess(_LEAST) <= 0:
        return _LEAST
    if excess(_MOST) >= 0:
        return _MOST
    root = optimize.brentq(lambda power: excess(float(np.exp(power))), np.log(_LEAST), np.log(_MOST), xtol=1e-7)
    return float(np.exp(root))
