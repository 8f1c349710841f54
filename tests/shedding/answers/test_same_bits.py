"""The law: a slot's rows are a function of the raw rows and the specification, whatever ran before, in any order."""

import random

import pandas as pd
import pytest

from shedding.planning.audit_plan import RECORD_SLOTS
from shedding.planning.drift_audits import audit_plan
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.shedding.answers.test_slot import POLICIES, elsewhere, make_query, run
from tests.shedding.rows_in_memory import HOUR, make_rows, side_of

SLOTS = [h * HOUR for h in range(8)]
RUN_COLUMNS = ["slot", "leg", "window_start", "audited", "audit_reason", "overlap", "distance", "top_difference"]


def runs_of(settings, query):
    found = Table(settings.table("runs", query.name)).read().to_pandas()
    return found[RUN_COLUMNS].sort_values(RUN_COLUMNS[:3]).reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "known"), [*((policy, True) for policy in POLICIES), ("uniform", False), ("posterior", False)]
)
def test_any_order_gives_the_same_rows_where_windows_outlast_slots(settings, tmp_path, policy, known):
    shed = {"policy": policy, "compare": ["uniform"], "budget": {"fraction": 0.2}}
    query = make_query(window={"size": "3 hours", "slide": "1 hour"}, shed=shed)
    rows = make_rows(hours=8, per_hour=100)
    orders = {"forwards": SLOTS, "shuffled": random.Random(7).sample(SLOTS, len(SLOTS))}
    here = [run(elsewhere(settings, tmp_path, name), query, order, rows, known)[0] for name, order in orders.items()]
    pd.testing.assert_frame_equal(*here, check_exact=True)


def depends(query, rows, slot):
    """The slots that the answer of `slot` may look at, by the rule of `planning/audit_plan.py`."""
    plan = audit_plan(query, [side_of(rows, query)], slot)
    reached = set(query.timeline.slots_needed(slot))
    priors = {prior for one in reached for prior in plan.priors(one)}
    return reached | priors | {older for prior in plan.priors(slot) for older in plan.priors(prior)}


def trusts(query, rows, slot):
    """The slots that its run may look at: also those that the last audits were answered from, if it has none itself."""
    plan = audit_plan(query, [side_of(rows, query)], slot)
    last = [] if plan.is_audited(slot) else plan.priors(slot, RECORD_SLOTS)
    return depends(query, rows, slot).union(*(depends(query, rows, audit) for audit in last))


def fingerprints(settings, query):
    found = Table(settings.table("runs", query.name)).read([("leg", "=", query.shed.policy)]).to_pandas()
    return found.groupby("slot").raw_fingerprint.first()


@pytest.mark.slow
def test_a_late_row_of_an_audited_slot_changes_the_slots_that_the_rule_says_and_no_others(settings, tmp_path):
    query, rows = make_query(), make_rows(per_hour=150)
    slots = [h * HOUR for h in range(12)]
    before, _ = run(settings, query, slots, rows)
    prints = [fingerprints(settings, query)]
    plan = audit_plan(query, [side_of(rows, query)], slots[-1])
    audited = next(slot for slot in slots[3:] if plan.is_audited(slot))
    late = pd.concat([rows, rows[rows.time // HOUR == audited // HOUR].head(3).assign(u=0.01, value=77.0)])
    late = late.sort_values("time").reset_index(drop=True)
    again, _ = run(settings, query, slots, late)
    fresh, _ = run(elsewhere(settings, tmp_path, "fresh"), query, slots, late)
    pd.testing.assert_frame_equal(again, fresh, check_exact=True)
    says = {slot_name(slot) for slot in slots if audited in depends(query, rows, slot)}
    prints.append(fingerprints(settings, query))
    asked = {slot_name(slot) for slot in slots if audited in trusts(query, rows, slot)}
    assert set(prints[0].index[prints[0] != prints[1]]) == asked
    values = [frame.set_index("slot") for frame in (before, again)]
    moved = {slot for slot in says if not values[0].loc[[slot]].equals(values[1].loc[[slot]])}
    untouched = {slot_name(slot) for slot in slots} - says
    assert len(untouched) >= 2
    assert all(values[0].loc[[slot]].equals(values[1].loc[[slot]]) for slot in untouched)
    free = {slot for slot in says if not before[before.slot == slot].leg.eq("exact").any()}
    assert free <= moved


@pytest.mark.slow
def test_audits_that_drift_adds_are_the_same_in_any_order_and_say_why(settings, tmp_path):
    query = make_query(audit={"one_in": 4, "drift_limit": 0.35})
    rows = make_rows(per_hour=150)
    moved = rows.time // HOUR == 6
    rows.loc[moved, "key"] = "new" + rows.loc[moved, "key"]
    slots = [h * HOUR for h in range(12)]
    answers, runs = [], []
    for name, order in {"forwards": slots, "backwards": slots[::-1]}.items():
        there = elsewhere(settings, tmp_path, name)
        answers.append(run(there, query, order, rows)[0])
        runs.append(runs_of(there, query))
    pd.testing.assert_frame_equal(*answers, check_exact=True)
    pd.testing.assert_frame_equal(*runs, check_exact=True)
    reason = runs[0].groupby("slot").audit_reason.first()
    assert reason[slot_name(7 * HOUR)].startswith("drift above 0.35")
    assert reason[slot_name(8 * HOUR)].startswith("drift above 0.35")  # back to the old keys is drift too
    drift = runs[0].groupby("slot")[["overlap", "distance", "top_difference"]].first()
    assert drift.loc[slot_name(6 * HOUR)].tolist() == [0.0, 1.0, 1.0]
    assert drift.loc[slot_name(3 * HOUR)].between(0, 1).all()
