"""Budgets of seconds, on rows held in memory and a virtual clock: kept, recorded, obeyed by every re-run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shedding import warehouse
from shedding.answers.slot import answer_sides
from shedding.answers.slot_answer import SlotAnswer
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from tests.shedding.rows_in_memory import HOUR, RowsScans, make_rows, side_of

SOURCE = "def score(value, size):\n    return 2 * value\n"
Clock = Callable[..., float]


def clock(value: float, size: int) -> float:
    """A tenth of a millisecond for a row of size 0, twice that for each size more."""
    return 1e-4 * 2.0**size


def costly_rows(hours: int = 10, per_hour: int = 6000, keys: int = 8, seed: int = 1) -> pd.DataFrame:
    """Rows whose `size` decides what they cost."""
    rows = make_rows(hours, per_hour, keys, seed)
    return rows.assign(size=np.random.default_rng(seed).geometric(0.5, len(rows)) % 8)


def make_query(specs: Path, budget: dict[str, Any], cost_by: list[str] | None = None, **changes: Any) -> QuerySpec:
    (specs / "functions").mkdir(parents=True, exist_ok=True)
    (specs / "functions/scores.py").write_text(SOURCE)
    entry: dict[str, Any] = {"name": "score", "call": "scores:score", "columns": ["value", "size"]}
    query = QuerySpec.model_validate({
        "name": "q", "dataset": "d", "window": {"size": "1 hour"}, "group_by": ["key"],
        "enrich": [{**entry, **({"cost_by": cost_by} if cost_by else {})}],
        "measures": [{"name": "mean", "agg": "avg", "column": "score"}, {"name": "n", "agg": "count"}],
        "schedule": {"every": "1 hour"}, "audit": {"one_in": 4},
        "shed": {"policy": "optimal", "budget": budget, "spot_check": 0}, **changes,
    })  # fmt: skip
    for one in query.enrich:
        one.found_in(specs)
    return query


def answer(
    settings: Settings, query: QuerySpec, slot: int, rows: pd.DataFrame, clock: Clock = clock
) -> tuple[SlotAnswer, pd.DataFrame]:
    scans = RowsScans(query, settings, clock)
    made = answer_sides(settings, query, slot, [side_of(rows, query)], scans, run_id="run")
    made.write(settings, "run", 0.0)
    found = warehouse.results(settings, query.name).read([("slot", "=", slot_name(slot))]).to_pandas()
    return made, found.sort_values(["leg", "window_start", "key"]).reset_index(drop=True)


def plans_of(settings: Settings) -> pd.DataFrame:
    return warehouse.plans(settings, "q").read().to_pandas().sort_values("slot").set_index("slot")


@pytest.mark.parametrize(("policy", "cost_by"), [("optimal", ["size"]), ("posterior", ["size"]), ("load_aware", None)])
def test_a_budget_of_seconds_is_kept_in_every_slot_and_nearly_spent(
    settings: Settings, tmp_path: Path, policy: str, cost_by: list[str] | None
) -> None:
    shed = {"policy": policy, "budget": {"seconds": 1.0}}
    query, rows = make_query(tmp_path, {"seconds": 1.0}, cost_by, shed=shed), costly_rows(hours=5)
    for slot in range(5):
        answer(settings, query, slot * HOUR, rows)
    plans = plans_of(settings)
    assert len(plans) == 5
    assert (plans.spent_seconds <= 1.1).all()
    assert (plans.spent_seconds[2:] >= 0.7).all()
    assert (plans["mode"] == "shed").all()


def test_a_re_run_obeys_the_recorded_plan_whatever_its_clock_says(settings: Settings, tmp_path: Path) -> None:
    query, rows = make_query(tmp_path, {"seconds": 1.0}, ["size"]), costly_rows(hours=4)
    first = {slot: answer(settings, query, slot * HOUR, rows)[1] for slot in range(4)}
    before, calls = plans_of(settings), warehouse.enriched(settings, "q").read().num_rows
    for name in ("panes", "results"):
        shutil.rmtree(f"{settings.warehouse}/{name}/q")
    for slot in reversed(range(4)):
        pd.testing.assert_frame_equal(answer(settings, query, slot * HOUR, rows, lambda *_: 5.0)[1], first[slot])
    pd.testing.assert_frame_equal(plans_of(settings), before)
    assert warehouse.enriched(settings, "q").read().num_rows == calls


def test_all_rows_that_fit_are_taken_and_the_answer_is_exact(settings: Settings, tmp_path: Path) -> None:
    query, rows = make_query(tmp_path, {"seconds": 600}, ["size"]), costly_rows(hours=3, per_hour=1000)
    for slot in range(3):
        _, found = answer(settings, query, slot * HOUR, rows)
        assert found.is_exact.all()
    assert (plans_of(settings)["mode"] == "exact").all()


def test_a_machine_half_as_fast_keeps_the_budget_with_fewer_rows(settings: Settings, tmp_path: Path) -> None:
    query, rows = make_query(tmp_path, {"seconds": 1.0}, ["size"]), costly_rows(hours=4)
    rows_of = {}
    for slot in range(4):
        slow = 2.0 if slot == 3 else 1.0
        _, found = answer(settings, query, slot * HOUR, rows, lambda *a, slow=slow: slow * clock(*a))
        rows_of[slot] = found[found.leg == "optimal"].sampled_rows.sum()
    plans = plans_of(settings)
    assert plans.spent_seconds.iloc[3] <= 1.1
    assert plans.speed.iloc[3] == pytest.approx(2.0, rel=0.1)
    assert rows_of[3] < 0.7 * rows_of[2]
    assert "beyond what audits measured" in plans.reason.iloc[3]


def test_the_order_of_backfill_does_not_matter(settings: Settings, tmp_path: Path) -> None:
    rows = costly_rows(hours=4)
    found = []
    for order in (range(4), range(3, -1, -1)):
        here = settings.model_copy(update={"warehouse": str(tmp_path / f"w{len(found)}")})
        query = make_query(tmp_path, {"seconds": 1.0}, ["size"])
        for slot in order:
            answer(here, query, slot * HOUR, rows)
        found.append([answer(here, query, slot * HOUR, rows)[1] for slot in range(4)])
    for one, other in zip(*found, strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_costs_are_one_sketch_for_each_audit_and_the_first_one_stays(settings: Settings, tmp_path: Path) -> None:
    query, rows = make_query(tmp_path, {"seconds": 1.0}, ["size"]), costly_rows(hours=4)
    for slot in range(4):
        answer(settings, query, slot * HOUR, rows)
    costs = warehouse.costs(settings, "q").read().to_pandas().sort_values("slot")
    runs = warehouse.runs(settings, "q").read().to_pandas()
    audited = sorted(set(runs[runs.audited].slot))
    assert set(costs.slot) <= set(audited)
    for row in costs.itertuples():
        here = rows[rows.time // HOUR == pd.Timestamp(row.slot).hour]
        assert row.total_rows == len(here)
        assert row.total_ns == sum(int(1e9 * clock(0, size)) for size in here["size"])
    shutil.rmtree(f"{settings.warehouse}/panes/q")
    answer(settings, query, 3 * HOUR, rows)
    again = warehouse.costs(settings, "q").read().to_pandas().sort_values("slot")
    assert list(again.digest) == list(costs.digest)


@pytest.mark.parametrize(("budget", "policy"), [({"fraction": 0.1}, "optimal"), ({"seconds": 1.0}, "posterior")])
def test_rows_to_keep_are_all_there_and_count_once_in_the_budget(
    settings: Settings, tmp_path: Path, budget: dict[str, Any], policy: str
) -> None:
    shed = {"policy": policy, "budget": budget, "keep": "value > 100", "spot_check": 0}
    query, rows = make_query(tmp_path, budget, shed=shed, estimates="plain"), costly_rows(hours=3)
    for slot in range(3):
        made, found = answer(settings, query, slot * HOUR, rows)
        here = rows[rows.time // HOUR == slot]
        calls = warehouse.enriched(settings, "q").read([("slot", "=", slot_name(slot * HOUR))]).to_pandas()
        kept = here[here.value > 100]
        assert set(zip(kept.time, kept.u, strict=True)) <= set(zip(calls.event_time, calls.u, strict=True))
        if "fraction" in budget:
            assert made.processed_rows <= 0.1 * len(here) * 1.2
        mine = found[found.leg == policy].set_index("key")
        truth = 2 * here.groupby("key").value.mean()
        assert (mine.population == here.groupby("key").size()).all()
        assert np.abs(mine["mean"] / truth - 1).mean() < 0.2


def test_answers_are_unbiased_where_dear_rows_have_large_values_and_intervals_cover(
    settings: Settings, tmp_path: Path
) -> None:
    """Costs and values correlated by .9: a plain mean of the rows kept, cheap ones above all, is far off."""
    policy = "optimal"
    shed = {"policy": policy, "budget": {"seconds": 1.0}, "spot_check": 0}
    query = make_query(tmp_path, {}, ["size"], shed=shed, estimates="plain", audit={"one_in": 50})
    ratios, naive, covered = [], [], []
    for seed in range(2):
        here = settings.model_copy(update={"warehouse": str(tmp_path / f"w{seed}")})
        rows = costly_rows(hours=5, per_hour=6000, keys=12, seed=seed)
        noise = np.random.default_rng(seed).normal(0, 0.7, len(rows))
        rows = rows.assign(value=np.round(10 + 1.5 * rows["size"] + noise, 2))
        assert np.corrcoef(rows["size"], rows.value)[0, 1] > 0.9
        for slot in range(2, 5):
            _, found = answer(here, query, slot * HOUR, rows)
            mine, inside = found[found.leg == policy].set_index("key"), rows[rows.time // HOUR == slot]
            truth = 2 * inside.groupby("key").value.mean()
            ratios += list(mine["mean"] / truth)
            covered += list((mine.mean_low <= truth) & (truth <= mine.mean_high))
            calls = warehouse.enriched(here, "q").read([("slot", "=", slot_name(slot * HOUR))]).to_pandas()
            kept = inside.merge(calls, left_on=["time", "u"], right_on=["event_time", "u"])
            naive += list((2 * kept.groupby("key").value.mean()) / truth)
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert abs(np.mean(ratios) - 1) <= 3 * error
    assert abs(np.mean(naive) - 1) > 10 * error
    assert 0.88 <= np.mean(covered) <= 1.0


@pytest.mark.parametrize("kind", ["max", "mean"])
def test_delays_over_a_backlog_of_slots_are_kept_and_the_answer_is_exact_again_after_the_burst(
    settings: Settings, tmp_path: Path, kind: str
) -> None:
    query = make_query(tmp_path, {"delay": {kind: "10 minutes"}}, ["size"])
    here = settings.model_copy(update={"master": "local[2]"})
    burst = costly_rows(hours=3, per_hour=3000)
    quiet = costly_rows(hours=6, per_hour=200, seed=2)
    rows = pd.concat([burst, quiet[quiet.time >= 3 * HOUR]], ignore_index=True)
    for slot in range(6):
        answer(here, query, slot * HOUR, rows, lambda value, size: 0.8 * 2.0**size)
    plans = plans_of(here)
    assert (plans["mode"][:3] == "shed").all()
    assert (plans["mode"][4:] == "exact").all()
    delays = plans.delay_seconds.to_numpy()
    assert delays[5] == 0
    assert delays.max() > 0
    if kind == "max":
        assert delays.max() <= 600 * 1.2
    else:
        assert delays.mean() <= 600 * 1.2


def test_a_budget_below_a_row_a_key_and_a_function_that_is_not_deterministic_are_told(
    settings: Settings, tmp_path: Path
) -> None:
    query, rows = make_query(tmp_path, {"seconds": 0.001}), costly_rows(hours=2, per_hour=1000).round({"value": 0})
    (tmp_path / "functions/scores.py").write_text(
        "import itertools\n_NEXT = itertools.count()\n\n\ndef score(value, size):\n    return float(next(_NEXT))\n"
    )
    made, _ = answer(settings, query, HOUR, rows)
    few, unlike = made.advice
    assert few.startswith("0.001 s of enrichment buys about ")
    assert "rows for 8 keys, less than one a key; write at least {seconds: " in few
    assert unlike.startswith("scores:score is not deterministic: for ")
