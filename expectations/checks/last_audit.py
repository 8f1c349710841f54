"""Trust in a slot without an exact leg: what the last audit measured."""

from __future__ import annotations

import math

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec


class LastAudit(GateCheck):
    """The last audited slot before this one met the limits that decide, as far as audits record them. Always holds.

    The errors that audits measured are in the laws that bound this slot's. The run records the last audited slot's
    other figures, a function of raw rows alone, so the verdict is the same in any order of backfill. What nobody
    recorded is infinitely over: no audit, no trust.
    """

    key = "last_audit"
    words = "keys or coverage at the last audit over budget"
    sentence = "At the last audit before this slot, nothing was over $limit times its budget."
    place = 3

    def limit(self, gate: GateSpec) -> float:
        """No limit was exceeded."""
        return 1.0

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many times over its limits the last audit was; nan where this slot needs no trust."""
        from expectations.checks import limits_of

        worst = np.full(len(evidence.starts), np.nan)
        if not evidence.trusts_audits:
            return worst
        for check, limit in limits_of(evidence.query).items():
            over = None if check.key in evidence.query.gate.warn else check.at_last_audit(evidence, measure, limit)
            worst = worst if over is None else np.fmax(worst, over)
        return worst

    def show(self, value: float) -> str:
        """How many times over; what nobody measured is said to be unknown."""
        return f"{value:.4g}" if math.isfinite(value) else "unknown or without limit"
