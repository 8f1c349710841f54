"""How far the keys' frequencies are from the prior's."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.rendering import Sentence


class ExpectLittleDrift(Sentence, ExpectColumnMaxToBeBetween):
    """The slot's concept is no farther from the prior's than the limit."""

    check: ClassVar[str] = "drift"
    words: ClassVar[str] = "distance from the prior's concept"
    sentence: ClassVar[str] = "The distance of the slot's concept from its prior's is at most $limit."

    column: str = "drift"
