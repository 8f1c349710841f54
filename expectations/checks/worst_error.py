"""The worst key."""

from __future__ import annotations

from expectations.checks.relative_error import RelativeError


class WorstError(RelativeError):
    """No key of any window and measure has a relative error over the budget."""

    key = "worst_relative_error"
    statistic = "worst"
    words = "relative error of the worst key"
    sentence = "No key has a relative error over $limit in any window and measure."
    repair_turn = 3
