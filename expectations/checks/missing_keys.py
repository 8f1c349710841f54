"""Keys that the raw rows have and the answer lacks."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectFewMissingKeys(Sentence, ExpectColumnMaxToBeBetween):
    """No window lacks more keys than allowed."""

    check: ClassVar[str] = "missing_keys"
    words: ClassVar[str] = "missing keys"
    sentence: ClassVar[str] = "No window lacks more than $limit of the keys that its rows have."

    column: str = "missing_keys"
