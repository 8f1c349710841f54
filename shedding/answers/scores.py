"""How good one measure of one window is: measured against the exact answer, or expected from its intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer
from shedding.estimates.accuracy import (
    MEAN_OF_NORMAL,
    WindowErrors,
    checked_intervals,
    half_widths,
    mean_half_width,
    pooled_spread,
    relative_errors,
)
from shedding.measures import learnable
from shedding.risk import claims
from shedding.spec.measure import MeasureSpec

Floats = npt.NDArray[np.float64]

MOST_EXPECTED = 2.0
"""Most that a key's error is expected to be: where the value is far below its deviation, the error relative to the
true value is about 1, however near to zero the value came out."""


@dataclass(frozen=True, slots=True)
class Score:
    """Relative errors of a window's keys and their summary.

    `errors` is over all keys of the sample, nan for keys that the answer does not show. `every` are the errors
    that count, a missing key as 1, `window` their summary. Coverage is over the `estimates` intervals that
    `checked_intervals` names. Errors and half-widths are relative to at least `floor`.
    """

    errors: Floats
    every: Floats
    window: WindowErrors
    estimates: int
    covered: int
    half_width: float
    floor: float

    def summary(self) -> dict[str, float | None]:
        """The columns of a run's row; unknown ones are None."""
        return {
            **self.window.columns(),
            "coverage": self.covered / self.estimates if self.estimates else None,
            "half_width": None if np.isnan(self.half_width) else self.half_width,
            "floor": self.floor,
        }


def floor_of(answer: Answer, measure: MeasureSpec) -> float:
    """What errors are at least relative to: the spread of the rows where values may be near zero, else nothing."""
    if not measure.near_zero or measure.name not in answer.sample.measures:
        return 0.0
    stat = answer.sample.measures[measure.name]
    return pooled_spread(learnable(measure).spread_moments(stat) if measure.traits.estimated else stat.moments)


def missing_keys(answer: Answer, scores: Mapping[str, Score]) -> int:
    """How many keys are not in the answer, or in it without a value that some measure should have."""
    missing = answer.present & ~answer.shown
    for name, score in scores.items():
        missing |= answer.shown & np.isnan(answer.estimates[name].value) & (score.errors > 0)
    return int(missing.sum())


def measured(answer: Answer, exact: Answer, measure: MeasureSpec) -> Score:
    """Errors against the exact answer over its keys; both answers are over the same keys.

    A key of the exact answer that the other does not show is an error of 1; two nulls are an error of 0. A key that
    only the shed answer has is not counted, but shows an error of 1.
    """
    floor = floor_of(exact, measure)
    estimate, truth = answer.estimates[measure.name], exact.estimates[measure.name].value
    value = np.where(answer.shown, estimate.value, np.nan)
    errors = relative_errors(truth, value, floor)
    errors = np.where(np.isnan(truth) & np.isnan(value), 0.0, np.where(np.isnan(truth), 1.0, errors))
    judged = exact.shown & ~np.isnan(truth)
    tested, inside = checked_intervals(truth, estimate.low, estimate.high)
    tested &= judged & answer.shown
    widths = half_widths(truth, estimate.low, estimate.high, floor)[judged & ~np.isnan(value)]
    every = errors[exact.shown]
    return Score(
        errors=np.where(answer.shown, errors, np.nan),
        every=every,
        window=WindowErrors.of(every),
        estimates=int(tested.sum()),
        covered=int(inside[tested].sum()),
        half_width=mean_half_width(widths),
        floor=floor,
    )


def expected_errors(answer: Answer, measure: MeasureSpec, floor: float) -> Floats:
    """Each key's error as its interval expects it: the mean of |error| under a normal law of the stated deviation.

    No finite deviation is an error above MOST_EXPECTED. A null where the key has no value to give is no error; one
    where the sample could not tell is an error of 1.
    """
    estimate = answer.estimates[measure.name]
    scale = np.maximum(np.abs(estimate.value), floor)
    usable = ~np.isnan(estimate.value) & (scale > 0)
    errors = np.where(usable, MEAN_OF_NORMAL * estimate.deviation / np.where(usable, scale, 1.0), 1.0)
    errors = np.where(np.isinf(estimate.deviation), errors, np.minimum(errors, MOST_EXPECTED))
    silent = answer.silent.get(measure.name, np.zeros_like(answer.shown))
    return np.where((estimate.deviation == 0) | np.isnan(estimate.value), np.where(silent, 1.0, 0.0), errors)


def expected(answer: Answer, measure: MeasureSpec) -> Score:
    """Errors as the intervals expect them; the summary is that of `claims`."""
    floor = floor_of(answer, measure)
    estimate, errors = answer.estimates[measure.name], expected_errors(answer, measure, floor)
    missing = answer.present & ~answer.shown
    return Score(
        errors=np.where(answer.shown, errors, np.nan),
        every=np.where(answer.shown, errors, 1.0)[answer.present],
        window=claims(errors[answer.shown], int(missing.sum())),
        estimates=0,
        covered=0,
        half_width=mean_half_width(half_widths(estimate.value, estimate.low, estimate.high, floor)[answer.shown]),
        floor=floor,
    )
