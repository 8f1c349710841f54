"""The 95th percentile of the keys' relative errors."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectP95ErrorWithinBudget(Sentence, ExpectColumnMaxToBeBetween):
    """In every window and measure, 95 % of the keys have a relative error of at most the budget."""

    check: ClassVar[str] = "p95_relative_error"
    words: ClassVar[str] = "95th percentile of the relative errors"
    sentence: ClassVar[str] = "95 % of the keys have a relative error of at most $limit in every window and measure."

    column: str = "p95_relative_error"
