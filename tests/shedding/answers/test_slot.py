"""Laws of a slot's answer, on rows held in memory: what Spark does is tested where Spark is."""

import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from shedding.answers.slot import answer_sides
from shedding.planning.audit_plan import AuditPlan
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.stretches import Stretches
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

POLICIES = ["uniform", "proportional", "cod", "optimal", "k_optimal", "posterior"]
CHANGING = ["slot", "leg"]


def make_query(**changes):
    content = {
        "name": "q", "dataset": "d", "window": {"size": "1 hour", "slide": "30 minutes"}, "group_by": ["key"],
        "measures": [{"name": "mean", "agg": "avg", "column": "value"}, {"name": "n", "agg": "count"}],
        "schedule": {"every": "1 hour"}, "shed": {"policy": "posterior", "budget": {"fraction": 0.2}},
        "audit": {"one_in": 3},
    }  # fmt: skip
    return QuerySpec.model_validate({**content, **changes})


def with_policy(policy, **shed):
    return make_query(shed={"policy": policy, "budget": {"fraction": 0.2}, **shed})


def run(settings, query, slots, rows=None, known=True):
    """Answer the slots in the order given; the rows of results, sorted."""
    rows = make_rows() if rows is None else rows
    scans = RowsScans(query)
    for slot in slots:
        answer_sides(settings, query, slot, [side_of(rows, query, known=known)], scans).write(settings, "run", 0.0)
    return results(settings, query), scans


def results(settings, query):
    found = Table(settings.table("results", query.name)).read().to_pandas()
    return found.sort_values(["slot", "leg", "window_start", *query.group_by]).reset_index(drop=True)


def elsewhere(settings, tmp_path, name):
    return settings.model_copy(update={"warehouse": str(tmp_path / name)})


@pytest.mark.slow
def test_any_order_of_slots_gives_the_same_rows(settings, tmp_path):
    query = make_query()
    slots = [h * HOUR for h in range(12)]
    shuffled = random.Random(3).sample(slots, len(slots))
    orders = {"forwards": slots, "backwards": slots[::-1], "shuffled": shuffled, "twice": slots[6:] + slots}
    answers = [run(elsewhere(settings, tmp_path, name), query, order)[0] for name, order in orders.items()]
    for other in answers[1:]:
        pd.testing.assert_frame_equal(answers[0], other, check_exact=True)


def test_the_exact_leg_is_a_plain_group_by_of_every_window(settings):
    query, rows = with_policy("exact"), make_rows()
    found, _ = run(settings, query, [4 * HOUR, 5 * HOUR], rows)
    for (start, key), group in found.groupby(["window_start", "key"]):
        begin = int(start.value // 1000)
        inside = rows[(rows.time >= begin) & (rows.time < begin + HOUR) & (rows.key == key)]
        assert group["n"].item() == len(inside)
        assert group["mean"].item() == pytest.approx(inside.value.mean(), rel=1e-13)
    assert found.is_exact.all()
    assert (found.mean_error == 0).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_no_key_of_a_window_is_missing_and_counts_are_exact(settings, policy):
    query, rows = with_policy(policy), make_rows()
    found, _ = run(settings, query, [7 * HOUR], rows)
    shed = found[found.leg == policy]
    for start, group in shed.groupby("window_start"):
        begin = int(start.value // 1000)
        counts = rows[(rows.time >= begin) & (rows.time < begin + HOUR)].groupby("key").size()
        assert dict(zip(group.key, group.n, strict=True)) == counts.to_dict()
    assert shed["mean"].notna().all()
    assert ((shed["mean_low"] <= shed["mean"]) & (shed["mean"] <= shed["mean_high"])).all()
    assert (shed.is_imputed == (shed.sampled_rows == 0)).all()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_the_budget_is_held_within_three_deviations(settings, policy):
    query = with_policy(policy)
    run(settings, query, [h * HOUR for h in range(3, 9)])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    mine = runs[runs.leg == policy].drop_duplicates("slot")
    assert abs(mine.processed_rows.sum() - mine.budget_rows.sum()) <= 3 * np.sqrt(mine.budget_rows.sum())
    np.testing.assert_allclose(mine.processed_fraction, mine.processed_rows / mine.slot_rows)


def test_priors_are_the_last_three_audits_and_are_written_down(settings):
    query = make_query()
    run(settings, query, [11 * HOUR])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    slots = runs.prior_slots.iloc[0]
    assert len(slots) == 3
    assert list(slots) == sorted(slots, reverse=True)
    assert max(slots) < slot_name(11 * HOUR)
    assert runs.last_audit.iloc[0] == pd.Timestamp(slots[0].replace("T", " ").replace("Z", "+00:00"))


@pytest.mark.slow
def test_fresh_panes_are_not_computed_again_and_changed_rows_are(settings):
    query, rows = make_query(), make_rows()
    _, first = run(settings, query, [8 * HOUR], rows)
    _, second = run(settings, query, [8 * HOUR], rows)
    assert first.calls > 0
    assert second.calls == 0
    changed = rows.copy()
    changed.loc[changed.time >= 8 * HOUR, "value"] *= 2
    _, third = run(settings, query, [8 * HOUR], changed)
    assert third.calls == 1  # the slot itself; its priors are as they were


def test_an_empty_slot_has_no_results_and_a_run_row_for_each_window(settings):
    query, rows = make_query(), make_rows()
    rows = rows[(rows.time < 5 * HOUR) | (rows.time >= 7 * HOUR)]
    found, _ = run(settings, query, [6 * HOUR], rows)
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert not len(found[found.window_start >= pd.Timestamp(5 * HOUR, unit="us", tz="UTC")])
    assert (runs[runs.window_start >= pd.Timestamp(5 * HOUR, unit="us", tz="UTC")]["keys"] == 0).all()
    assert len(runs.drop_duplicates("window_start")) == len(query.timeline.windows(6 * HOUR))


def test_windows_longer_than_a_slot_combine_panes_of_several_slots(settings):
    query, rows = make_query(window={"size": "3 hours", "slide": "1 hour"}), make_rows()
    found, _ = run(settings, query, [9 * HOUR], rows)
    counts = rows[(rows.time >= 7 * HOUR) & (rows.time < 10 * HOUR)].groupby("key").size()
    shed = found[(found.leg == "posterior")]
    assert dict(zip(shed.key, shed.n, strict=True)) == counts.to_dict()


def test_rows_in_the_gaps_between_windows_are_never_counted(settings):
    query, rows = make_query(window={"size": "15 minutes", "slide": "1 hour"}), make_rows()
    found, _ = run(settings, query, [6 * HOUR], rows)
    inside = rows[(rows.time >= 6 * HOUR) & (rows.time < 6 * HOUR + HOUR // 4)]
    assert found[found.leg == "posterior"].n.sum() == len(inside)


def test_null_is_a_key_and_null_values_do_not_count(settings):
    query, rows = with_policy("exact"), make_rows()
    rows.loc[rows.key == "k000", "key"] = None
    rows.loc[rows.index % 3 == 0, "value"] = np.nan
    found, _ = run(settings, query, [5 * HOUR], rows)
    late = found[found.window_start == pd.Timestamp(5 * HOUR, unit="us", tz="UTC")]
    inside = rows[(rows.time >= 5 * HOUR) & (rows.time < 6 * HOUR) & rows.key.isna()]
    mine = late[late.key.isna()]
    assert mine.n.item() == len(inside)
    assert mine["mean"].item() == pytest.approx(inside.value.mean())


def test_a_scalar_query_has_one_row_a_window(settings):
    query = make_query(group_by=[])
    found, _ = run(settings, query, [6 * HOUR])
    assert (found[found.leg == "posterior"].groupby("window_start").size() == 1).all()


def test_without_counts_populations_are_estimated_and_known_keys_stay(settings):
    query, rows = make_query(audit={"one_in": 1}), make_rows(per_hour=2000)
    found, _ = run(settings, query, [8 * HOUR], rows, known=False)
    shed, exact = found[found.leg == "posterior"], found[found.leg == "exact"]
    start = pd.Timestamp(8 * HOUR, unit="us", tz="UTC")
    shed, exact = shed[shed.window_start == start], exact[exact.window_start == start]
    assert set(exact.key) - set(shed.key) == set() or len(set(exact.key) - set(shed.key)) <= 2
    assert shed.n.sum() == pytest.approx(exact.n.sum(), rel=0.25)
    assert shed.population.isna().all()


def test_publish_best_marks_the_exact_leg_where_it_is_known(settings):
    query = make_query(publish="best", audit={"one_in": 1})
    run(settings, query, [6 * HOUR])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert set(runs[runs.published].leg) == {"exact"}


def test_plain_estimates_are_silent_about_keys_without_a_row(settings):
    query = make_query(estimates="plain", audit={"one_in": 1})
    found, _ = run(settings, query, [6 * HOUR])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert not found.is_imputed.any()
    assert runs[runs.leg == "posterior"].missing_keys.sum() > 0


def test_a_quantile_leg_answers_every_key_and_is_exact_where_all_rows_were_seen(settings):
    measures = [{"name": "p50", "agg": "quantile", "q": 0.5, "column": "value"}]
    query = make_query(measures=measures, audit={"one_in": 1}, shed={"policy": "cod", "budget": {"fraction": 0.5}})
    found, _ = run(settings, query, [6 * HOUR])
    shed = found[found.leg == "cod"].set_index(["window_start", "key"])
    exact = found[found.leg == "exact"].set_index(["window_start", "key"])
    assert set(shed.index) == set(exact.index)
    whole = shed[shed.is_exact]
    assert len(whole)
    np.testing.assert_allclose(whole.p50, exact.loc[whole.index].p50)


@pytest.mark.parametrize("known", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize("estimates", ["plain", "shrunk"])
def test_keys_of_which_no_row_was_left_out_have_the_bits_of_the_exact_leg(settings, estimates, known):
    measures = [
        {"name": "mean", "agg": "avg", "column": "value"}, {"name": "total", "agg": "sum", "column": "value"},
        {"name": "n", "agg": "count"}, {"name": "unit", "agg": "ratio", "column": "value", "over": "other"},
        {"name": "p30", "agg": "quantile", "q": 0.3, "column": "value"},
    ]  # fmt: skip
    query = make_query(
        measures=measures, estimates=estimates, window={"size": "2 hours", "slide": "1 hour"}, audit={"one_in": 1},
        shed={"policy": "uniform", "budget": {"fraction": 1.0}},
    )  # fmt: skip
    rows = make_rows(hours=4)
    rows.loc[rows.index % 7 == 0, "value"] = np.nan
    found, _ = run(settings, query, [2 * HOUR, 3 * HOUR], rows, known=known)
    shed, exact = (found[found.leg == leg].reset_index(drop=True) for leg in ("uniform", "exact"))
    assert shed.is_exact.all()
    columns = [m["name"] + part for m in measures for part in ("", "_low", "_high")]
    pd.testing.assert_frame_equal(shed[columns], exact[columns], check_exact=True)


def test_results_have_the_columns_of_the_contract(settings):
    found, _ = run(settings, make_query(), [6 * HOUR])
    assert list(found.columns) == [
        "slot", "leg", "window_start", "window_end", "key", "mean", "mean_low", "mean_high", "mean_error", "n", "n_low",
        "n_high", "n_error", "error_kind", "confidence", "is_exact", "is_imputed", "sampling_rate", "sampled_rows",
        "population",
    ]  # fmt: skip
    assert pa.types.is_timestamp(Table(settings.table("results", "q")).schema().field("window_start").type)


def test_top_n_publishes_the_n_largest_and_says_what_it_missed(settings):
    query = make_query(top={"by": "mean", "n": 3}, audit={"one_in": 1}, shed={"budget": {"fraction": 0.03}})
    found, _ = run(settings, query, [6 * HOUR])
    shed = found[found.leg == "posterior"]
    assert (shed.groupby("window_start").size() == 3).all()
    assert (found[found.leg == "exact"].groupby("window_start").size() > 3).all()
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert (runs[runs.published].missing_keys == 0).all()
    tops = {
        leg: rows.sort_values(["mean", "key"], ascending=[False, True]).groupby("window_start").head(3)
        for leg, rows in found.groupby("leg")
    }
    for window, rows in tops["exact"].groupby("window_start"):
        missed = set(rows.key) - set(tops["posterior"].key[tops["posterior"].window_start == window])
        told = runs[runs.window_start == window].set_index("leg").top_missed
        assert dict(told) == {"posterior": len(missed), "exact": 0}
    assert runs.top_missed.max() > 0
    assert (runs.audit_top_missed == runs.top_missed.max()).all()


def test_a_slot_after_an_audit_knows_how_many_keys_of_the_true_top_that_lacked(settings, tmp_path):
    query = make_query(top={"by": "mean", "n": 3})
    audited = [h for h in range(4, 12) if is_audited(query, h * HOUR)]
    free = next(h for h in range(audited[0] + 1, 12) if h not in audited)
    last = max(h for h in audited if h < free)
    told = []
    for name, slots in {"alone": [free], "after": [last, free]}.items():
        here = elsewhere(settings, tmp_path, name)
        run(here, query, [h * HOUR for h in slots])
        runs = Table(here.table("runs", "q")).read().to_pandas()
        told.append(runs[runs.slot == slot_name(free * HOUR)].audit_top_missed)
    assert (told[0] == runs[(runs.slot == slot_name(last * HOUR)) & runs.published].top_missed.max()).all()
    assert (told[0].to_numpy() == told[1].to_numpy()).all()


def test_a_slot_without_an_exact_leg_says_how_the_last_audit_went(settings):
    query = make_query()
    audited = [h for h in range(4, 12) if is_audited(query, h * HOUR)]
    free = next(h for h in range(audited[0] + 1, 12) if h not in audited)
    run(settings, query, [free * HOUR])
    runs = Table(settings.table("runs", "q")).read().to_pandas()
    assert runs.mean_audit_mean_error.between(0, 1).all()
    assert runs.mean_audit_coverage.between(0.5, 1).all()
    assert (runs.n_audit_mean_error == 0).all()


def is_audited(query, slot):
    return AuditPlan(query.timeline.slot, query.audit.one_in, query.name, first=0).is_audited(slot)


def test_drift_of_the_concepts_adds_an_audit_after_the_slot_that_moved(settings):
    query = make_query(audit={"one_in": 100, "drift_limit": 0.3})
    rows = make_rows()
    moved = (rows.time >= 6 * HOUR) & (rows.time < 7 * HOUR)
    rows.loc[moved, "key"] = "new" + rows.loc[moved, "key"]
    run(settings, query, [7 * HOUR, 9 * HOUR], rows)
    runs = Table(settings.table("runs", "q")).read().to_pandas().set_index("slot")
    after = runs.loc[slot_name(7 * HOUR)]
    assert after.audited.all()
    assert after.audit_reason.iloc[0].startswith("drift above 0.3")
    assert after.distance.iloc[0] == 1.0
    assert not runs.loc[slot_name(9 * HOUR)].audited.any()


@pytest.mark.slow
def test_of_the_slot_before_only_the_panes_that_windows_reach_into_are_read(settings):
    query = make_query(window={"size": "30 minutes", "slide": "10 minutes"}, audit={"one_in": 6})
    rows = make_rows()
    plan = AuditPlan(HOUR, 6, "q", first=0)
    slot = next(h * HOUR for h in range(3, 9) if not any(map(plan.is_audited, ((h - 1) * HOUR, h * HOUR))))
    run(settings, query, plan.priors(slot)[:1], rows)  # so that nothing is read to know the last audit
    before = slot - HOUR
    assert query.timeline.slots_needed(slot) == [before, slot]
    found, _ = run(settings, query, [slot], rows)
    found = found[found.slot == slot_name(slot)].reset_index(drop=True)
    runs = Table(settings.table("runs", "q")).read([("slot", "=", slot_name(slot))]).to_pandas()
    panes = Table(settings.table("panes", "q")).read().to_pandas()
    tail = panes[panes.slot == slot_name(before)]
    assert set(tail.leg) == {"posterior"}
    assert Stretches.of_text(tail.stretches.iloc[0]) == Stretches.of((slot - 20 * 60_000_000, slot))
    assert tail.pane_start.astype("int64").min() >= slot - 20 * 60_000_000
    whole = elsewhere(settings, settings.landing.parent, "whole")
    again, _ = run(whole, query, [before, slot], rows)
    pd.testing.assert_frame_equal(found, again[again.slot == slot_name(slot)].reset_index(drop=True))
    assert runs.rows_read.max() < 1.5 * len(rows[(rows.time >= slot) & (rows.time < slot + HOUR)])
