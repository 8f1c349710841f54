"""Error coefficients of reciprocal-error aggregates (Mozafari and Zaniolo, Definition 1, Eq. 4).

A query is reciprocal-error when its squared error at sampling rate r is b / r - a. For every aggregate here a = b, so
that nothing is wrong at r = 1, and each function returns b. Arguments are arrays over keys: `population` N rows,
`mean` and `sd` of the rows' values. Minimum and maximum have no such coefficient and no function here (erratum
2 in `shedding/estimates/README.md`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

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


def wrong_side(population: ArrayLike, threshold: float, rates: ArrayLike) -> Floats:
    """Probability that a key's estimated count falls on the wrong side of the threshold, by the normal law (Eq. 17).

    Eq. 18 prints (1 - r) / r for the variance of the count; by Eq. 3 it is f (1 - r) / r. 0 at rate 1.

    >>> wrong_side([100.0, 100.0], 80.0, [0.2, 1.0]).round(4)
    array([0.1587, 0.    ])
    """
    frequency = _floats(population)
    noise = np.sqrt(frequency * (1 / _floats(rates) - 1))
    distance = np.abs(frequency - threshold)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(noise > 0, ndtr(-distance / noise), 0.0)
