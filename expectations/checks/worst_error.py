"""The worst key."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectWorstKeyWithinBudget(Sentence, ExpectColumnMaxToBeBetween):
    """No key of any window and measure has a relative error over the budget."""

    check: ClassVar[str] = "worst_relative_error"
    words: ClassVar[str] = "relative error of the worst key"
    sentence: ClassVar[str] = "No key has a relative error over $limit in any window and measure."

    column: str = "worst_relative_error"
