"""What `sluice plan` says of a budget, against what `sluice compare` measures of it on a real slice."""

from __future__ import annotations

from pathlib import Path

import pytest

from shedding.compare.capacity import Capacity
from shedding.compare.comparison import compare
from shedding.compare.experiment import Experiment, Leg
from shedding.planning.audit_plan import AuditPlan
from shedding.planning.drift_audits import audit_plan
from shedding.planning.planner import Planner
from shedding.planning.priors import Priors
from shedding.spec.catalog import load_catalog
from shedding.spec.query import QuerySpec
from tests.conftest import ROOT
from tests.jobs.real_rows import QUERIES
from tests.shedding.answers.test_error_limits_on_real_rows import rows_of
from tests.shedding.rows_in_memory import RowsScans, RowsSide, side_of

BUDGETS = (0.02, 0.05, 0.1)
JUDGED = 3


def capacity_of(query: QuerySpec, side: RowsSide, plan: AuditPlan, slots: list[int]) -> Capacity:
    """From exact panes that are kept in memory."""
    audits = sorted({*slots, *(audit for slot in slots for audit in plan.priors(slot))})
    experiment = Experiment(query, side, query.measures)  # type: ignore[arg-type]
    experiment.scan_exact(RowsScans(query), audits)  # type: ignore[arg-type]
    return Capacity.of(Planner(query, [Priors(query, plan, experiment)]), slots)


@pytest.mark.data
@pytest.mark.parametrize("dataset", ["tlc_green"])
def test_the_planned_error_is_the_measured_one_within_a_fifth(dataset: str, data_dir: Path) -> None:
    query = load_catalog(ROOT / "jobs").query(QUERIES[dataset][0])
    shed = query.shed.model_copy(update={"spot_check": 0.0, "compare": []})
    query = query.model_copy(update={"shed": shed})
    side = side_of(rows_of(dataset, data_dir, query), query)
    last = side.arrivals.last_event // query.timeline.slot * query.timeline.slot
    plan = audit_plan(query, [side], last)  # type: ignore[list-item]
    slots = sorted(plan.priors(last, JUDGED))
    capacity = capacity_of(query, side, plan, slots)
    legs = [Leg(query.shed.policy, budget) for budget in BUDGETS]
    lines = compare(query, [side], plan, RowsScans(query), slots, legs)  # type: ignore[list-item, arg-type]
    for budget in BUDGETS:
        estimated = [measure.name for measure in query.measures if measure.traits.estimated]
        measured = max(
            line["mean_error"] for line in lines if line["budget"] == budget and line["measure"] in estimated
        )
        planned = capacity.line(budget, 0.05)["mean_error"]
        print(f"{dataset} {budget}: planned {planned:.4f}, measured {measured:.4f}, ratio {planned / measured:.3f}")
    for budget in BUDGETS:
        measured = max(
            line["mean_error"] for line in lines if line["budget"] == budget and line["measure"] in estimated
        )
        assert capacity.line(budget, 0.05)["mean_error"] == pytest.approx(measured, rel=0.2)
