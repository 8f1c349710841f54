"""Keys that belong to a query's `top` and that its answer does not show."""

from __future__ import annotations

from expectations.checks.check import GateCheck, times_over
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class TopMissed(GateCheck):
    """No audited window misses more of the keys that are truly on top than allowed."""

    key = "top_missed"
    words = "keys missed of the true top"
    sentence = "No window misses more than $limit of the keys that the exact answer has on top."
    needs_exact = True

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The missed keys, as the run counted them."""
        return numbers(evidence.runs, "top_missed")

    def at_last_audit(self, evidence: Evidence, measure: MeasureSpec, limit: float) -> Array:
        """The keys that the last audit missed."""
        return times_over(numbers(evidence.runs, "audit_top_missed"), limit)
