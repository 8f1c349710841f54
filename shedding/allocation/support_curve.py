"""How likely a frequency is put on the wrong side of a support threshold (Mozafari and Zaniolo, Sec. VII-C)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.curve import Curve, Floats, Ints, weighted_mean

DRIFT = 0.08
"""Relative deviation by which a frequency moves from one window to the next, beside its own noise."""
_NODES = np.linspace(-4.0, 4.0, 61)
_SHARES = np.exp(-np.square(_NODES) / 2) / np.exp(-np.square(_NODES) / 2).sum()


@dataclass(frozen=True, slots=True)
class SupportCurve(Curve):
    """P(estimate and truth on different sides of `threshold`) of a stratum that is counted from n of N rows.

    The true frequency is what history says, `frequency`, give or take its noise and the drift between windows; the
    estimate errs by f (1 / r - 1) (Eq. 3, which Eq. 18 lacks the f of) around the truth. The approximation printed
    below Eq. 18 grows with the distance to the threshold, and so spends the budget on what is certain; it is not used.
    The curve is flat, then falls, then is flat: no reciprocal one, and solved along its hull.
    """

    population: Floats
    frequency: Floats
    threshold: float

    def errors(self, keys: Ints, n: Floats) -> Floats:
        """The probability, mean over what the truth may be; a half without a row, 0 with all of them."""
        rates = n / self.population[keys, None]
        frequency = self.frequency[keys, None]
        blur = np.sqrt(frequency + np.square(DRIFT * frequency))
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.sqrt(frequency * (1.0 / rates - 1.0))
            parts = [
                share * _below(-np.abs(frequency + node * blur - self.threshold) / noise)
                for node, share in zip(_NODES, _SHARES, strict=True)
            ]
        return np.where(rates >= 1.0, 0.0, np.sum(parts, axis=0))

    def total(self, weight: Floats, errors: Floats) -> float:
        """The weighted mean of the probabilities."""
        return weighted_mean(weight, errors)


def _below(z: Floats) -> Floats:
    """The normal law at z <= 0, to 1.5e-7 (Abramowitz and Stegun 7.1.26): NumPy has none, and no more is needed."""
    x = -z / np.sqrt(2.0)
    t = 1.0 / (1.0 + 0.3275911 * x)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.asarray(0.5 * poly * np.exp(-np.square(x)))
