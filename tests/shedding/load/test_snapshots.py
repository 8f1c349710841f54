"""Stable snapshots: two equal blocks, never above the tolerance, then anew."""

from __future__ import annotations

import numpy as np

from shedding.load.cost_sketch import CostSketch, cells_of
from shedding.load.snapshots import Snapshots, relative_change

ITEMS = np.arange(8)
CELLS = cells_of(ITEMS, 4, 64)


def block(cost: int) -> tuple[np.ndarray, np.ndarray]:
    return CELLS, np.full(8, cost)


def test_two_equal_blocks_are_stable_and_the_next_one_starts_anew() -> None:
    snapshots = Snapshots(4, 64, block=8)
    assert snapshots.add(*block(10)) == []
    (stable,) = snapshots.add(*block(10))
    assert (stable.total_rows, stable.total_cost) == (16, 160)
    assert snapshots.change == 0
    assert snapshots.add(*block(99)) == []


def test_no_sketch_is_given_away_while_the_change_is_above_the_tolerance() -> None:
    snapshots = Snapshots(4, 64, block=8)
    cost, given = 10, []
    for _ in range(6):
        given += snapshots.add(*block(cost))
        cost *= 2
        assert snapshots.change > 0.05
    assert given == []


def test_rows_may_come_in_pieces_of_any_size() -> None:
    rng = np.random.default_rng(1)
    items = rng.integers(0, 8, 4096)
    cost = (items + 1) * 100
    whole, pieces = Snapshots(4, 64, block=64), Snapshots(4, 64, block=64)
    expected = [sketch.digest() for sketch in whole.add(CELLS[items], cost)]
    got = []
    for part in np.array_split(np.arange(4096), 77):
        got += [sketch.digest() for sketch in pieces.add(CELLS[items[part]], cost[part])]
    assert got == expected
    assert got


def test_cells_that_one_snapshot_does_not_know_are_left_out_of_the_change() -> None:
    before = CostSketch.of(CELLS[:4], np.full(4, 10), 64).ratios()
    now = CostSketch.of(CELLS, np.full(8, 11), 64).ratios()
    assert round(relative_change(before, now), 6) == 0.1
    assert relative_change(np.full((1, 2), np.nan), now[:1, :2]) == np.inf
