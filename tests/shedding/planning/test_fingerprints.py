"""Rows that decide what is published of a slot are in its fingerprint, whatever they decide."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from shedding.planning.drift_audits import AuditPlans, audit_plan, slot_drift
from shedding.planning.fingerprints import raw_fingerprint
from shedding.spec.query import QuerySpec
from tests.shedding.rows_in_memory import HOUR, make_rows, side_of

ROWS = make_rows(hours=12)
BEFORE, SLOT = 9, 10
"""Neither is audited by the rule, so that the slot learns nothing from the one before it."""


def make_query(**changes: Any) -> QuerySpec:
    return QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
        "audit": {"one_in": 20}, "shed": {"policy": "posterior", "budget": {"fraction": 0.1}}, **changes,
    })  # fmt: skip


def with_other_keys(hour: int) -> pd.DataFrame:
    """The rows, those of an hour under keys that nobody else has."""
    there = ROWS.time // HOUR == hour
    return ROWS.assign(key=ROWS.key.where(~there, "new " + ROWS.key))


def fingerprint(query: QuerySpec, rows: pd.DataFrame, leg: str) -> str:
    return raw_fingerprint(AuditPlans(query, [side_of(rows, query)]), SLOT * HOUR, leg)


def test_rows_that_have_a_slot_audited_for_their_drift_change_its_fingerprint() -> None:
    query = make_query(audit={"one_in": 20, "drift_limit": 0.5})
    moved = with_other_keys(BEFORE)
    audited = [audit_plan(query, [side_of(r, query)], SLOT * HOUR).is_audited(SLOT * HOUR) for r in (ROWS, moved)]
    assert audited == [False, True]
    assert fingerprint(query, ROWS, "posterior") != fingerprint(query, moved, "posterior")


@pytest.mark.parametrize("leg", ["posterior", "exact"])
def test_rows_that_the_gate_compares_a_slot_with_change_its_fingerprint(leg: str) -> None:
    query, moved = make_query(gate={"drift": 0.5}), with_other_keys(BEFORE)
    distances = [slot_drift(query, [side_of(rows, query)], SLOT * HOUR)["distance"] for rows in (ROWS, moved)]
    assert distances[0] != distances[1]
    assert fingerprint(query, ROWS, leg) != fingerprint(query, moved, leg)


@pytest.mark.parametrize("leg", ["posterior", "exact"])
def test_rows_of_a_slot_that_decides_nothing_do_not(leg: str) -> None:
    query = make_query()
    assert fingerprint(query, ROWS, leg) == fingerprint(query, with_other_keys(BEFORE), leg)
