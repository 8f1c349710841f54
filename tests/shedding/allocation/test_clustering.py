"""k-optimal: at most k rates, at the optimum's cost, from uniform (k = 1) to the optimum (k = N)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from shedding.allocation.budget import Budget
from shedding.allocation.clustering import FINEST, group_by_ratio
from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal
from shedding.allocation.water_filling import bounded_rates
from shedding.errors import BudgetError
from shedding.policies import get_policy

Floats = NDArray[np.float64]


def concept(keys: int) -> Concept:
    rng = np.random.default_rng(keys)
    return Concept.grouped(np.ceil(rng.lognormal(4, 1, keys)), cv=rng.lognormal(-1, 1, keys))


def test_one_group_is_uniform_and_as_many_as_keys_the_optimum() -> None:
    keys, budget = concept(60), Budget(rows=200)
    for groups, other in ((1, "uniform"), (60, "optimal")):
        got = get_policy("k_optimal", groups=groups).allocate(keys, budget)
        np.testing.assert_allclose(got.rates, get_policy(other).allocate(keys, budget).rates, rtol=1e-9)


def test_more_groups_err_less_and_cost_the_same() -> None:
    keys, budget = concept(500), Budget(rows=300)
    found = [get_policy("k_optimal", groups=k).allocate(keys, budget) for k in (1, 2, 4, 8, 16, 64)]
    errors = [allocation.total_error for allocation in found]
    assert all(later < earlier for earlier, later in itertools.pairwise(errors))
    assert [a.expected_cost for a in found] == pytest.approx([300] * 6)
    assert all(np.unique(a.rates.round(12)).size <= k for a, k in zip(found, (1, 2, 4, 8, 16, 64), strict=True))
    assert errors[-1] < 1.01 * get_policy("optimal").allocate(keys, budget).total_error


@pytest.mark.parametrize("groups", [4, 8, 16])
def test_the_grouping_is_within_two_percent_of_the_best_one(groups: int) -> None:
    keys = concept(150)
    b, c = Goal().curve(keys).reciprocal, keys.full_cost
    group = group_by_ratio(b, c, groups)
    assert np.sum(np.sqrt(np.bincount(group, b) * np.bincount(group, c))) < 1.02 * best_partition(b, c, groups)


def best_partition(b: Floats, c: Floats, groups: int) -> float:
    """Least sum of sqrt(b c) over all contiguous partitions, by dynamic programming."""
    order = np.argsort(b / c)
    total_b, total_c = (np.concatenate([[0.0], np.cumsum(x[order])]) for x in (b, c))
    best = np.sqrt(total_b * total_c)
    for _ in range(groups - 1):
        joined = [np.sqrt((total_b[i] - total_b[: i + 1]) * (total_c[i] - total_c[: i + 1])) for i in range(best.size)]
        best = np.array([np.min(best[: i + 1] + last) for i, last in enumerate(joined)])
    return float(best[-1])


def test_groups_are_contiguous_in_the_ideal_ratio() -> None:
    keys = concept(300)
    b = Goal().curve(keys).reciprocal
    group = group_by_ratio(b, keys.full_cost, 5)
    by_ratio = group[np.argsort(b / keys.full_cost)]
    assert np.all(np.diff(by_ratio) >= 0)
    assert set(group) == set(range(5))


def test_the_grouping_of_three_keys_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        b, c = np.sort(rng.lognormal(0, 2, 3)), np.ones(3)
        group = group_by_ratio(b, c, 2)
        losses = {}
        for split in (1, 2):
            parts = (slice(0, split), slice(split, 3))
            losses[split] = sum(np.sqrt(b[part].sum() * c[part].sum()) for part in parts)
        assert np.flatnonzero(np.diff(group))[0] + 1 == min(losses, key=lambda split: losses[split])


def test_many_keys_are_grouped_by_rank_first() -> None:
    rng = np.random.default_rng(2)
    b, c = rng.lognormal(0, 1, 5 * FINEST), rng.lognormal(0, 1, 5 * FINEST)
    group = group_by_ratio(b, c, 8)
    total = np.sum(np.sqrt(np.bincount(group, b) * np.bincount(group, c)))
    assert total / np.sum(np.sqrt(b * c)) < 1.02


def test_no_group_is_refused() -> None:
    with pytest.raises(BudgetError, match="groups"):
        get_policy("k_optimal", groups=0)


@pytest.mark.parametrize(("part", "groups", "within"), [(0.5, 4, 1.02), (0.7, 2, 1.08), (0.9, 2, 1.04), (0.9, 4, 1.01)])
def test_keys_that_the_optimum_caps_share_a_group(part: float, groups: int, within: float) -> None:
    """About 400 patterns, each at the cost of a look a transaction; grouped by the uncapped ratio they err more."""
    frequency = 4000 / np.arange(1, 401) ** 0.8
    keys = Concept.grouped(np.full(400, 10_000.0), cv=np.sqrt(frequency))
    budget = Budget(rows=part * float(keys.population.sum()))
    curve = Goal().curve(keys)
    best = get_policy("optimal").allocate(keys, budget).total_error ** 2
    grouped = get_policy("k_optimal", groups=groups).allocate(keys, budget).total_error ** 2
    group = group_by_ratio(frequency, np.ones(400), groups)
    ratio = np.sqrt(np.bincount(group, frequency) / np.bincount(group))[group]
    uncapped = curve.total(keys.weight, curve.at_rates(bounded_rates(ratio, keys.population, budget.rows))) ** 2
    assert grouped < within * best
    assert grouped < 0.98 * uncapped
