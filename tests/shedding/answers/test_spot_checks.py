"""Spot checks of a slot, on rows held in memory: some keys exact in every slot, and a jump between audits seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shedding.answers.slot import answer_sides
from shedding.config import Settings
from shedding.planning.audit_plan import AuditPlan
from shedding.planning.planner import AS_ALLOCATED
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, side_of


def make_query(**shed: object) -> QuerySpec:
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.2}, **shed}, "audit": {"one_in": 4},
    })  # fmt: skip


def many_keys(hours: int, jump: int | None = None) -> pd.DataFrame:
    """Some 12 rows a key and hour; from the hour `jump` on a fifth of the keys are three times as dear."""
    rng = np.random.default_rng(5)
    size, keys = hours * 1500, 120
    key, time = rng.integers(0, keys, size), np.sort(rng.integers(0, hours * HOUR, size))
    level = 10 * rng.lognormal(0, 0.6, keys)
    value = level[key] * rng.lognormal(0, 0.3, size)
    if jump is not None:
        value = np.where((time >= jump * HOUR) & (key % 5 == 0), 3 * value, value)
    names = np.array([f"k{k:03d}" for k in range(keys)])[key]
    return pd.DataFrame({"time": time, "u": rng.random(size), "key": names, "value": np.round(value, 2), "other": 1.0})


def runs_of(settings: Settings, query: QuerySpec, rows: pd.DataFrame, slot: int) -> dict[str, object]:
    answer_sides(settings, query, slot, [side_of(rows, query)], RowsScans(query)).write(settings, "run", 0.0)
    found = Table(settings.table("runs", query.name)).read([("slot", "=", slot_name(slot))]).to_pylist()
    return next(row for row in found if row["published"])


def unaudited(after: int) -> int:
    """A slot of the query that has no exact leg, with several audits before it."""
    plan = AuditPlan(HOUR, 4, "q", first=0)
    return next(hour for hour in range(after, after + 4) if not plan.is_audited(hour * HOUR))


def test_some_keys_of_an_unaudited_slot_are_exact_within_the_budget_and_tell_of_the_others(settings: Settings) -> None:
    query, hour = make_query(), unaudited(14)
    row = runs_of(settings, query, many_keys(20), hour * HOUR)
    assert row["spot_keys"] >= 2
    assert row["processed_rows"] <= 1.15 * row["budget_rows"]
    assert 0 < row["mean_mean_error"] < row["mean_mean_bound"] < row["mean_p95_bound"] < row["mean_worst_bound"]
    assert 0.2 < row["mean_spot_ratio"] < 5
    assert row["mean_decided_by"] in ("audits", "spot checks")
    results = Table(settings.table("results", "q")).read([("slot", "=", slot_name(hour * HOUR))]).to_pandas()
    assert results.is_exact.sum() >= row["spot_keys"]
    legs = Table(settings.table("panes", "q")).read([("slot", "=", slot_name(hour * HOUR))]).column("leg").to_pylist()
    assert set(legs) == {"posterior", "posterior" + AS_ALLOCATED}


@pytest.mark.parametrize("why", ["audited", "switched off", "room for all rows"])
def test_no_key_is_checked_where_nothing_is_to_be_learnt(settings: Settings, why: str) -> None:
    shed = {"audited": {}, "switched off": {"spot_check": 0}, "room for all rows": {"budget": {"fraction": 1.0}}}[why]
    plan = AuditPlan(HOUR, 4, "q", first=0)
    hour = next(h for h in range(8, 16) if plan.is_audited(h * HOUR) == (why == "audited"))
    row = runs_of(settings, make_query(**shed), many_keys(20), hour * HOUR)
    assert not row["spot_keys"]
    if why == "room for all rows":
        assert row["mean_mean_bound"] == 0


@pytest.mark.slow
def test_a_jump_between_audits_moves_the_bound_by_what_is_measured_in_the_slot(settings: Settings) -> None:
    hour = unaudited(14)
    plan = AuditPlan(HOUR, 4, "q", first=0)
    jump = max(h for h in range(hour) if plan.is_audited(h * HOUR)) + 1
    quiet = runs_of(settings, make_query(), many_keys(20), hour * HOUR)
    other = settings.model_copy(update={"warehouse": settings.warehouse + "-moved"})
    moved = runs_of(other, make_query(), many_keys(20, jump), hour * HOUR)
    assert moved["mean_mean_bound"] > 1.5 * quiet["mean_mean_bound"]


@pytest.mark.slow
def test_the_bound_of_a_slot_is_the_same_in_any_order_of_backfill(settings: Settings) -> None:
    rows, query = many_keys(16), make_query()
    hours = [9, 10, 11, 12, 13]
    found = []
    for order, name in ((hours, "a"), (hours[::-1], "b")):
        here = settings.model_copy(update={"warehouse": f"{settings.warehouse}-{name}"})
        for hour in order:
            runs_of(here, query, rows, hour * HOUR)
        columns = ["slot", "leg", "mean_law", "mean_record", "mean_mean_bound", "mean_decided_by", "spot_keys"]
        told = Table(here.table("runs", "q")).read().select(columns).to_pandas()
        found.append(told.sort_values(["slot", "leg"]).reset_index(drop=True))
    pd.testing.assert_frame_equal(found[0], found[1], check_exact=True)
