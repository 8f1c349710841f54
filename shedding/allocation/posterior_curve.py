"""The expected error *after* shrinkage to history (the project's own)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.allocation.concept import Concept
from shedding.allocation.curve import Curve, Floats, Ints, weighted_mean

FEW_KEYS = 10.0
"""How far so many keys moved apart between audits tells as much as it leaves open of how far they will."""
UNKNOWN = np.array(1.0)
"""Relative variance of a key of which history says nothing: a missing key is 100 % wrong."""


def posterior_error(n: Floats, population: Floats, spread: Floats, prior: Floats) -> Floats:
    """s(n) = (1 - n/N) sqrt(P V / (P + V) + cv^2 / (N - n)) with V = cv^2 / n; s(0) = sqrt(P + cv^2 / N), s(N) = 0.

    The relative error left when n of N rows are seen and the rest is predicted from them and from history.
    """
    square = np.square(spread)
    unseen = np.maximum(population - n, 0.0)
    shrunk = prior * square / np.maximum(n * prior + square, np.finfo(np.float64).tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = unseen / population * np.sqrt(shrunk + square / unseen)
    return np.where(unseen > 0, error, 0.0)


@dataclass(frozen=True, slots=True)
class PosteriorCurve(Curve):
    """The mean of `posterior_error` over a concept's measures."""

    population: Floats
    spread: Floats
    prior: Floats
    doubt: float = 0.0

    @classmethod
    def of(cls, concept: Concept) -> PosteriorCurve:
        """The curve of a concept, gaps in its statistics filled."""
        return cls(
            concept.population, concept.spread(), concept.uncertainty(), FEW_KEYS / (FEW_KEYS + max(len(concept), 1))
        )

    def errors(self, keys: Ints, n: Floats) -> Floats:
        """Errors of the keys at n rows; n has one line a key."""
        rows = self.population[keys, None]
        total = np.zeros_like(n)
        for measure in range(self.spread.shape[1]):
            spread, prior = self.spread[keys, measure, None], self.prior[keys, measure, None]
            total += (1 - self.doubt) * posterior_error(n, rows, spread, prior)
            total += self.doubt * posterior_error(n, rows, spread, UNKNOWN)
        return np.asarray(total / self.spread.shape[1])

    def total(self, weight: Floats, errors: Floats) -> float:
        """The weighted mean."""
        return weighted_mean(weight, errors)
