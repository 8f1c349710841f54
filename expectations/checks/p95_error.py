"""The 95th percentile of the keys' relative errors."""

from __future__ import annotations

from expectations.checks.relative_error import RelativeError


class P95Error(RelativeError):
    """In every window and measure, 95 % of the keys have a relative error of at most the budget."""

    key = "p95_relative_error"
    statistic = "p95"
    words = "95th percentile of the relative errors"
    sentence = "95 % of the keys have a relative error of at most $limit in every window and measure."
    repair_turn = 4
