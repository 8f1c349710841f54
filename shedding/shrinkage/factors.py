"""The window factor (today everything is 8 % dearer) and the size classes' own, from the sampled keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.moments import Floats
from shedding.shrinkage.prior import Prior, classes_of
from shedding.shrinkage.size_classes import CLASSES

OUTLIER = 4.0
"""Deviations are clipped at this many of their own standard deviations."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Common movement of a window: `overall` c, `by_class` d_j (8,) on top of it, and their variances."""

    overall: float
    overall_variance: float
    by_class: Floats
    class_variance: Floats

    def apply(self, prior: Prior) -> tuple[Floats, Floats]:
        """Moved prior means p c d_j, and the prior's variance P with the factors' own added."""
        j = classes_of(prior)
        moved = prior.mean * self.overall * self.by_class[j]
        return moved, prior.variance + self.overall_variance + self.class_variance[j]


def window_factors(prior: Prior, observed: Floats, noise: Floats, overall2: float, class2: float) -> Factors:
    """Factors from `observed` means (prior's unit; nan: none) with relative variance `noise`.

    Weighted mean of y / p - 1 with weights 1 / (V + P), shrunk to 0 by its expected squared size `overall2`, then the
    same in each class with `class2`. Infinite sizes mean no shrinkage (what an audit measures). Guarantee: without an
    observation the factors are 1 and their variances the expected sizes.
    """
    usable = np.isfinite(observed) & np.isfinite(noise)
    expected, total = prior.mean[usable], noise[usable] + prior.variance[usable]
    weight = 1 / np.maximum(total, 1e-300)
    bound = OUTLIER * np.sqrt(total)
    moved = np.clip(observed[usable] / expected - 1, -bound, bound)
    shift, variance = _shrunk(np.array([(weight * moved).sum()]), np.array([weight.sum()]), overall2)
    overall = 1 + float(shift[0])
    j = classes_of(prior)[usable]
    rest = np.clip(observed[usable] / (expected * overall) - 1, -bound, bound)
    sums = np.bincount(j, weight * rest, minlength=CLASSES).astype(np.float64)
    weights = np.bincount(j, weight, minlength=CLASSES).astype(np.float64)
    by_class, class_variance = _shrunk(sums, weights, class2)
    return Factors(overall, float(variance[0]), 1 + by_class, class_variance)


def _shrunk(sums: Floats, weights: Floats, size: float) -> tuple[Floats, Floats]:
    """Means sums / weights shrunk to 0 by their expected size, and their variances afterwards."""
    some = weights > 0
    noise = 1 / np.where(some, weights, 1.0)
    kept = np.ones_like(noise) if np.isinf(size) else size / np.maximum(size + noise, 1e-300)
    return (
        np.where(some, kept * sums * noise, 0.0),
        np.where(some, kept * noise, 0.0 if np.isinf(size) else size),
    )
