"""What the gate is told of the last audit: the same in any order, for every kind of query, and never after a repair."""

from __future__ import annotations

from typing import Any

import pytest

from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.planning.audit_plan import AuditPlan
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, joined_sides, make_rows, side_of

ROWS = make_rows(hours=14)
AVG = {"name": "mean", "agg": "avg", "column": "value"}
P50 = {"name": "p50", "agg": "quantile", "q": 0.5, "column": "value"}


def make_query(**changes: Any) -> QuerySpec:
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour", "slide": "30 minutes"}, "group_by": ["key"],
        "measures": [AVG], "schedule": {"every": "1 hour"}, "audit": {"one_in": 3},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.1}}, **changes,
    })  # fmt: skip


def slots_of(query: QuerySpec) -> tuple[int, int]:
    """A slot without an audit of its own, and the audited one before it."""
    plan = AuditPlan(HOUR, query.audit.one_in, query.name, first=0)
    slot = next(hour * HOUR for hour in (10, 11, 12, 13) if not plan.is_audited(hour * HOUR))
    return slot, plan.priors(slot)[0]


def run(settings: Settings, query: QuerySpec, slot: int, side: Any = None) -> dict[str, Any]:
    """Answer and write one slot; the first of its run rows."""
    side = side or side_of(ROWS, query)
    answer_sides(settings, query, slot, [side], RowsScans(query)).write(settings, "run", 0.0)
    where = [("slot", "=", slot_name(slot)), ("leg", "=", query.shed.policy)]
    row: dict[str, Any] = Table(settings.table("runs", "q")).read(where).to_pylist()[0]
    return row


def told(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if "audit_" in name and name != "audit_reason"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"estimates": "plain", "shed": {"policy": "uniform", "budget": {"fraction": 0.1}}},
        {"measures": [P50], "shed": {"policy": "cod", "budget": {"fraction": 0.3}}},
    ],
    ids=["shrunk", "plain", "quantile"],
)
def test_a_slot_is_told_what_the_audit_before_it_recorded_or_would_record(
    settings: Settings, changes: dict[str, Any]
) -> None:
    query = make_query(**changes)
    slot, audit = slots_of(query)
    alone = told(run(settings, query, slot))  # the audit has not run: it is answered on the way
    recorded = told(run(settings, query, audit))
    assert alone == recorded
    name = query.measures[0].name
    assert recorded[f"{name}_audit_worst_error"] > 0
    assert recorded[f"{name}_audit_estimates"] > 0
    assert told(run(settings, query, slot)) == recorded  # from the record now


def test_the_errors_are_those_of_the_audits_worst_window(settings: Settings) -> None:
    query = make_query()
    _, audit = slots_of(query)
    run(settings, query, audit)
    where = [("slot", "=", slot_name(audit)), ("leg", "=", "posterior")]
    rows = Table(settings.table("runs", "q")).read(where).to_pylist()
    assert len(rows) == 2
    assert rows[0]["mean_audit_mean_error"] == pytest.approx(max(row["mean_mean_error"] for row in rows))
    assert rows[0]["mean_audit_worst_error"] == max(row["mean_worst_error"] for row in rows)


@pytest.mark.slow
def test_a_record_of_other_rows_is_not_believed(settings: Settings) -> None:
    query = make_query()
    slot, audit = slots_of(query)
    run(settings, query, audit)
    changed = ROWS.copy()
    changed.loc[changed.time // HOUR == audit // HOUR, "value"] *= 3
    side = side_of(changed, query)
    later = told(run(settings, query, slot, side))
    assert later != told(run(settings, query, slot))
    assert later == told(run(settings, query, audit, side))


def test_a_record_survives_the_repair_of_the_audited_slot(settings: Settings) -> None:
    query = make_query()
    slot, audit = slots_of(query)
    recorded = told(run(settings, query, audit))
    runs = Table(settings.table("runs", "q"), ("slot",))
    rows = runs.read([("slot", "=", slot_name(audit))])
    mended = [row | {"mean_mean_error": 0.0, "mean_worst_error": 0.0} for row in rows.to_pylist()]
    runs.replace(rows.from_pylist(mended, schema=rows.schema), {"slot": slot_name(audit)}, {})
    assert told(run(settings, query, slot)) == recorded


@pytest.mark.slow
def test_a_join_is_told_of_its_last_audit_too(settings: Settings) -> None:
    query = QuerySpec.model_validate({
        "name": "q", "dataset": "left", "join": {"dataset": "right", "on": ["key"]}, "group_by": ["key"],
        "window": {"size": "1 hour"}, "schedule": {"every": "1 hour"}, "audit": {"one_in": 3},
        "measures": [{"name": "total", "agg": "sum", "column": "value"}],
        "shed": {"policy": "cod", "budget": {"fraction": 0.3}},
    })  # fmt: skip
    other = make_rows(hours=14, keys=30, seed=9).rename(columns={"value": "weight"}).drop(columns="other")
    sides = joined_sides(ROWS, other, query)
    slot, audit = slots_of(query)
    alone = answer_sides(settings, query, slot, sides, RowsScans(query)).shared
    own = answer_sides(settings, query, audit, sides, RowsScans(query)).shared
    assert told(dict(alone)) == told(dict(own))
    assert alone["total_audit_worst_error"] > 0


def test_the_keys_of_the_prior_are_counted_by_window_and_not_by_slot(settings: Settings) -> None:
    query = make_query(window={"size": "15 minutes"})
    slot, audit = slots_of(query)
    row = run(settings, query, slot)
    run(settings, query, audit)
    results = Table(settings.table("results", "q")).read([("slot", "=", slot_name(audit)), ("leg", "=", "exact")])
    windows = len(set(results["window_start"].to_pylist()))
    assert windows == 4
    assert row["prior_keys"] == round(results.num_rows / windows)
    assert row["prior_keys"] < len(set(results["key"].to_pylist()))


def test_the_keys_of_a_top_query_are_compared_with_the_keys_that_it_publishes(settings: Settings) -> None:
    query = make_query(top={"by": "mean", "n": 2})
    row = run(settings, query, slots_of(query)[0])
    assert (row["keys"], row["prior_keys"]) == (2, 2)
