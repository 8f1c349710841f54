"""What is expected of each key before its window's sample is looked at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.size_classes import size_class
from shedding.estimates.shrinkage.variance_component import variance_component
from shedding.estimates.strata import Sampled


@dataclass(frozen=True, slots=True)
class Prior:
    """Per key (K,): expected `mean` p (measure plus `shift`), its relative `variance` P, and what is known of the rows.

    P = drift + `remaining`, the uncertainty that the history itself leaves. `squares` and `freedom` are the relative
    sum of squares and degrees of freedom behind each key's row variance, `pooled` the row variance of all keys.
    `zero`: every row that history knows of the key was 0, which no ratio can express.
    The allocator takes `cv` and `variance`.
    """

    population: Floats
    seen: NDArray[np.bool_]
    mean: Floats
    variance: Floats
    remaining: Floats
    squares: Floats
    freedom: Floats
    pooled: float
    shift: float
    zero: NDArray[np.bool_]
    common: float = 0.0

    @property
    def spread2(self) -> Floats:
        """cv_k^2 = (S / rho^2 + 4 cv0^2) / (df + 4): the relative variance of one row."""
        return (self.squares + 4 * self.pooled) / (self.freedom + 4)

    @property
    def cv(self) -> Floats:
        """Relative standard deviation of one row, as `Concept.cv` wants it."""
        return np.sqrt(self.spread2)

    @property
    def planned(self) -> Floats:
        """P as `Concept.prior_variance` wants it: what a sample may leave unknown of the window's factor is in it."""
        return self.variance + self.common

    @property
    def value(self) -> Floats:
        """The expected mean in the measure's own unit."""
        return self.mean - self.shift

    def with_sample(self, sampled: Sampled) -> Floats:
        """cv_k^2 with the sample's own spread, in units of the *expected* mean.

        A wild row raises the spread more than the mean this way, so that it is believed less.
        """
        own = sampled.m2 / np.maximum(self.mean, 1e-300) ** 2
        spread2: Floats = (self.squares + 4 * self.pooled + own) / (self.freedom + 4 + sampled.freedom)
        return spread2


def sample_prior(sampled: Sampled) -> Prior:
    """The prior where no audit came before: all that a key can be shrunk to is the sample's mean over the keys.

    Row spread is pooled over the sample, the between-key variance is the prior's. Values are shifted as near zero,
    since nothing is known of their sign. Guarantee: finite wherever any row was sampled; nan means otherwise.
    """
    has = sampled.count > 0
    freedom = float(sampled.freedom.sum())
    size = sampled.count.shape
    values = sampled.rest[has]
    centre = float(np.average(values, weights=sampled.effective[has])) if has.any() else np.nan
    row_variance = float(sampled.m2.sum()) / freedom if freedom > 0 else float(np.var(values)) if has.any() else 0.0
    deviation = np.sqrt(max(row_variance, 1e-12 * centre**2 if has.any() else 0.0))
    shift = (20 * deviation - centre) or 1.0
    level = centre + shift
    pooled = max(row_variance / level**2, 1e-12) if has.any() else 0.25
    relative = (values - centre) / level
    between = variance_component(relative**2, pooled / np.maximum(sampled.effective[has], 1e-300))
    spread = pooled if between is None else between
    return Prior(
        population=sampled.population,
        seen=np.zeros(size, dtype=bool),
        mean=np.full(size, level),
        variance=np.full(size, spread),
        remaining=np.full(size, spread),
        squares=np.zeros(size),
        freedom=np.zeros(size),
        pooled=pooled,
        shift=float(shift),
        zero=np.zeros(size, dtype=bool),
    )


def classes_of(prior: Prior) -> NDArray[np.int64]:
    """The size class of each key in the prior's window."""
    return size_class(prior.population)
