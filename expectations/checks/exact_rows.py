"""What is kept is exact."""

from __future__ import annotations

import numpy as np

from expectations.checks.window_check import WindowCheck
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class ExactRows(WindowCheck):
    """Every row of a kept window is exact: it says so, and its interval is its value."""

    key = "exact_rows"
    words = "rows that are not exact:"
    sentence = "Every row of a kept window is exact."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many rows of each window are not."""
        value, low, high = (numbers(evidence.answer, measure.name + end) for end in ("", "_low", "_high"))
        point = ((low == value) & (value == high)) | np.isnan(value)
        wrong = ~(point & (numbers(evidence.answer, "is_exact") == 1))
        return np.bincount(evidence.window, weights=wrong, minlength=len(evidence.starts)).astype(float)
