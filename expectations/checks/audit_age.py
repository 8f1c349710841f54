"""Trust in a slot without an exact leg: how old the last audit is."""

from __future__ import annotations

import math

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, micros
from shedding.spec.measure import MeasureSpec
from shedding.spec.times import format_duration


class AuditAge(GateCheck):
    """The last audited slot is not older than the limit, in event time."""

    key = "audit_age"
    words = "age of the last audit"
    sentence = "The last audited slot began at most $limit before this one."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """Microseconds of event time since the last audited slot; infinite where none is known."""
        age = 0.0
        if evidence.trusts_audits:
            last = evidence.runs["last_audit"].drop_null()
            age = float(evidence.slot - micros(last).max()) if len(last) else np.inf
        return np.full(len(evidence.starts), age)

    def show(self, value: float) -> str:
        """The age in words."""
        if not value:
            return "none"
        return format_duration(int(value)) if math.isfinite(value) else "unknown"
