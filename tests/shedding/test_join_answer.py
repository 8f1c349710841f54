import numpy as np
import pandas as pd
import pytest

from shedding.errors import NotReadyError
from shedding.slot_answer import answer_sides
from shedding.spec.query import QuerySpec
from shedding.tables import Table
from tests.shedding.rows_in_memory import HOUR, RowsScans, joined_sides, make_rows


def make_join(policy="cod", one_in=1, fraction=0.3, window=None):
    return QuerySpec.model_validate({
        "name": "j", "dataset": "left", "join": {"dataset": "right", "on": ["key"]}, "group_by": ["key"],
        "window": window or {"size": "1 hour"}, "schedule": {"every": "1 hour"}, "audit": {"one_in": one_in},
        "measures": [
            {"name": "pairs", "agg": "count"}, {"name": "total", "agg": "sum", "column": "value"},
            {"name": "middle", "agg": "avg", "column": "weight"},
        ],
        "shed": {"policy": policy, "budget": {"fraction": fraction}},
    })  # fmt: skip


def both_sides(seed=1):
    left = make_rows(hours=6, per_hour=600, seed=seed)
    right = make_rows(hours=6, per_hour=300, keys=30, seed=seed + 50).rename(columns={"value": "weight"})
    right = right.drop(columns="other")
    right.loc[right.key == "k002", "key"] = "only-right"
    return left, right


def run(settings, query, slots, left, right, known=True):
    scans = RowsScans(query)
    for slot in slots:
        sides = joined_sides(left, right, query, known=known)
        answer_sides(settings, query, slot, sides, scans).write(settings, "run", 0.0)
    return Table(settings.table("results", "j")).read().to_pandas().sort_values(["leg", "window_start", "key"])


def joined(left, right, start, end):
    a = left[(left.time >= start) & (left.time < end)]
    b = right[(right.time >= start) & (right.time < end)]
    rows = a.merge(b, on="key", suffixes=("", "_right"))
    return rows.groupby("key").agg(pairs=("key", "size"), total=("value", "sum"), middle=("weight", "mean"))


@pytest.mark.parametrize("window", [{"size": "1 hour"}, {"size": "2 hours", "slide": "1 hour"}])
def test_the_exact_leg_is_the_real_join(settings, window):
    query = make_join(window=window)
    left, right = both_sides()
    found = run(settings, query, [4 * HOUR], left, right)
    exact = found[found.leg == "exact"].set_index("key")
    truth = joined(left, right, 5 * HOUR - query.timeline.size, 5 * HOUR)
    assert set(exact.index) == set(truth.index)
    for column in ("pairs", "total", "middle"):
        np.testing.assert_allclose(exact[column].loc[truth.index], truth[column], rtol=1e-12)


def test_counts_of_pairs_are_exact_and_no_joined_key_is_missing(settings):
    left, right = both_sides()
    found = run(settings, make_join(), [3 * HOUR], left, right)
    shed = found[found.leg == "cod"].set_index("key")
    truth = joined(left, right, 3 * HOUR, 4 * HOUR)
    assert set(shed.index) == set(truth.index)
    assert (shed.pairs.loc[truth.index] == truth.pairs).all()
    assert (shed.pairs_low == shed.pairs_high).all()
    assert ((shed.total_low <= shed.total) & (shed.total <= shed.total_high)).all()


@pytest.mark.slow
def test_sums_over_joined_rows_are_not_biased(settings, tmp_path):
    ratios = []
    for seed in range(6):
        left, right = both_sides(seed * 7)
        here = settings.model_copy(update={"warehouse": str(tmp_path / f"w{seed}")})
        found = run(here, make_join(fraction=0.5), [h * HOUR for h in range(1, 6)], left, right)
        shed, exact = found[found.leg == "cod"], found[found.leg == "exact"]
        ratios.append(shed.total.sum() / exact.total.sum())
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.02)


def test_the_budget_covers_both_sides_and_lonely_keys_cost_nothing(settings):
    left, right = both_sides()
    run(settings, make_join(), [h * HOUR for h in range(1, 6)], left, right)
    runs = Table(settings.table("runs", "j")).read().to_pandas()
    mine = runs[runs.leg == "cod"]
    assert abs(mine.processed_rows.sum() - mine.budget_rows.sum()) <= 3 * np.sqrt(mine.budget_rows.sum())
    panes = Table(settings.table("panes", "j")).read().to_pandas()
    lonely = panes[(panes.leg == "cod.right") & (panes.key == "only-right")]
    assert len(lonely)
    assert (lonely.sampled == 0).all()


def test_a_join_waits_for_counts_of_both_sides(settings):
    with pytest.raises(NotReadyError, match="sluice ingest left"):
        run(settings, make_join(), [HOUR], *both_sides(), known=False)


def test_a_join_gives_the_same_rows_in_any_order(settings, tmp_path):
    left, right = both_sides()
    query = make_join(one_in=2)
    slots = [h * HOUR for h in range(6)]
    forwards = run(settings, query, slots, left, right)
    there = settings.model_copy(update={"warehouse": str(tmp_path / "backwards")})
    backwards = run(there, query, slots[::-1], left, right)
    pd.testing.assert_frame_equal(
        forwards.sort_values(["slot", "leg", "key"]).reset_index(drop=True),
        backwards.sort_values(["slot", "leg", "key"]).reset_index(drop=True),
        check_exact=True,
    )
