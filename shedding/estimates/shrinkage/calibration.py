"""The constants of the estimate, by class of sample size: what audits have taught, or defaults before any."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from shedding.estimates.estimate import check_confidence
from shedding.estimates.moments import Floats
from shedding.estimates.shrinkage.mixture import default_weights

SAMPLE_CLASSES = 8
KINDS = np.array([0, 0, 1, 1, 1, 1, 1, 1])
"""Which classes of sample size have no sampled row, and which have some."""
FACTOR_SHARE, CLASS_SHARE = 0.03, 0.01
"""Expected squared size of the window's and the classes' factors, over the pooled row variance, before any audit."""
DEFAULT_QUANTILE, IMPUTED_QUANTILE = 2.16, 2.55
"""Half-width over deviation before any audit (95 %): sampled keys, keys without a sampled row."""


def sample_class(count: Floats, seen: NDArray[np.bool_]) -> NDArray[np.int64]:
    """0: no row and no history, 1: no row, then n = 1, 2-3, 4-7, 8-15, 16-31 and more.

    >>> sample_class(np.array([0, 0, 1, 2, 3, 4, 100.0]), np.array([False] + 6 * [True]))
    array([0, 1, 2, 3, 3, 4, 7])
    """
    exponent = np.frexp(np.maximum(count, 1.0))[1] - 1
    sampled = 2 + np.minimum(exponent, SAMPLE_CLASSES - 3)
    return np.where(count > 0, sampled, np.where(seen, 1, 0)).astype(np.int64)


def default_quantiles(confidence: float) -> Floats:
    """Half-width over deviation of each class before any audit."""
    scale = float(special.ndtri(0.5 + check_confidence(confidence) / 2) / special.ndtri(0.975))
    quantile = np.full(SAMPLE_CLASSES, DEFAULT_QUANTILE * scale)
    quantile[:2] = IMPUTED_QUANTILE * scale
    return quantile


@dataclass(frozen=True, slots=True)
class Calibration:
    """`drift` variance, squared sizes of the factors, and for each class of sample size the mix, q and scale.

    None: not known yet, the history's own drift and the default sizes serve. `Calibration()` holds the defaults.
    """

    drift: float | None = None
    factor2: float | None = None
    class2: float | None = None
    weights: Floats = field(default_factory=lambda: default_weights(SAMPLE_CLASSES))
    quantile: Floats = field(default_factory=lambda: default_quantiles(0.95))
    scale: Floats = field(default_factory=lambda: np.ones(SAMPLE_CLASSES))

    def factor_sizes(self, pooled: float) -> tuple[float, float]:
        """Expected squared sizes of the window factor and the class factors, given the pooled row variance."""
        return (
            FACTOR_SHARE * pooled if self.factor2 is None else self.factor2,
            CLASS_SHARE * pooled if self.class2 is None else self.class2,
        )
