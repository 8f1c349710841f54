"""Error curves: how wrong a stratum is expected to be when n of its rows are kept, and how many rows a limit takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_HALVINGS = 60
"""Halvings of [0, N] that find the rows for a limit: to less than a row of any population that fits a double."""


class Curve(ABC):
    """Expected error of each stratum as a function of its rows: not rising in n, and 0 at n = N."""

    population: Floats

    @property
    def reciprocal(self) -> Floats | None:
        """b_k where the squared error is b_k (1 / r_k - 1), so that water filling is the optimum; None elsewhere."""
        return None

    @property
    def hull_steps(self) -> tuple[Ints, Floats, Floats, Floats] | None:
        """Stratum, first and last n, and slope of every edge of the strata's hulls, where they are kept; else None."""
        return None

    @abstractmethod
    def errors(self, keys: Ints, n: Floats) -> Floats:
        """Errors of the strata `keys` (indexes) at n rows; n has one line a stratum."""

    @abstractmethod
    def total(self, weight: Floats, errors: Floats) -> float:
        """One number for all strata: the weighted mean that an allocation makes least."""

    def at_rates(self, rates: Floats) -> Floats:
        """Errors of all strata at these rates."""
        return self.errors(np.arange(rates.size), (rates * self.population)[:, None])[:, 0]

    def rows_for(self, limit: Floats | float) -> Floats:
        """Least rows of each stratum whose expected error is at most `limit`; all of them where the limit is 0.

        By halving, to less than a row's 2^-50; a stratum that is good enough without a row needs none.
        """
        keys = np.arange(self.population.size)
        wanted = np.broadcast_to(np.asarray(limit, dtype=np.float64), self.population.shape)
        low, high = np.zeros(keys.size), self.population.copy()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = self.errors(keys, middle[:, None])[:, 0] <= wanted
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        free = self.errors(keys, np.zeros((keys.size, 1)))[:, 0] <= wanted
        return np.where(wanted <= 0, self.population, np.where(free, 0.0, high))


@dataclass(frozen=True, slots=True)
class ReciprocalCurve(Curve):
    """Squared error b (1 / r - 1), r = n / N (Definition 1 and Eq. 4 with a = b); infinite without a row."""

    population: Floats
    b: Floats

    @property
    def reciprocal(self) -> Floats:
        """The coefficients b_k, positive and finite."""
        return self.b

    def errors(self, keys: Ints, n: Floats) -> Floats:
        """sqrt(b (N / n - 1))."""
        return _reciprocal_errors(self.b[keys, None], n / self.population[keys, None])

    def at_rates(self, rates: Floats) -> Floats:
        """sqrt(b (1 / r - 1))."""
        return _reciprocal_errors(self.b, rates)

    def total(self, weight: Floats, errors: Floats) -> float:
        """Root of the weighted mean of the squared errors: sqrt(G / sum v), G the goal of Eq. 7."""
        if not errors.size:
            return 0.0
        shares = weight / weight.sum()
        return float(np.sqrt(np.sum(np.where(shares > 0, shares * np.square(errors), 0.0))))

    def rows_for(self, limit: Floats | float) -> Floats:
        """N b / (b + limit^2), the inverse in closed form."""
        return np.asarray(self.population * self.b / (self.b + np.square(limit)))


def _reciprocal_errors(b: Floats, rates: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.sqrt(b * (1.0 / rates - 1.0)))


def weighted_mean(weight: Floats, errors: Floats) -> float:
    """The mean of the errors, each by its weight; 0 of none."""
    return float(np.sum(weight / weight.sum() * errors)) if errors.size else 0.0
