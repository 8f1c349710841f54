"""The cost sketch: mergeable to the bit, bounded by what was seen, as blind as Theorem 5 says where it is narrow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.errors import DataError
from shedding.load.cost_sketch import CostSketch, cells_of, depth_for, expected_ratio, width_for

COSTS = np.repeat(np.arange(1, 65), 64)
"""Theorem 5's example: 4,096 equally frequent items, 64 of each cost."""

rows = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 10**12)), max_size=60)


def sketch_of(measured: list[tuple[int, int]], width: int = 16) -> CostSketch:
    items = np.array([item for item, _ in measured], np.int64)
    return CostSketch.of(cells_of(items, 4, width), np.array([cost for _, cost in measured], np.int64), width)


def test_theorem_5_is_reproduced_to_two_decimals() -> None:
    expected = expected_ratio(COSTS, 55)
    assert (round(expected.min(), 2), round(expected.max(), 2)) == (32.08, 32.92)


def test_random_hashings_agree_with_theorem_5() -> None:
    rng = np.random.default_rng(5)
    cheap, dear = [], []
    for _ in range(10_000):
        cell = rng.integers(0, 55, COSTS.size)
        ratio = np.bincount(cell, COSTS, 55) / np.bincount(cell, minlength=55)
        cheap.append(ratio[cell[0]])
        dear.append(ratio[cell[-1]])
    for got, wanted in ((cheap, expected_ratio(COSTS, 55)[0]), (dear, expected_ratio(COSTS, 55)[-1])):
        assert abs(np.mean(got) - wanted) <= 3 * np.std(got) / 100


def test_the_hash_family_is_as_even_as_random_hashing() -> None:
    cells = np.stack([cells_of(np.arange(4096), 4, 55, seed) for seed in range(200)])
    seen = np.zeros((200, 4, 55))
    for seed in range(200):
        for line in range(4):
            seen[seed, line] = np.bincount(cells[seed, :, line], minlength=55)
    chi_square = ((seen - 4096 / 55) ** 2 / (4096 / 55)).sum(axis=2)
    assert abs(chi_square.mean() - 54) < 4 * np.sqrt(2 * 54 / 800)


def test_ten_lines_all_overestimate_no_more_often_than_markov_allows() -> None:
    over = 0
    for seed in range(300):
        cells = cells_of(np.arange(4096), 10, 55, seed)
        ratios = CostSketch.of(cells, COSTS, 55).ratios()
        over += int(ratios[np.arange(10), cells[0]].min() >= 48)
    assert over / 300 <= (11 / 16) ** 10 <= 0.024


@settings(max_examples=100, deadline=None, derandomize=True)
@given(first=rows, second=rows, third=rows)
def test_merging_is_commutative_associative_and_equal_to_one_sketch_of_all_rows(
    first: list[tuple[int, int]], second: list[tuple[int, int]], third: list[tuple[int, int]]
) -> None:
    a, b, c = (sketch_of(part) for part in (first, second, third))
    whole = sketch_of([*third, *first, *second]).digest()
    assert a.merge(b).merge(c).digest() == whole
    assert c.merge(b.merge(a)).digest() == whole


@settings(max_examples=100, deadline=None, derandomize=True)
@given(measured=rows.filter(len), asked=st.integers(-(2**63), 2**63 - 1))
def test_an_estimate_lies_between_the_least_and_the_largest_cost(measured: list[tuple[int, int]], asked: int) -> None:
    costs = [cost for _, cost in measured]
    estimates = sketch_of(measured).estimate(cells_of([asked, *(item for item, _ in measured)], 4, 16))
    assert np.all((estimates >= min(costs) * (1 - 1e-12)) & (estimates <= max(costs) * (1 + 1e-12)))


def test_an_item_alone_in_a_cell_has_its_own_mean_and_an_unseen_one_the_mean_of_all() -> None:
    sketch = CostSketch.of(cells_of([7, 7, 9]), [100, 300, 5000])
    assert sketch.estimate(cells_of([7, 9, 123456])).tolist() == [200.0, 5000.0, 1800.0]
    assert CostSketch.empty().estimate(cells_of([1])).tolist() == [0.0]


def test_the_paper_s_parameters_give_four_lines_of_fifty_five_cells() -> None:
    assert (depth_for(0.1), width_for(0.05)) == (4, 55)


def test_costs_that_are_no_whole_numbers_or_negative_are_refused() -> None:
    for wrong in ([1.5], [-1]):
        with pytest.raises(DataError, match="whole nanoseconds"):
            CostSketch.of(cells_of([1]), wrong)
    with pytest.raises(DataError, match="do not merge"):
        CostSketch.empty(4, 16).merge(CostSketch.empty(4, 32))
