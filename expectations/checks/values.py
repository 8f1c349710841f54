"""Numbers that are numbers, and keys that are there once."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectWholeValues(Sentence, ExpectColumnMaxToBeBetween):
    """Every value is finite, inside its interval, and has a known error."""

    check: ClassVar[str] = "values"
    words: ClassVar[str] = "values that are no number, outside their interval, or of unknown error:"
    sentence: ClassVar[str] = "Every value is a finite number inside its interval, with a known error."

    column: str = "broken_values"


class ExpectKeysOnce(Sentence, ExpectColumnMaxToBeBetween):
    """No key occurs twice in a window."""

    check: ClassVar[str] = "unique_keys"
    words: ClassVar[str] = "repeated keys"
    sentence: ClassVar[str] = "No key occurs twice in a window."

    column: str = "doubled_keys"
