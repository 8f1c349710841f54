"""How far keys moved apart since the audits: what past audits showed, and what the window's own sample says of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import optimize

from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.factors import Factors
from shedding.estimates.shrinkage.prior import Prior
from shedding.estimates.shrinkage.variance_component import CAP, TARGET

PAST_KEYS = 10.0
"""Fully informative keys' worth of evidence that the drift of past audits is about this window's."""
LEAST_SHARE, _LEAST, _MOST = 0.25, 1e-14, 100.0
"""The sample never makes drift smaller than this share of the past's: skewed rows look like still keys."""


def with_own_drift(prior: Prior, factors: Factors, observed: Floats, noise: Floats) -> Prior:
    """The prior with a drift variance that both its past audits and the window's `observed` means tell of.

    e = y / p - 1 of a sampled key has variance t + v, v its noise, what remains of the history's doubt and the factors'
    own variance. The drift t solves the likelihood's score in log t, errors capped as in `variance_component`, with the
    past's drift t0 as ten keys without noise: sum of t / (t + v) (min(e^2 / (t + v), 9) / .97 - 1) + 10 (t0 / t - 1).
    A key whose noise hides its drift says next to nothing. Guarantee: continuous in the sample; without a sampled key
    the prior itself; a window whose keys moved far more than any audit showed is believed as soon as some tens of keys
    show it.
    """
    mean, variance = factors.apply(prior)
    usable = np.isfinite(observed) & np.isfinite(noise) & prior.seen & (mean != 0)
    if not usable.any():
        return prior
    past = prior.variance - prior.remaining
    expected = max(float(np.median(past[usable])), 1e-6 * prior.pooled, _LEAST)
    squares = (observed[usable] / mean[usable] - 1) ** 2
    known = noise[usable] + np.maximum(variance[usable] - past[usable], 0.0)

    def score(power: float) -> float:
        drift = float(np.exp(power))
        total = drift + known
        shown = np.sum(drift / total * (np.minimum(squares / total, CAP) / TARGET - 1))
        return float(shown) + PAST_KEYS * (expected / drift - 1)

    least, most = np.log(LEAST_SHARE * expected), np.log(max(_MOST, 2 * expected))
    if score(least) <= 0:
        drift = LEAST_SHARE * expected
    elif score(most) >= 0:
        drift = float(np.exp(most))
    else:
        drift = float(np.exp(optimize.brentq(score, least, most, xtol=1e-7)))
    return replace(prior, variance=prior.remaining + drift)
