"""COUNT where populations are not known: Gamma-Poisson, which a prior from history can steady."""

from __future__ import annotations

import numpy as np
from scipy import stats

from shedding.errors import DataError
from shedding.estimates.estimate import Estimate, check_confidence
from shedding.estimates.moments import Floats

JEFFREYS_SHAPE = 0.5


def gamma_poisson_count(
    sample_count: Floats,
    rate: Floats,
    *,
    prior_mean: Floats | None = None,
    prior_weight: Floats | float = 0.0,
    confidence: float = 0.95,
) -> Estimate:
    """Rows N of a key of which n were kept at `rate`: N = n + negative binomial(a + n, (b + rate) / (b + 1)).

    Model: N is Poisson with a mean that is Gamma(a, b); then the rows not kept are, given n, negative binomial with
    mean (a + n) (1 - rate) / (b + rate). `prior_mean` is what history expects, `prior_weight` b how many windows that
    is worth (a = b * prior_mean); without a prior Jeffreys' a = 1/2, b = 0. Guarantee: low >= n; with the model true
    the equal-tailed interval covers at least its confidence (the count is discrete) for every n, 0 included.
    With prior_weight 0 and large n it is Horvitz-Thompson's n / rate.
    """
    check_confidence(confidence)
    count = np.asarray(sample_count, dtype=np.float64)
    rates = np.asarray(rate, dtype=np.float64)
    if not np.all((rates > 0) & (rates <= 1)):
        raise DataError("a sampling rate is not in (0, 1]; keys that nobody sampled have no count")
    weight = np.broadcast_to(np.asarray(prior_weight, dtype=np.float64), count.shape)
    mean = np.zeros_like(count) if prior_mean is None else np.asarray(prior_mean, dtype=np.float64)
    known = (weight > 0) & np.isfinite(mean) & (mean > 0)
    shape = count + np.where(known, weight * np.where(known, mean, 0.0), JEFFREYS_SHAPE)
    scale = np.where(known, weight, 0.0)
    chance = (scale + rates) / (scale + 1)
    unseen = shape * (1 - rates) / (scale + rates)
    deviation = np.sqrt(unseen * (1 + scale) / (scale + rates))
    whole = rates >= 1
    tail = (1 - confidence) / 2
    chance = np.where(whole, 0.5, chance)  # nbinom has no answer at chance 1; the count is exact there
    low = np.where(whole, 0.0, stats.nbinom.ppf(tail, shape, chance))
    high = np.where(whole, 0.0, stats.nbinom.ppf(1 - tail, shape, chance))
    return Estimate(count + np.where(whole, 0.0, unseen), count + low, count + high, np.where(whole, 0.0, deviation))
