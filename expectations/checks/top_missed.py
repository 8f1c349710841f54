"""Keys that belong to a query's `top` and that its answer does not show."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnMaxToBeBetween

from expectations.checks.check import Sentence


class ExpectTopKeys(Sentence, ExpectColumnMaxToBeBetween):
    """No audited window lacks more of the keys that are truly on top than allowed."""

    check: ClassVar[str] = "top_missed"
    words: ClassVar[str] = "keys missed of the true top"
    sentence: ClassVar[str] = "No window lacks more than $limit of the keys that the exact answer has on top."

    column: str = "top_missed"
