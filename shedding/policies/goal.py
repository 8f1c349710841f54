"""What an allocation minimises: relative error, variance, or doubt about a support threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shedding.errors import BudgetError
from shedding.policies.concept import Concept

Floats = NDArray[np.float64]
GoalName = Literal["relative", "variance", "support"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The error that counts; `support` is the threshold as a share of all rows, with goal "support" only."""

    name: GoalName = "relative"
    support: float | None = None

    def __post_init__(self) -> None:
        if self.name not in ("relative", "variance", "support"):
            raise BudgetError(f"unknown goal {self.name!r}; goals: relative, variance, support")
        if (self.name == "support") != (self.support is not None):
            raise BudgetError("the support threshold goes with goal support and only there; set both or neither")

    def coefficients(self, concept: Concept) -> Floats:
        """b_k of the squared error b_k (1 / r_k - 1), mean over the measures; positive and finite.

        relative: cv^2 / N (AVG and SUM with known N, erratum 3). variance: sd^2 / N, each measure in units of its mean
        |value|, so that measures of different units can be added. support: see `support_confidence`.
        """
        if self.name == "support":
            assert self.support is not None
            return support_confidence(concept.population, self.support * float(concept.population.sum()))
        spread = concept.spread()
        if self.name == "variance":
            spread = spread * _relative_scale(concept)
        return np.asarray(np.mean(np.square(spread), axis=1) / concept.population)

    def errors(self, concept: Concept, rates: Floats) -> Floats:
        """Expected error of each key at these rates, sqrt(b (1/r - 1)); infinite at rate 0.

        relative: root mean square relative error. variance: the same in units of the measures' mean |value|. support:
        noise of the count over its distance to the threshold (`wrong_side` turns counts and rates into probabilities).
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.sqrt(self.coefficients(concept) * (1.0 / rates - 1.0)))

    def total(self, concept: Concept, errors: Floats) -> float:
        """Root of the weighted mean of the squared errors: sqrt(G / sum v), G the goal of Eq. 7."""
        if not len(concept):
            return 0.0
        shares = concept.weight / concept.weight.sum()
        return float(np.sqrt(np.sum(np.where(shares > 0, shares * np.square(errors), 0.0))))


def _relative_scale(concept: Concept) -> Floats:
    """|value| over the measure's mean |value|; 1 where it is unknown, zero or not finite."""
    known = np.where(np.isfinite(concept.scale) & (concept.scale > 0), concept.scale, np.nan)
    columns = []
    for column in known.T:
        valid = column[~np.isnan(column)]
        unit = float(valid.mean()) if valid.size else 1.0
        columns.append(np.clip(np.where(np.isnan(column), 1.0, column / unit), 1e-100, 1e100))
    return np.column_stack(columns) if columns else np.ones((len(concept), 1))


def support_confidence(population: Floats, threshold: float) -> Floats:
    """COUNT against a support threshold (Sec. VII-C): b = f / ((f - threshold)^2 + f), in (0, 1].

    b / r - b is the variance f (1/r - 1) of the count over its squared distance to the threshold: the noise that
    could carry the key to the wrong side. The + f keeps keys at the threshold, which no sample can tell, from taking
    all. The approximation printed below Eq. 18 has b = (f - threshold)^2 / pi instead: it grows with the distance and
    so spends the budget on keys whose side is certain; it is not used.
    """
    return np.asarray(population / ((population - threshold) ** 2 + population))
