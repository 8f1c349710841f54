"""The shrunken estimate: the rows seen as they are, the others between the sample and the key's history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.errors import DataError
from shedding.estimates.estimate import Estimate
from shedding.estimates.strata import Sampled
from shedding.moments import Floats
from shedding.shrinkage.calibrated import Calibration, sample_class
from shedding.shrinkage.factors import window_factors
from shedding.shrinkage.prior import Prior
from shedding.shrinkage.refuted import as_sampled

TRANSLATION = 2.0
TRANSLATION_FROM = 8.0
"""From this many rows on, shrinkage moves the sample's mean by at most TRANSLATION of its standard errors."""


@dataclass(frozen=True, slots=True)
class Shrunk:
    """`estimate` of each key's mean; `imputed` where it comes from history alone; `weight` W of the sample."""

    estimate: Estimate
    imputed: NDArray[np.bool_]
    weight: Floats


@dataclass(frozen=True, slots=True)
class Model:
    """All that an estimate needs besides kappa: sample, moved prior, its variance, row variance."""

    sampled: Sampled
    mean: Floats
    variance: Floats
    spread2: Floats
    shift: float
    zero: NDArray[np.bool_]

    @classmethod
    def of(cls, sampled: Sampled, prior: Prior, factor2: float, class2: float) -> Model:
        """The model of a window whose factors have the expected sizes (variances) `factor2` and `class2`.

        A prior that the sample refutes gives way to it (`as_sampled`).
        """
        if sampled.population.shape != prior.mean.shape:
            raise DataError(
                f"a sample of {sampled.population.size} keys and a prior of {prior.mean.size}; align both over the keys"
            )
        spread2 = prior.with_sample(sampled)
        noise = np.where(sampled.count > 0, spread2 / np.maximum(sampled.effective, 1e-300), np.nan)
        observed = sampled.rest + prior.shift
        factors = window_factors(prior, observed, noise, factor2, class2)
        believed = as_sampled(prior, factors, observed, noise)
        if believed is not prior:
            prior, factors = believed, window_factors(believed, observed, noise, factor2, class2)
        mean, variance = factors.apply(prior)
        still_zero = prior.zero & ((sampled.count <= 0) | ((sampled.mean == 0) & (sampled.m2 == 0)))
        return cls(sampled, mean, variance, spread2, prior.shift, still_zero)

    def posterior(self, kappa: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Value (measure's unit), standard deviation and weight W = P / (P + kappa V) of each key.

        est = (n/N) y + (1 - n/N) (W y + (1 - W) p), variance (1 - n/N)^2 (W^2 V + (1 - W)^2 P + cv^2 / (N - n)).
        Where a window's sample has several rates, y in the first place is the mean of the rows seen, in the second the
        stratified mean of the others (`Sampled.rest`). Keys without rows in the window: nan. A key of which history and
        sample know nothing but zeros is 0.
        """
        sampled, has = self.sampled, self.sampled.count > 0
        noise = np.where(has, self.spread2 / np.maximum(sampled.effective, 1e-300), 0.0)
        rest = np.where(has, sampled.rest + self.shift, self.mean)
        weight = np.where(has, self.variance / np.maximum(self.variance + kappa * noise, 1e-300), 0.0)
        # Efron and Morris (1972): a key that jumped is not dragged back by its history once its sample is sound.
        reach = TRANSLATION * np.sqrt(noise) * self.mean / np.maximum(np.abs(rest - self.mean), 1e-300)
        weight = np.where(has & (sampled.effective >= TRANSLATION_FROM), np.maximum(weight, 1 - reach), weight)
        left = np.where(sampled.population > 0, 1 - sampled.share, np.nan)
        seen = np.where(has, sampled.mean + self.shift, 0.0)
        value = (1 - left) * seen + left * (weight * rest + (1 - weight) * self.mean) - self.shift
        unseen = np.maximum(sampled.population - sampled.count, 1e-300)
        variance = weight**2 * noise + (1 - weight) ** 2 * self.variance + self.spread2 / unseen
        deviation = np.where(left > 0, left * np.abs(self.mean) * np.sqrt(variance), 0.0)
        value = np.where(self.zero & ~np.isnan(left), 0.0, value)
        # All rows seen: the value is exact, and no rounding of the shift may show.
        return np.where(left <= 0, sampled.mean, value), np.where(np.isnan(left), np.nan, deviation), weight


def shrink(sampled: Sampled, prior: Prior, calibration: Calibration) -> Shrunk:
    """Estimate of each key's mean with its interval value -+ q sd, kappa and q by the class of its sample size.

    Guarantee: exact at n = N; finite for every key of the window, sampled or not (`imputed`), if history or sample hold
    any row at all; nan for keys without rows in the window. The confidence is the calibration's and holds on average
    over windows, not in each. SUM is `estimate.scaled(N)`.
    """
    factor2, class2 = calibration.factor_sizes(prior.pooled)
    model = Model.of(sampled, prior, factor2, class2)
    classes = sample_class(sampled.count, prior.seen)
    value, deviation, weight = model.posterior(calibration.kappa[classes])
    half = calibration.quantile[classes] * deviation
    estimate = Estimate(value, value - half, value + half, deviation)
    return Shrunk(estimate, (sampled.count <= 0) & (sampled.population > 0), weight)
