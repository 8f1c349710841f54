"""What the gate is told of the last audit: the intervals as they are published, calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shedding import last_audit
from shedding.audits import AuditPlan
from shedding.config import Settings
from shedding.slot_answer import answer_sides
from shedding.spec.query import QuerySpec
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of


def test_the_last_audit_is_judged_with_what_the_audits_before_it_taught(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 hour"},
        "shed": {"policy": "posterior", "budget": {"fraction": 0.1}}, "audit": {"one_in": 2},
    })  # fmt: skip
    plan = AuditPlan(HOUR, 2, "q", first=0)
    slot = next(hour * HOUR for hour in (11, 12, 13) if not plan.is_audited(hour * HOUR))
    side, scans = side_of(make_rows(hours=14), query), RowsScans(query)
    calibrated = answer_sides(settings, query, slot, [side], scans).shared
    asked: list[Sequence[int]] = []

    def none(_priors: Any, audits: Sequence[int], _leg: str, _keys: Any) -> dict[str, Any]:
        asked.append(audits)
        return {}

    monkeypatch.setattr(last_audit, "_calibrations", none)
    bare = answer_sides(settings, query, slot, [side], scans).shared
    assert asked == [plan.priors(slot)[1:]]  # never the audit itself: intervals are not judged by what they fitted
    assert calibrated["mean_audit_estimates"] == bare["mean_audit_estimates"] > 0
    assert (calibrated["mean_audit_mean_error"], calibrated["mean_audit_coverage"]) != (
        bare["mean_audit_mean_error"], bare["mean_audit_coverage"],
    )  # fmt: skip
