"""The window factor (today everything is 8 % dearer) and the size classes' own, from the sampled keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.prior import Prior, classes_of
from shedding.estimates.shrinkage.size_classes import CLASSES

OUTLIER = 4.0
"""Deviations are clipped at this many of their own standard deviations."""
FAR = 2.0
"""A window that moved by so many standard deviations of its median key moved as a whole, whatever was expected."""
CERTAIN = 4.0
"""And so many standard errors of the factor itself."""
FEWEST = 20
"""Sampled keys that can show it: the few of a quiet hour move that far by chance."""
_LEAST, _STEPS, _CLOSE = 0.01, 100, 1e-9


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
    observation the factors are 1 and their variances the expected sizes; a movement that most keys share, 20 or more,
    is found whatever its size, though no window ever moved so far.
    """
    usable = np.isfinite(observed) & np.isfinite(noise)
    expected, total = prior.mean[usable], noise[usable] + prior.variance[usable]
    weight = 1 / np.maximum(total, 1e-300)
    bound = OUTLIER * np.sqrt(total)
    overall, variance = _common(observed[usable] / expected, weight, bound, overall2)
    j = classes_of(prior)[usable]
    rest = np.clip(observed[usable] / (expected * overall) - 1, -bound, bound)
    sums = np.bincount(j, weight * rest, minlength=CLASSES).astype(np.float64)
    weights = np.bincount(j, weight, minlength=CLASSES).astype(np.float64)
    by_class, class_variance = _shrunk(sums, weights, class2)
    return Factors(overall, variance, 1 + by_class, class_variance)


def _common(level: Floats, weight: Floats, bound: Floats, size: float) -> tuple[float, float]:
    """The factor that the keys share, and its relative variance.

    Clipped around 1, a window in which all is ten times dearer looks like a window of wild keys, and shrinkage takes
    it for chance. So where the centre of the levels is `FAR` from 1, up or down, and certainly so, it is the factor.
    """
    if level.size >= FEWEST:
        centre, noise = _centre(level, weight, bound), 1 / float(weight.sum())
        far = max(centre, 1 / centre) - 1 > FAR * float(np.median(bound)) / OUTLIER
        if far and (centre - 1) ** 2 > CERTAIN**2 * noise:
            return centre, noise
    moved = np.clip(level - 1, -bound, bound)
    shift, variance = _shrunk(np.array([(weight * moved).sum()]), np.array([weight.sum()]), size)
    return 1 + float(shift[0]), float(variance[0])


def _centre(level: Floats, weight: Floats, bound: Floats) -> float:
    """The c around which the levels, level / c - 1 clipped at their bounds, cancel out (Huber 1964)."""
    centre = 1.0
    for _ in range(_STEPS):
        step = float(np.average(np.clip(level / centre - 1, -bound, bound), weights=weight))
        centre = max(centre * (1 + step), _LEAST)
        if abs(step) <= _CLOSE:
            break
    return centre


def _shrunk(sums: Floats, weights: Floats, size: float) -> tuple[Floats, Floats]:
    """Means sums / weights shrunk to 0 by their expected size, and their variances afterwards."""
    some = weights > 0
    noise = 1 / np.where(some, weights, 1.0)
    kept = np.ones_like(noise) if np.isinf(size) else size / np.maximum(size + noise, 1e-300)
    return (
        np.where(some, kept * sums * noise, 0.0),
        np.where(some, kept * noise, 0.0 if np.isinf(size) else size),
    )
