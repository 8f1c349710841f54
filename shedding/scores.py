"""How good one measure of one window is: measured against the exact answer, or expected from its intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.answers import Answer

Floats = npt.NDArray[np.float64]

_MEAN_OF_NORMAL = math.sqrt(2 / math.pi)


@dataclass(frozen=True, slots=True)
class Score:
    """Relative errors over the keys of a window (a missing key is 1), coverage and relative half-width.

    `errors` is over all keys of the sample, nan for keys that are not in the answer. `estimates` is the
    number of intervals that `coverage` was measured on.
    """

    errors: Floats
    every: Floats
    coverage: float
    estimates: int
    half_width: float

    def summary(self) -> dict[str, float | None]:
        """The columns of a run's row."""
        if not self.every.size:
            return {"mean_error": None, "p95_error": None, "worst_error": None, "coverage": None, "half_width": None}
        return {
            "mean_error": float(self.every.mean()),
            "p95_error": float(np.quantile(self.every, 0.95, method="higher")),
            "worst_error": float(self.every.max()),
            "coverage": None if math.isnan(self.coverage) else self.coverage,
            "half_width": None if math.isnan(self.half_width) else self.half_width,
        }


def measured(answer: Answer, exact: Answer, measure: str, floor: float = 0.0) -> Score:
    """Errors against the exact answer, |error| / max(|exact|, floor).

    Both answers are over the same keys. A key that the exact answer has and the other lacks is an error
    of 1, and so is one that it has and the exact answer lacks. Equal values, two nulls and two zeros
    among them, are an error of 0.
    """
    estimate, truth = answer.estimates[measure], exact.estimates[measure].value
    gap = np.abs(estimate.value - truth)
    scale = np.maximum(np.abs(truth), floor)
    same = (gap == 0) | (np.isnan(estimate.value) & np.isnan(truth))
    comparable = ~np.isnan(gap) & (scale > 0)
    errors = np.where(comparable, gap / np.where(scale > 0, scale, 1.0), 1.0)
    errors = np.where(same, 0.0, np.where(exact.shown, errors, 1.0))
    judged = exact.shown | answer.shown
    errors = np.where(answer.shown, errors, 1.0)
    interval = answer.shown & exact.shown & (estimate.high > estimate.low) & ~np.isnan(truth)
    slack = 1e-12 * np.abs(truth)  # an end that equals the truth but for rounding covers it
    inside = (estimate.low <= truth + slack) & (truth <= estimate.high + slack)
    count = int(interval.sum())
    covered = float(inside[interval].mean()) if count else math.nan
    return Score(
        np.where(answer.shown, errors, np.nan), errors[judged], covered, count, _half_width(answer, measure, floor)
    )


def expected(answer: Answer, measure: str, floor: float = 0.0) -> Score:
    """Errors as the intervals expect them: the mean of |error| under a normal law of the stated deviation."""
    estimate = answer.estimates[measure]
    scale = np.maximum(np.abs(estimate.value), floor)
    usable = ~np.isnan(estimate.value) & (scale > 0)
    errors = np.where(usable, _MEAN_OF_NORMAL * estimate.deviation / np.where(usable, scale, 1.0), np.inf)
    errors = np.where((estimate.deviation == 0) | np.isnan(estimate.value), 0.0, errors)
    missing = int((answer.present & ~answer.shown).sum())
    every = np.concatenate([errors[answer.shown], np.ones(missing)])
    return Score(np.where(answer.shown, errors, np.nan), every, math.nan, 0, _half_width(answer, measure, floor))


def _half_width(answer: Answer, measure: str, floor: float) -> float:
    """Mean half-width of the intervals relative to the value; nan where the answer shows no value."""
    estimate = answer.estimates[measure]
    scale = np.maximum(np.abs(estimate.value), floor)
    usable = answer.shown & ~np.isnan(estimate.value) & (scale > 0)
    return float(((estimate.high - estimate.low)[usable] / 2 / scale[usable]).mean()) if usable.any() else math.nan
