"""How far the keys' frequencies are from those of the slot before."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectLittleDrift(Sentence, ExpectColumnMaxToBeBetween):
    """The slot's concept is no farther from that of the slot before than the limit."""

    check: ClassVar[str] = "drift"
    words: ClassVar[str] = "distance from the concept of the slot before"
    sentence: ClassVar[str] = "The distance of the slot's concept from that of the slot before is at most $limit."

    column: str = "drift"
