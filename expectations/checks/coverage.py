"""How many of the intervals hold the exact value, where the slot is audited."""

from __future__ import annotations

from typing import ClassVar

from great_expectations.expectations import ExpectColumnPairValuesAToBeGreaterThanB

from expectations.checks.check import Sentence


class ExpectIntervalsToCover(Sentence, ExpectColumnPairValuesAToBeGreaterThanB):
    """For every measure, the share of the slot's intervals that hold the exact value is not below the limit.

    Not below means: not significantly, by a one-sided binomial test at 1 % (`summary.coverage_floor`), so that
    a dozen keys do not fail by bad luck and ten thousand cannot hide a real shortfall.
    """

    check: ClassVar[str] = "coverage"
    words: ClassVar[str] = "interval coverage"
    sentence: ClassVar[str] = (
        "At least $limit of the intervals hold the exact value, for every measure "
        "(pooled over the slot; short only where chance, 1 in 100, does not explain it)."
    )

    column_A: str = "coverage"  # noqa: N815 (the built-in name of the field)
    column_B: str = "coverage_floor"  # noqa: N815
    or_equal: bool = True
