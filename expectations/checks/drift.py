"""How far the keys' frequencies are from those of the slot before; without keys, how far the rows' law is."""

from __future__ import annotations

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class Drift(GateCheck):
    """The slot's concept is no farther from that of the slot before than the limit.

    A query without keys has the concept (mean, variance), which exact windows tell: each against the one before it.
    """

    key = "drift"
    words = "distance from the concept of the slot before"
    sentence = "The distance of the slot's concept from that of the slot before is at most $limit."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The distance, as the run recorded it."""
        by_slot = numbers(evidence.runs, "distance")
        return by_slot if evidence.query.group_by else numbers(evidence.runs, "window_distance")
