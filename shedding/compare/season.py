"""The period of a dataset: how well the rows of a window follow from those of the same phase before it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
HOUR = 3_600_000_000
PERIODS = tuple(hours * HOUR for hours in (1, 6, 12, 24, 7 * 24))
SPANS = 3
"""Periods that the data must hold: of fewer nobody can tell a season from a trend."""
EXPLAINED = 0.5
"""Share of the variance of log rows that a season must explain,"""
BETTER = 0.1
"""and a longer one so much more than a shorter one."""


def found_season(start: Ints, rows: Ints, width: int) -> int | None:
    """The period (us) that the rows of windows follow, None where they follow none.

    `start` and `rows` are those of tumbling windows of `width`; a window that is not there has no rows. A season
    explains what the mean of the *other* windows of a phase tells of each window. Guarantee: a multiple of the width.
    """
    place = (start - start.min()) // width
    size = int(place.max()) + 1
    level = np.zeros(size)
    level[place] = np.log1p(rows)
    best, chosen = 0.0, None
    for period in PERIODS:
        steps = period // width
        if period % width or steps < 2 or size < SPANS * steps:
            continue
        told = _explained(level, steps)
        if told >= EXPLAINED and told > best + BETTER:
            best, chosen = told, period
    return chosen


def _explained(level: npt.NDArray[np.float64], steps: int) -> float:
    phase = np.arange(level.size) % steps
    count = np.bincount(phase, minlength=steps)[phase]
    others = (np.bincount(phase, level, minlength=steps)[phase] - level) / np.maximum(count - 1, 1)
    spread = float(np.sum((level - level.mean()) ** 2))
    return 1 - float(np.sum((level - others) ** 2)) / spread if spread > 0 else 0.0
