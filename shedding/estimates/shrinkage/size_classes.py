"""Size classes: small keys have other means than big ones, so history is kept as a ratio to the class's mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.moments import Floats

CLASSES = 8
PULL = 10.0
"""Keys' worth of the overall mean that every class starts with."""
CLIP = 0.995


def size_class(population: Floats) -> NDArray[np.int64]:
    """j = min(floor(log2 N), 7); keys without rows are in class 0.

    >>> size_class(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 300.0]))
    array([0, 0, 1, 1, 2, 7])
    """
    exponent = np.frexp(np.maximum(population, 1.0))[1] - 1  # exact, where log2 of 8 - 1e-16 might round to 3
    classes: NDArray[np.int64] = np.clip(exponent, 0, CLASSES - 1).astype(np.int64)
    return classes


def class_means(population: Floats, mean: Floats) -> Floats:
    """G(j) of the 8 classes: the mean over the class's keys of their means, pulled to the overall mean.

    Means are clipped at their 99.5 % quantile, so that one wild key does not move its class. Keys without rows do not
    count. Guarantee: finite for finite input, 0 where no key has a row.
    """
    present = population > 0
    if not present.any():
        return np.zeros(CLASSES)
    values = mean[present]
    values = np.minimum(values, np.quantile(values, CLIP))
    classes = size_class(population[present])
    count = np.bincount(classes, minlength=CLASSES)
    sums = np.bincount(classes, values, minlength=CLASSES)
    means: Floats = (sums + PULL * values.mean()) / (count + PULL)
    return means
