"""The shrunken estimate: the rows seen as they are, the others between the sample and the key's history."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shedding.arrays import quotient
from shedding.errors import DataError
from shedding.estimates.estimate import Estimate
from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.calibration import Calibration, sample_class
from shedding.estimates.shrinkage.factors import window_factors
from shedding.estimates.shrinkage.mixture import Blend
from shedding.estimates.shrinkage.prior import Prior
from shedding.estimates.shrinkage.window_drift import with_own_drift
from shedding.estimates.strata import Sampled

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
class Posterior:
    """Per key: `value`, `reach` that intervals are multiples of, `deviation` of the error, `weight` W of the sample."""

    value: Floats
    reach: Floats
    deviation: Floats
    weight: Floats


@dataclass(frozen=True, slots=True)
class Model:
    """All that an estimate needs besides the mix: sample, moved prior, its variance, row variance."""

    sampled: Sampled
    mean: Floats
    variance: Floats
    spread2: Floats
    shift: float
    zero: NDArray[np.bool_]

    @classmethod
    def of(cls, sampled: Sampled, prior: Prior, factor2: float, class2: float) -> Model:
        """The model of a window whose factors have the expected sizes (variances) `factor2` and `class2`.

        The sample has its say in the prior's drift (`with_own_drift`).
        """
        if sampled.population.shape != prior.mean.shape:
            raise DataError(
                f"a sample of {sampled.population.size} keys and a prior of {prior.mean.size}; align both over the keys"
            )
        spread2 = prior.with_sample(sampled)
        noise = np.where(sampled.count > 0, spread2 / np.maximum(sampled.effective, 1e-300), np.nan)
        observed = sampled.rest + prior.shift
        factors = window_factors(prior, observed, noise, factor2, class2)
        prior = with_own_drift(prior, factors, observed, noise)
        factors = window_factors(prior, observed, noise, factor2, class2)
        mean, variance = factors.apply(prior)
        still_zero = prior.zero & ((sampled.count <= 0) | ((sampled.mean == 0) & (sampled.m2 == 0)))
        return cls(sampled, mean, variance, spread2, prior.shift, still_zero)

    def only(self, keys: NDArray[np.bool_]) -> Model:
        """The model of some of the keys."""
        parts = {part: getattr(self, part)[keys] for part in ("mean", "variance", "spread2", "zero")}
        return replace(self, sampled=self.sampled.only(keys), **parts)

    @property
    def left(self) -> Floats:
        """1 - n/N, the share of the rows that was not seen; nan for keys without rows in the window."""
        return np.where(self.sampled.population > 0, 1 - self.sampled.share, np.nan)

    @property
    def blend(self) -> Blend:
        """Sample and moved prior of the rows not seen."""
        sampled, has = self.sampled, self.sampled.count > 0
        noise = np.where(has, self.spread2 / np.maximum(sampled.effective, 1e-300), 0.0)
        rest = np.where(has, sampled.rest + self.shift, np.nan)
        # Efron and Morris (1972): a key that jumped is not dragged back by its history once its sample is sound.
        away = np.where(has, np.abs(rest - self.mean), 1.0)
        reach = quotient(TRANSLATION * np.sqrt(noise) * self.mean, away, np.inf)
        sound = has & (sampled.effective >= TRANSLATION_FROM)
        least = np.where(sound, np.maximum(1 - reach, 0.0), 0.0)
        return Blend(rest, noise, self.mean, self.variance, least, self.shift == 0)

    def whole(self, rest: Floats) -> Floats:
        """A key's value from that of its rows not seen: (n/N) y + (1 - n/N) rest, in the measure's unit.

        Where a window's sample has several rates, y is the mean of the rows seen. A key of which history and sample
        know nothing but zeros is 0. All rows seen: the value is exact, and no rounding of the shift may show.
        """
        seen = np.where(self.sampled.count > 0, self.sampled.mean + self.shift, 0.0)
        value = (1 - self.left) * seen + self.left * rest - self.shift
        value = np.where(self.zero & ~np.isnan(self.left), 0.0, value)
        return np.where(self.left <= 0, self.sampled.mean, value)

    def posterior(self, weights: Floats, classes: NDArray[np.int64]) -> Posterior:
        """The blend of the candidates by the `weights` (classes, candidates) of each key's class.

        nan for keys without rows in the window.

        Variance (1 - n/N)^2 (W^2 V + (1 - W)^2 P + cv^2 / (N - n)), and that among the candidates. `reach` is its root
        in units of the prior's mean, so that a sample that is low by chance is not sure of itself; `deviation` the same
        on the log scale, in units between the prior's and the value, which is what errors are relative to.
        """
        blend = self.blend
        rest, weight, among = blend.mixed(weights, classes)
        unseen_rows = self.sampled.population - self.sampled.count
        parts = (blend.noise, self.variance, quotient(self.spread2, unseen_rows, 0.0))
        found = []
        for logs in (False, blend.positive):
            noise, prior, unseen = (np.log1p(part) if logs else part for part in parts)
            unit2 = np.abs(rest * self.mean) if logs else self.mean**2
            variance = weight**2 * noise + (1 - weight) ** 2 * prior + unseen
            root = np.where(self.left > 0, self.left * np.sqrt(unit2 * variance + among), 0.0)
            found.append(np.where(np.isnan(self.left), np.nan, root))
        return Posterior(self.whole(rest), found[0], found[1], weight)


def shrink(sampled: Sampled, prior: Prior, calibration: Calibration) -> Shrunk:
    """Estimate of each key's mean with its interval value -+ q sd, mix and q by the class of its sample size.

    Guarantee: exact at n = N; finite for every key of the window, sampled or not (`imputed`), if history or sample hold
    any row at all; nan for keys without rows in the window. The confidence is the calibration's and holds on average
    over windows, not in each. SUM is `estimate.scaled(N)`.
    """
    factor2, class2 = calibration.factor_sizes(prior.pooled)
    model = Model.of(sampled, prior, factor2, class2)
    classes = sample_class(sampled.count, prior.seen)
    found = model.posterior(calibration.weights, classes)
    half = calibration.quantile[classes] * found.reach
    deviation = calibration.scale[classes] * found.deviation
    estimate = Estimate(found.value, found.value - half, found.value + half, deviation)
    return Shrunk(estimate, (sampled.count <= 0) & (sampled.population > 0), found.weight)
