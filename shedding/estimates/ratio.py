"""Ratio of two sums over the same sampled rows."""

from __future__ import annotations

import numpy as np

from shedding.errors import DataError
from shedding.estimates.estimate import Estimate, check_confidence
from shedding.estimates.moments import Floats
from shedding.estimates.strata import Strata, borrowed_spread


def ratio_of_sums(numerator: Strata, denominator: Strata, comoment: Floats, confidence: float = 0.95) -> Estimate:
    """R = sum(N_s mean(a)_s) / sum(N_s mean(b)_s), with the linearised (Taylor) variance.

    `comoment` (S, K) is sum((a - mean a)(b - mean b)) over the sampled rows. The variance is that of the stratified sum
    of a - R b over (sum b)^2, with finite-population correction. Guarantee: bias of order 1 / n; the
    interval is trustworthy where the denominator's own relative deviation is below about 0.1 and n >= 10. A
    denominator of zero gives nan with an infinite interval.
    """
    check_confidence(confidence)
    if not np.array_equal(numerator.moments.count, denominator.moments.count):
        raise DataError("numerator and denominator count different rows; take both from the same sample")
    top, bottom = numerator.combine(), denominator.combine()
    usable = np.isfinite(bottom.value) & (bottom.value != 0)
    divisor = np.where(usable, bottom.value, 1.0)
    value = np.where(usable, top.value / divisor, np.nan)
    ratio = np.where(usable, value, 0.0)
    residual = numerator.moments.m2 - 2 * ratio * np.atleast_2d(comoment) + ratio**2 * denominator.moments.m2
    count, population = numerator.moments.count, numerator.population
    freedom = top.freedom
    pooled = residual.sum(axis=0) / np.where(freedom > 0, freedom, np.nan)
    spread = np.where(count > 1, np.maximum(residual, 0.0) / np.maximum(count - 1, 1.0), np.maximum(pooled, 0.0))
    residuals = np.maximum(residual.sum(axis=0), 0.0) / divisor**2
    spread = borrowed_spread(spread / divisor**2, value, residuals, freedom) * divisor**2
    left = np.maximum(1 - count / np.maximum(population, 1e-300), 0.0)
    terms = np.where(count > 0, population**2 * left * spread / np.maximum(count, 1.0), 0.0)
    total = np.where(top.population > 0, top.population, 1.0)
    covered = np.where(count > 0, population, 0.0).sum(axis=0)  # collapsed strata: scale up to the whole window
    scale = np.where(covered > 0, total / np.where(covered > 0, covered, 1.0), 1.0)
    variance = np.where(left > 0, terms, 0.0).sum(axis=0) * scale**2 / (total * divisor) ** 2
    exhausted = (top.count > 0) & (top.count >= top.population)
    freedom = np.where(exhausted, np.inf, np.where(usable, freedom, 0.0))
    return Estimate.student(value, np.where(exhausted, 0.0, variance), freedom, confidence)
