"""Rows processed, or seconds spent, against those budgeted."""

from __future__ import annotations

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class ProcessedOverBudget(GateCheck):
    """The shed leg took at most `limit` times the rows, or seconds, of its budget; an exact leg is not judged by it.

    In a pool, whose budget is of the union, the rows that one pass kept for all members are judged; a member that was
    computed by itself processed its own rows only.
    """

    key = "processed_over_budget"
    words = "processed over budget"
    sentence = "The shed leg took at most $limit times the rows, or seconds, that its budget allows."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """What was taken over the budget; the exact leg is no shedding: its cost is recorded, not judged."""
        over = np.full(len(evidence.starts), np.nan)
        if evidence.leg == "exact":
            return over
        seconds = evidence.query.shed.budget.in_seconds
        names = ("spent_seconds", "budget_seconds") if seconds else ("processed_rows", "budget_rows")
        taken, budget = (numbers(evidence.runs, name) for name in names)
        if not seconds:
            taken = np.fmax(taken, numbers(evidence.runs, "union_rows"))
        return np.asarray(np.divide(taken, budget, out=over, where=budget > 0))
