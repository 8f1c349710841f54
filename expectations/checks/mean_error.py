"""Mean relative error over the keys."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectMeanErrorWithinBudget(Sentence, ExpectColumnMaxToBeBetween):
    """In every window and measure, the mean of the keys' relative errors is at most the budget."""

    check: ClassVar[str] = "mean_relative_error"
    words: ClassVar[str] = "mean relative error"
    sentence: ClassVar[str] = "Mean relative error over the keys is at most $limit in every window and measure."

    column: str = "mean_relative_error"
