"""Trust in a slot without an exact leg: how old the last audit is, and what it found."""

from __future__ import annotations

import math
from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence
from shedding.spec.times import format_duration


class ExpectFreshAudit(Sentence, ExpectColumnMaxToBeBetween):
    """The last audited slot is not older than the limit, in event time."""

    check: ClassVar[str] = "audit_age"
    words: ClassVar[str] = "age of the last audit"
    sentence: ClassVar[str] = "The last audited slot began at most $limit before this one."

    column: str = "audit_age"

    @classmethod
    def show(cls, value: float) -> str:
        """The age in words."""
        if not value:
            return "none"
        return format_duration(int(value)) if math.isfinite(value) else "unknown"


class ExpectLastAuditPassed(Sentence, ExpectColumnMaxToBeBetween):
    """The last audited slot before this one met the budgets of missing keys and coverage, and its errors are known."""

    check: ClassVar[str] = "last_audit"
    words: ClassVar[str] = "keys or coverage at the last audit over budget"
    sentence: ClassVar[str] = "At the last audit before this slot, nothing was over $limit times its budget."

    column: str = "last_audit"

    @classmethod
    def show(cls, value: float) -> str:
        """How many times over; what nobody measured is told so."""
        return f"{value:.4g}" if math.isfinite(value) else "unknown or without limit"
