"""A prior that the window's own sample refutes: keys moved apart by more than any audit has shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shedding.moments import Floats
from shedding.shrinkage.components import CAP, FEWEST, TARGET, variance_component
from shedding.shrinkage.factors import Factors
from shedding.shrinkage.prior import Prior

DEVIATION = 1.4
"""Standard deviation of min(z^2, 9), z standard normal."""
CERTAIN = 4.0
"""The sample refutes the prior where it errs by so many standard deviations more than it claims,"""
WORTH = 2.0
"""and at least by this: with many keys a skew of their values is certain too, and no reason to mistrust a prior."""


def as_sampled(prior: Prior, factors: Factors, observed: Floats, noise: Floats) -> Prior:
    """The prior, with the drift variance of the window itself where its `observed` means refute the expected one.

    e = y / p - 1 has variance V + P if the prior is right, and the mean of min(e^2 / (V + P), 9) over K keys is then
    .97 +- 1.4 / sqrt(K). Four of these deviations above it, and above 2, P is at least what remains of the history's
    doubt plus the variance component of the window's own errors. Guarantee: the same prior where it is not refuted, by
    chance in one window of many thousands, and never a surer one; fewer than 5 sampled keys refute nothing.
    """
    mean, variance = factors.apply(prior)
    usable = np.isfinite(observed) & np.isfinite(noise) & prior.seen & (mean != 0)
    squares, known = (observed[usable] / mean[usable] - 1) ** 2, noise[usable]
    shown = np.minimum(squares / np.maximum(known + variance[usable], 1e-300), CAP)
    if shown.size < FEWEST or shown.mean() <= max(WORTH, TARGET + CERTAIN * DEVIATION / np.sqrt(shown.size)):
        return prior
    drift = variance_component(squares, known + prior.remaining[usable])
    assert drift is not None  # there are enough keys
    return replace(prior, variance=np.maximum(prior.variance, prior.remaining + drift))
