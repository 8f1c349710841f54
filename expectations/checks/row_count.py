"""The answer's size: some rows at all, and about as many keys as the prior."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween, ExpectTableRowCountToBeBetween

from expectations.checks.check import Sentence


class ExpectSomeRows(Sentence, ExpectTableRowCountToBeBetween):
    """The slot has an answer. First in every suite: an empty batch passes every other expectation."""

    check: ClassVar[str] = "rows"
    words: ClassVar[str] = "rows"
    sentence: ClassVar[str] = "At least $limit of the slot's windows and measures have rows."


class ExpectKeysLikePrior(Sentence, ExpectColumnMaxToBeBetween):
    """The number of keys of every window differs from a window's at the last audit by at most the limit, relatively."""

    check: ClassVar[str] = "row_count_change"
    words: ClassVar[str] = "change of the number of keys"
    sentence: ClassVar[str] = "The number of keys differs from a window's at the last audit by at most $limit of it."

    column: str = "row_count_change"
