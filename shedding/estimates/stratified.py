"""Known populations: the stratified mean with finite-population correction and Student's t."""

from __future__ import annotations

import numpy as np

from shedding.estimates.estimate import Estimate, check_confidence
from shedding.estimates.moments import Floats
from shedding.estimates.strata import Sampled, Strata, borrowed_spread


def stratified_mean(strata: Strata, confidence: float = 0.95) -> Estimate:
    """AVG with known populations: sum(N_s mean_s) / N, variance sum((N_s / N)^2 (1 - n_s / N_s) sd_s^2 / n_s).

    That is sd^2 / N (1 / r - 1), Mozafari and Zaniolo's Eq. 6 with erratum 3 of README.md. Guarantee: unbiased
    given the sample sizes (strata without a sampled row are collapsed, see `Strata`). The interval takes Student's t
    with Satterthwaite's degrees of freedom; a stratum with a single row borrows the key's pooled spread, and a
    key whose rows are all equal that of the others (`borrowed_spread`). From n = 10 it
    covers 95 % within a point for values without skew; skewed ones less: Gamma(2) 93 %, exponential 91 %, lognormal
    with unit log-deviation 85 % at n = 10. At n = 2..9 normal values are still covered, uniform ones by 92-93 %,
    exponential ones by 90 %. At n = 1 < N the interval is infinite; at n = N it is the exact value.

    >>> from shedding.estimates.moments import Moments
    >>> stratified_mean(Strata([[10.0]], Moments([[4.0]], [[2.0]], [[3.0]]))).deviation.round(4)
    array([0.3873])
    """
    check_confidence(confidence)
    sampled = strata.combine()
    pooled = sampled.m2 / np.where(sampled.freedom > 0, sampled.freedom, np.nan)
    terms = _terms(strata, pooled, sampled)
    variance = terms.sum(axis=0)
    exhausted = (sampled.count > 0) & (sampled.count >= sampled.population)
    freedom = np.where(exhausted, np.inf, _satterthwaite(strata, terms, sampled.freedom))
    return Estimate.student(sampled.value, np.where(exhausted, 0.0, variance), freedom, confidence)


def _terms(strata: Strata, pooled: Floats, sampled: Sampled) -> Floats:
    """(S, K): each stratum's part of the variance of the mean; nan where no spread is known at all."""
    count, population = strata.moments.count, strata.population
    total = np.maximum(population.sum(axis=0), 1e-300)
    spread = np.where(count > 1, strata.moments.m2 / np.maximum(count - 1, 1.0), pooled)
    spread = borrowed_spread(spread, sampled.value, sampled.m2, sampled.freedom)
    # A sampled stratum answers for its own rows and for its part of the collapsed strata's.
    collapsed = np.where(count > 0, 0.0, population).sum(axis=0)
    weight = (population + strata.rest_weights() * collapsed) / total
    correction = np.where(collapsed > 0, 1.0, 1 - count / np.maximum(population, 1e-300))
    terms = weight**2 * np.maximum(correction, 0.0) * spread / np.maximum(count, 1.0)
    return np.where((count > 0) & (correction > 0), terms, 0.0)


def _satterthwaite(strata: Strata, terms: Floats, pooled_freedom: Floats) -> Floats:
    """Degrees of freedom of a sum of variance estimates: (sum a)^2 / sum(a^2 / df)."""
    own = strata.moments.count - 1
    freedom = np.where(own > 0, own, pooled_freedom)
    squares = np.where(terms > 0, terms**2 / np.maximum(freedom, 1e-300), 0.0).sum(axis=0)
    total = terms.sum(axis=0)
    usable = np.isfinite(total) & (squares > 0)
    return np.where(
        usable, total**2 / np.where(usable, squares, 1.0), np.where(np.isfinite(total), pooled_freedom, 0.0)
    )
