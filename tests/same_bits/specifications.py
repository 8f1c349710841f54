"""Twelve queries over one generated dataset: every policy, every kind of measure, window, join and repair."""

from __future__ import annotations

from typing import Any

FROM, TO = "2026-11-02T00:00:00Z", "2026-11-02T12:00:00Z"
RUN_FROM = "2026-11-02T02:00:00Z"
AVG = {"name": "mean_fare", "agg": "avg", "column": "fare_amount"}
SUM = {"name": "fares", "agg": "sum", "column": "fare_amount"}
COUNT = {"name": "trips", "agg": "count"}
P90 = {"name": "p90_fare", "agg": "quantile", "q": 0.9, "column": "fare_amount"}
RATIO = {"name": "fare_rate", "agg": "ratio", "column": "fare_amount", "over": "trip_distance"}
LEAST = {"name": "least_fare", "agg": "min", "column": "fare_amount"}
MOST = {"name": "most_fare", "agg": "max", "column": "fare_amount"}
ROUTES = {"name": "routes", "agg": "count_distinct", "column": "route"}
DATASET: dict[str, Any] = {
    "name": "city",
    "source": {
        "kind": "generator", "generator": "taxi", "rows_per_hour": 6000, "seed": 11,
        "parameters": {"keys": 60, "churn": 0.1, "lifetime": "6 hours"},
    },
    "schedule": {"every": "1 hour"},
    "event_time": {"column": "pickup_datetime"},
    "columns": [
        {"name": "pickup_datetime", "type": "timestamp", "required": True},
        {"name": "route", "required": True},
        {"name": "pickup_zone", "type": "int"},
        {"name": "fare_amount", "type": "double"},
        {"name": "trip_distance", "type": "double"},
        {"name": "payment_type"},
    ],
}  # fmt: skip


def _query(name: str, policy: str, measures: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    shed = {"policy": policy, "budget": {"fraction": 0.1}, **changes.pop("shed", {})}
    base = {
        "name": name, "dataset": "city", "window": {"size": "1 hour"}, "group_by": ["route"], "measures": measures,
        "schedule": {"every": "1 hour"}, "shed": shed, "audit": {"one_in": 4}, "gate": {"missing_keys": None},
    }  # fmt: skip
    return base | changes


QUERIES = [
    _query("exact_whole", "exact", [AVG, COUNT, LEAST, MOST, ROUTES], group_by=["pickup_zone"]),
    _query("uniform_sliding", "uniform", [AVG, SUM], window={"size": "30 minutes", "slide": "10 minutes"}),
    _query("proportional_plain", "proportional", [AVG, RATIO], estimates="plain"),
    _query("cod_top", "cod", [AVG, COUNT], top={"by": "mean_fare", "n": 10}),
    _query("optimal_compared", "optimal", [AVG, P90], shed={"compare": ["uniform", "cod"]}),
    _query("k_optimal_variance", "k_optimal", [SUM], shed={"goal": "variance", "groups": 3}),
    _query("posterior_all", "posterior", [AVG, SUM, COUNT, P90, RATIO]),
    _query("posterior_gaps", "posterior", [AVG], window={"size": "20 minutes", "slide": "30 minutes"}),
    _query("posterior_long", "posterior", [AVG, SUM], window={"size": "3 hours", "slide": "1 hour"}),
    _query(
        "posterior_join", "posterior", [AVG, SUM, COUNT], where="payment_type = 'CSH'",
        join={"dataset": "city", "on": ["route"], "where": "payment_type = 'CRD'"},
    ),
    _query(
        "required_drift", "optimal", [AVG], shed={"completeness": "required"},
        audit={"one_in": 5, "drift_limit": 0.3},
    ),
    _query(
        "repaired", "posterior", [AVG], shed={"budget": {"fraction": 0.03}},
        gate={"mean_relative_error": 0.04, "coverage": 0.9, "on_failure": "repair"},
    ),
]  # fmt: skip
