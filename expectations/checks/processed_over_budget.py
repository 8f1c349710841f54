"""Rows processed against the rows budgeted."""

from __future__ import annotations

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class ProcessedOverBudget(GateCheck):
    """The shed leg processed at most `limit` times the rows of its budget; an exact leg is not judged by it."""

    key = "processed_over_budget"
    words = "processed rows over budgeted rows"
    sentence = "The shed leg processed at most $limit times the rows that its budget allows."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """Processed over budgeted rows; the exact leg is no shedding: its cost is recorded, not judged."""
        over = np.full(len(evidence.starts), np.nan)
        if evidence.leg == "exact":
            return over
        budget = numbers(evidence.runs, "budget_rows")
        return np.asarray(np.divide(numbers(evidence.runs, "processed_rows"), budget, out=over, where=budget > 0))
