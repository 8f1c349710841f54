"""A window's sample: per key one stratum for each rate at which its rows were sampled.

The panes of a window may belong to several slots, and each slot has rates of its own. Adding such samples up as if
they were one is biased towards the slots with high rates; a stratum a slot is not.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from shedding.errors import DataError
from shedding.estimates.moments import Floats, Moments


@dataclass(frozen=True, slots=True)
class Sampled:
    """What all strata of a key say together, arrays (K,).

    `population` N and `count` n of the window; `mean` of the n rows seen; `rest` the unbiased estimate of the mean of
    the N - n rows not seen; `effective` the size of the simple sample that would know `rest` as well, so that its
    variance is sd^2 / effective; `m2` and `freedom` the pooled sum of squares within strata and its degrees.
    With one stratum rest = mean and effective = n.
    """

    population: Floats
    count: Floats
    mean: Floats
    rest: Floats
    effective: Floats
    m2: Floats
    freedom: Floats

    @property
    def share(self) -> Floats:
        """n / N, the share of the key's rows that was seen; 0 for a key without rows."""
        return np.where(self.population > 0, self.count / np.maximum(self.population, 1e-300), 0.0)

    @property
    def value(self) -> Floats:
        """The stratified mean sum(N_s mean_s) / N: rows seen as they are, the others by `rest`; nan without a row."""
        return self.rest + self.share * (self.mean - self.rest)

    def only(self, keys: NDArray[np.bool_]) -> Sampled:
        """The sample of some of the keys."""
        return Sampled(*(getattr(self, part.name)[keys] for part in fields(self)))


def borrowed_spread(spread: Floats, value: Floats, m2: Floats, freedom: Floats) -> Floats:
    """Row variances (S, K), and in place of a key's 0 what the other keys have, relative to the square of their values.

    A few rows that are all equal do not prove that the others are. `value`, `m2` and `freedom` (K,) are the keys'.
    """
    some = (freedom > 0) & (value != 0) & np.isfinite(value)
    squares = np.where(some, value, 1.0) ** 2
    total = float(freedom[some].sum())
    pooled = float((m2[some] / squares[some]).sum()) / total if total > 0 else 0.0
    return np.where((spread == 0) & some, pooled * squares, spread)


@dataclass(frozen=True, slots=True)
class Strata:
    """Samples of one window: `population` N_s and the sampled rows' moments, all arrays (S, K).

    Guarantee: every stratum that has a sampled row enters with its own population, so the combination is unbiased
    given the sizes. A stratum with rows but no sampled one (N_s > 0, n_s = 0) is *collapsed*: its rows are taken to
    have the mean of the key's other strata, weighted by the rows these have left unseen (by their population if they
    have none left); that is unbiased only as far as the key's mean does not move between the slots. A key with no
    sampled row at all has mean and rest nan and effective 0.
    """

    population: Floats
    moments: Moments

    def __post_init__(self) -> None:
        population = np.atleast_2d(np.asarray(self.population, dtype=np.float64))
        parts = (np.atleast_2d(x) for x in (self.moments.count, self.moments.mean, self.moments.m2))
        moments = Moments(*parts)
        object.__setattr__(self, "population", population)
        object.__setattr__(self, "moments", moments)
        if population.shape != moments.count.shape:
            raise DataError(
                f"populations {population.shape} and samples {moments.count.shape} differ in shape; "
                "align both over strata and keys"
            )
        if np.any(moments.count > population * (1 + 1e-9)):
            raise DataError("a stratum has more sampled rows than its population; count populations from the same rows")

    def combine(self) -> Sampled:
        """All strata of each key as one sample."""
        population, sample = self.population, self.moments
        total = population.sum(axis=0)
        count = sample.count.sum(axis=0)
        seen = np.where(sample.count > 0, sample.mean, 0.0)
        divisor = np.maximum(count, 1e-300)
        mean = np.where(count > 0, (sample.count * seen).sum(axis=0) / divisor, np.nan)
        weight = self.rest_weights()
        rest = np.where(count > 0, (weight * seen).sum(axis=0), np.nan)
        doubt = (weight**2 / np.maximum(sample.count, 1.0)).sum(axis=0)
        return Sampled(
            population=total,
            count=count,
            mean=mean,
            rest=rest,
            effective=np.where(count > 0, 1 / np.maximum(doubt, 1e-300), 0.0),
            m2=sample.m2.sum(axis=0),
            freedom=np.maximum(sample.count - 1, 0.0).sum(axis=0),
        )

    def rest_weights(self) -> Floats:
        """(S, K): each stratum's weight in the mean of the rows not seen; sums to 1 where a row was seen."""
        sampled = self.moments.count > 0
        left = np.where(sampled, self.population - self.moments.count, 0.0)
        # Exhausted strata beside an unsampled one: they are all there is to fill it from.
        share = np.where(left.sum(axis=0) > 0, left, np.where(sampled, self.population, 0.0))
        sums = share.sum(axis=0)
        return np.where(sums > 0, share / np.where(sums > 0, sums, 1.0), 0.0)
