"""A query and its dataset, for tests of the page."""

from __future__ import annotations

from typing import Any

from shedding.spec.query import QuerySpec

HOUR = 3_600_000_000
FIRST = 500_000 * HOUR
"""2027-01-15T08:00Z."""
HOSTILE = "<script>alert(1)</script>\"'&"
"""A key as no page may show it unescaped."""
CONTENT: dict[str, Any] = {
    "name": "fares", "dataset": "trips", "description": "Mean fare of each route.",
    "window": {"size": "1 hour", "slide": "30 minutes"}, "group_by": ["key"],
    "measures": [{"name": "mean_fare", "agg": "avg", "column": "value"}, {"name": "trips", "agg": "count"}],
    "schedule": {"every": "1 hour"},
    "shed": {"policy": "posterior", "budget": {"fraction": 0.2}, "compare": ["uniform"]}, "audit": {"one_in": 4},
    "gate": {"mean_relative_error": 0.0445, "p95_relative_error": 0.45, "coverage": 0.8, "drift": 0.12,
             "warn": ["drift"], "on_failure": "repair"},
    "objective": {"share": 0.9, "over": "7 days"},
}  # fmt: skip
DATASET = {
    "name": "trips", "source": {"kind": "csv", "path": "trips/*.csv"}, "schedule": {"every": "1 hour"},
    "event_time": {"column": "time"},
    "columns": [{"name": "time", "type": "timestamp"}, {"name": "key"}, {"name": "value", "type": "double"}],
}  # fmt: skip


def make_query(**changes: Any) -> QuerySpec:
    """The world's query, changed."""
    return QuerySpec.model_validate({**CONTENT, **changes})
