"""Drift between consecutive windows (CoD, Fig. 2): by the rows of the keys, by the top's own measure, without keys."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from shedding import warehouse
from shedding.config import Settings
from shedding.planning.drift import scalar_distance
from tests.shedding.answers.test_slot import make_query, run
from tests.shedding.rows_in_memory import HOUR, make_rows

HALF = HOUR // 2
WINDOW = {"size": "1 hour", "slide": "30 minutes"}
SLOT = 6 * HOUR


def windows_of(settings: Settings, rows: pd.DataFrame, **changes: object) -> list[dict[str, float | None]]:
    """The drift columns of the exact leg's windows of a slot of two hours."""
    shed = {"policy": "exact"}
    query = make_query(window=WINDOW, schedule={"every": "2 hours"}, shed=shed, **changes)
    run(settings, query, [SLOT], rows)
    found = warehouse.runs(settings, query.name).read().to_pylist()
    return sorted(found, key=lambda row: row["window_start"])


def inside(rows: pd.DataFrame, start: int) -> pd.DataFrame:
    return rows[(rows.time >= start) & (rows.time < start + HOUR)]


def starts() -> list[int]:
    return [SLOT - HALF + number * HALF for number in range(4)]


def test_the_top_is_that_of_its_own_measure(settings: Settings) -> None:
    rows = make_rows()
    made = windows_of(settings, rows, top={"by": "mean", "n": 5})
    tops = [set(inside(rows, start).groupby("key").value.mean().nlargest(5).index) for start in starts()]
    wanted = [1 - len(old & new) / 5 for old, new in itertools.pairwise(tops)]
    assert made[0]["window_top_difference"] is None
    assert [row["window_top_difference"] for row in made[1:]] == pytest.approx(wanted)
    assert max(wanted) > 0
    assert all(row["top_difference"] is None for row in made)  # the top is not that of the rows


def test_overlap_distance_and_the_top_by_rows_are_those_of_consecutive_windows(settings: Settings) -> None:
    rows = make_rows()
    made = windows_of(settings, rows)
    counts = [inside(rows, start).key.value_counts() for start in [starts()[0] - HALF, *starts()]]
    for row, old, new in zip(made, counts, counts[1:], strict=False):
        both = pd.concat([old / old.sum(), new / new.sum()], axis=1).fillna(0).to_numpy()
        assert row["window_distance"] == pytest.approx(np.abs(both[:, 0] - both[:, 1]).sum() / 2)
        common = len(set(old.index) & set(new.index))
        assert row["window_overlap"] == pytest.approx(common / len(set(old.index) | set(new.index)))
        assert 0 <= row["window_top_difference"] <= 1  # type: ignore[operator]


def test_without_keys_it_is_how_far_mean_and_variance_moved(settings: Settings) -> None:
    rows = make_rows()
    moved = rows.time >= SLOT + HOUR
    rows.loc[moved, "value"] += 200
    made = windows_of(settings, rows, group_by=[])
    values = [inside(rows, start).value for start in starts()]
    laws = [(float(own.mean()), float(own.var())) for own in values]
    wanted = [scalar_distance(*both) for both in itertools.pairwise(laws)]
    assert [row["window_distance"] for row in made[1:]] == pytest.approx(wanted, rel=1e-6)
    assert max(wanted) > 0.3


def test_a_jump_of_a_query_without_keys_stops_its_slot(settings: Settings) -> None:
    from expectations.gate import judge

    rows = make_rows()
    rows.loc[rows.time >= SLOT + HOUR, "value"] += 200
    for limit, passed in ((0.9, True), (0.2, False)):
        gate = {"drift": limit}
        query = make_query(
            window=WINDOW, schedule={"every": "2 hours"}, shed={"policy": "exact"}, group_by=[], gate=gate
        )
        run(settings, query, [SLOT], rows)
        assert judge(settings, query, SLOT, "run").passed == passed
