"""What an allocation minimises: relative error, before or after shrinkage, variance, or doubt about a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shedding.allocation.concept import Concept
from shedding.allocation.curve import Curve, ReciprocalCurve
from shedding.allocation.posterior_curve import PosteriorCurve
from shedding.allocation.support_curve import SupportCurve
from shedding.errors import BudgetError

Floats = NDArray[np.float64]
GoalName = Literal["relative", "variance", "support", "posterior"]


@dataclass(frozen=True, slots=True)
class Goal:
    """The error that counts: the factory Concept -> Curve.

    `support` is the threshold as a share of all rows, with goal "support" only.
    """

    name: GoalName = "relative"
    support: float | None = None

    def __post_init__(self) -> None:
        if self.name not in get_args(GoalName):
            raise BudgetError(f"unknown goal {self.name!r}; goals: {', '.join(get_args(GoalName))}")
        if (self.name == "support") != (self.support is not None):
            raise BudgetError("the support threshold goes with goal support and only there; set both or neither")

    def curve(self, concept: Concept) -> Curve:
        """The error of each key of a concept as a function of its rows, mean over the measures.

        relative: cv^2 / N (AVG and SUM with known N, erratum 3 in `estimates/README.md`). variance: sd^2 / N, each
        measure in units of its mean |value|, so that measures of different units can be added. support: see
        `SupportCurve`. posterior: the relative error after shrinkage to history.
        """
        if self.name == "posterior":
            return PosteriorCurve.of(concept)
        if self.support is not None:
            threshold = self.support * float(concept.population.sum())
            return SupportCurve(concept.population, concept.population, threshold)
        return ReciprocalCurve(concept.population, self._coefficients(concept))

    def _coefficients(self, concept: Concept) -> Floats:
        """b_k of the squared error b_k (1 / r_k - 1); positive and finite."""
        spread = concept.spread()
        if self.name == "variance":
            spread = spread * _relative_scale(concept)
        return np.asarray(np.mean(np.square(spread), axis=1) / concept.population)


def _relative_scale(concept: Concept) -> Floats:
    """|value| over the measure's mean |value|; 1 where it is unknown, zero or not finite."""
    known = np.where(np.isfinite(concept.scale) & (concept.scale > 0), concept.scale, np.nan)
    columns = []
    for column in known.T:
        valid = column[~np.isnan(column)]
        unit = float(valid.mean()) if valid.size else 1.0
        columns.append(np.clip(np.where(np.isnan(column), 1.0, column / unit), 1e-100, 1e100))
    return np.column_stack(columns) if columns else np.ones((len(concept), 1))
