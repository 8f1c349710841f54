"""How long a slot takes, from the runs there were: seconds = a + b rows read + c rows processed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from shedding.errors import DataError

Floats = npt.NDArray[np.float64]

LEAST_RUNS = 8
"""Fewer runs say nothing of the next one's seconds."""
ROUNDS, CLOSE = 20, 1.345
"""Rounds of reweighting, and how many deviations off a run still counts in full (Huber)."""


@dataclass(frozen=True, slots=True)
class RunTime:
    """Seconds to start, for each row read, and for each row processed; none is negative."""

    start: float
    read: float
    processed: float
    runs: int

    @classmethod
    def of(cls, runs: Sequence[Mapping[str, Any]], query: str) -> RunTime:
        """Huber's fit to the runs' rows, one row a slot; DataError where they are too few.

        A run that had to wait for a machine, or was repaired, is an outlier and hardly counts.
        """
        names = ("seconds", "rows_read", "total_rows")
        known = [row for row in runs if all(row.get(name) is not None for name in names) and row["seconds"] > 0]
        if len(known) < LEAST_RUNS:
            raise DataError(
                f"{query}: {len(known)} runs say how long they took, and a deadline takes {LEAST_RUNS}; "
                f"run more slots (`sluice run {query} --from T --to T`), or plan by --error alone"
            )
        seconds, read, processed = (np.array([float(row[name]) for row in known]) for name in names)
        unit = max(float(read.max()), float(processed.max()), 1.0)
        design = np.stack([np.ones(len(known)), read / unit, processed / unit], axis=1)
        start, per_read, per_kept = _huber(design, seconds)
        return cls(start, per_read / unit, per_kept / unit, len(known))

    def seconds(self, read: float, processed: float) -> float:
        """How long a run that reads and processes so many rows takes."""
        return self.start + self.read * read + self.processed * processed

    def largest_fraction(self, rows: float, deadline: float) -> float:
        """The largest fraction of a slot's rows that can be processed by the deadline, all being read; 0 where none."""
        left = deadline - self.seconds(rows, 0.0)
        if left < 0:
            return 0.0
        return min(1.0, left / (self.processed * rows)) if self.processed * rows > 0 else 1.0


def _huber(design: Floats, values: Floats) -> Floats:
    """Coefficients that are not negative, by least squares with weights that fall where a run is far off."""
    weight = np.ones(len(values))
    found = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        root = np.sqrt(weight)
        found = optimize.nnls(design * root[:, None], values * root)[0]
        off = np.abs(values - design @ found)
        spread = max(1.4826 * float(np.median(off)), 1e-9)
        weight = np.minimum(1.0, CLOSE * spread / np.maximum(off, 1e-12))
    return np.asarray(found)
