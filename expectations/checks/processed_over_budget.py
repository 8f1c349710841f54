"""Rows processed against the rows budgeted."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectProcessedWithinBudget(Sentence, ExpectColumnMaxToBeBetween):
    """The shed leg processed at most `limit` times the rows of its budget; an exact leg is not judged by it."""

    check: ClassVar[str] = "processed_over_budget"
    words: ClassVar[str] = "processed rows over budgeted rows"
    sentence: ClassVar[str] = "The shed leg processed at most $limit times the rows that its budget allows."

    column: str = "processed_over_budget"
