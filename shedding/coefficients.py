"""Error coefficients of reciprocal-error aggregates (Mozafari and Zaniolo, Definition 1, Eq. 4).

A query is reciprocal-error when its squared error at sampling rate r is b / r - a. For every aggregate here a = b, so
that nothing is wrong at r = 1, and each function returns b. Arguments are arrays over keys: `population` N rows,
`mean` and `sd` of the rows' values. Minimum and maximum have no such coefficient and no function here (erratum 2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shedding.errors import BudgetError

Floats = NDArray[np.float64]


def _floats(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def count_variance(population: ArrayLike) -> Floats:
    """COUNT by Horvitz-Thompson, absolute: b = f (Eq. 3)."""
    return _floats(population)


def count_relative(population: ArrayLike) -> Floats:
    """COUNT, the paper's relative error (variance over value): b = 1 for every key (Sec. VII-B, hence Lemma 4)."""
    return np.ones_like(_floats(population))


def sum_variance(population: ArrayLike, mean: ArrayLike, sd: ArrayLike, *, known: bool = True) -> Floats:
    """SUM, absolute. Known N (N times a stratified mean): b = N sd^2. Estimated (Eq. 5): b = N (sd^2 + mean^2)."""
    offset = 0.0 if known else _floats(mean) ** 2
    return _floats(population) * (_floats(sd) ** 2 + offset)


def mean_variance(population: ArrayLike, sd: ArrayLike) -> Floats:
    """AVG from the sampled count or a known N, absolute: b = sd^2 / N.

    Erratum 3: Eq. 6 prints sd^2 + mean^2, the variance of a sum divided by an expected count, an estimator that this
    project does not use.
    """
    return _floats(sd) ** 2 / _floats(population)


def mean_relative(population: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> Floats:
    """AVG, squared relative error: b = (sd / mean)^2 / N; infinite where the mean is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return mean_variance(population, sd) / _floats(mean) ** 2


def quantile_variance(population: ArrayLike, p: float, density: ArrayLike) -> Floats:
    """The p-quantile, absolute, asymptotic: b = p (1 - p) / (density^2 N), `density` that of the rows at the quantile.

    Erratum 2: the paper prints a factor W / r, where a sample of W r rows gives 1 / (W r).
    """
    if not 0 < p < 1:
        raise BudgetError(
            f"a quantile's p lies strictly between 0 and 1, got {p}; min and max have no error coefficient"
        )
    with np.errstate(divide="ignore"):
        return p * (1 - p) / (_floats(density) ** 2 * _floats(population))


def support_confidence(population: ArrayLike, threshold: float) -> Floats:
    """COUNT against a support threshold (Sec. VII-C): b = f / ((f - threshold)^2 + f), in (0, 1].

    With b / r - b it is, up to the constant in the denominator, Cantelli's bound s^2 / (s^2 + d^2) on the probability
    of putting the key on the wrong side, s^2 = f (1/r - 1) and d = f - threshold. The approximation printed below
    Eq. 18 has b = (f - threshold)^2 / pi instead: it grows with the distance and so spends the budget on keys whose
    side is already certain (and Eq. 18 itself lacks the factor f in s^2); it is not used.
    """
    frequency = _floats(population)
    return frequency / ((frequency - threshold) ** 2 + frequency)
