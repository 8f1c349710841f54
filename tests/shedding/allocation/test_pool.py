"""One budget for several queries: the union is paid, the member with the largest rate pays, nobody is worse off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal
from shedding.allocation.pool import FAIR_ENOUGH, Member, Pool
from shedding.allocation.problem import Problem
from shedding.policies import get_policy
from tests.oracles.pooled_rows import Floats, Ints, dual_bound, row_union, squared_goal, summed_optimum

OPTIMAL = get_policy("optimal")


def member_of(key: Ints, value: Floats, weight: float = 1.0) -> Member:
    groups = pd.Series(value).groupby(key)
    concept = Concept.grouped(groups.size().to_numpy(float), cv=(groups.std() / groups.mean()).to_numpy())
    return Member(concept.strata, Goal("relative").curve(concept), weight)


def random_pool(
    seed: int, fraction: float = 0.05, weights: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> tuple[Pool, list[Ints]]:
    rng = np.random.default_rng(seed)
    keys = [np.unique(np.minimum(rng.zipf(1.2, 20_000), size), return_inverse=True)[1] for size in (30, 200, 1000)]
    value = rng.lognormal(0.0, 0.6, 20_000)
    members = tuple(member_of(key, value, weight) for key, weight in zip(keys, weights, strict=True))
    return Pool(members, 20_000.0, Budget(fraction * 20_000)), keys


def rates_of(pool: Pool, policy: str = "optimal", **options: bool) -> list[Floats]:
    return [made.rates for made in pool.allocate(get_policy(policy), **options)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("policy", ["optimal", "posterior", "uniform"])
def test_the_union_of_independent_keys_keeps_the_budget(seed: int, policy: str) -> None:
    pool, keys = random_pool(seed)
    rates = rates_of(pool, policy)
    assert row_union(keys, rates) == pytest.approx(pool.budget.rows, rel=0.03)
    assert pool.union(rates) == pytest.approx(row_union(keys, rates), rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_no_rates_from_counts_beat_the_dual_bound_and_ours_are_near_it(seed: int) -> None:
    pool, keys = random_pool(seed)
    rates = rates_of(pool, at_least_alone=False)
    bound = dual_bound(pool.members, keys, row_union(keys, rates))
    assert bound <= squared_goal(pool.members, rates) <= 1.05 * bound


@pytest.mark.parametrize("seed", range(5))
def test_no_member_is_worse_off_than_alone(seed: int) -> None:
    pool, _ = random_pool(seed)
    assert np.all(pool.totals(rates_of(pool)) <= pool.alone(OPTIMAL) * FAIR_ENOUGH)


def test_what_members_are_charged_adds_up_to_the_union() -> None:
    pool, _ = random_pool(3)
    rates = rates_of(pool)
    assert pool.charged(rates).sum() == pytest.approx(pool.union(rates))
    assert np.all(pool.charged(rates) > 0)


def test_a_pool_of_one_is_the_policy_alone() -> None:
    pool, _ = random_pool(1)
    one = replace(pool, members=pool.members[:1])
    alone = OPTIMAL.solve(Problem(one.members[0].strata, one.members[0].curve, one.budget))
    assert rates_of(one)[0] == pytest.approx(alone.rates, rel=2e-3)


def test_twins_share_their_rows_and_have_each_what_the_budget_buys_one() -> None:
    pool, keys = random_pool(2)
    twin = pool.members[1]
    both = Pool((twin, twin), pool.rows, pool.budget)
    rates = rates_of(both)
    assert rates[0] == pytest.approx(rates[1])
    assert (
        row_union([keys[1], keys[1]], rates) <= 1.001 * pool.budget.rows
    )  # they are not independent: less, never more


def test_a_member_of_four_times_the_weight_has_twice_the_rates_where_no_rate_is_capped() -> None:
    pool, _ = random_pool(4, fraction=0.001)
    disjoint = [replace(one, strata=replace(one.strata, cost=one.strata.cost / 100)) for one in pool.members[:2]]
    apart = Pool(tuple(disjoint), pool.rows, pool.budget)  # each has a hundredth of the rows: hardly any row is shared
    even = rates_of(apart, at_least_alone=False)
    heavy = rates_of(replace(apart, members=(replace(disjoint[0], weight=4.0), disjoint[1])), at_least_alone=False)
    ratio = np.median(heavy[0] / even[0]) / np.median(heavy[1] / even[1])
    assert ratio == pytest.approx(2.0, rel=0.05)


def test_a_budget_for_all_rows_keeps_all_of_them() -> None:
    pool, _ = random_pool(0, fraction=1.0)
    assert all(np.all(own > 0.99) for own in rates_of(pool))


def evening_trips(data_dir: Path) -> tuple[list[Ints], Floats]:
    """An evening's trips: their pickup cells, drop-off cells and medallions as numbers, and their durations."""
    rows = pd.read_parquet(data_dir / "nyc_taxi_trips_2013-02-01_to_02-04.parquet")
    time = pd.to_datetime(rows["pickup_datetime"])
    rows = rows[(time >= "2013-02-02 18:00") & (time < "2013-02-03") & (rows["trip_time_in_secs"] > 0)]
    cells = [
        np.floor((rows[f"{end}_longitude"] + 74.916578) / 0.005986) * 300
        + np.floor((41.47718278 - rows[f"{end}_latitude"]) / 0.004491556)
        for end in ("pickup", "dropoff")
    ]
    keys = [np.unique(key, return_inverse=True)[1] for key in (*cells, rows["medallion"].to_numpy(str))]
    return keys, rows["trip_time_in_secs"].to_numpy(float)


def measured_error(key: Ints, value: Floats, rates: Floats, u: Floats) -> float:
    """The root of the mean squared relative error of the keys' means; a missing key is wholly wrong."""
    kept = u < rates[key]
    size = rates.size
    truth = np.bincount(key, value, size) / np.bincount(key, minlength=size)
    rows = np.bincount(key[kept], minlength=size)
    mean = np.bincount(key[kept], value[kept], size) / np.maximum(rows, 1)
    return float(np.sqrt(np.mean(np.where(rows > 0, mean / truth - 1, 1.0) ** 2)))


@pytest.mark.data
def test_no_member_errs_measurably_more_than_alone_on_real_trips(data_dir: Path) -> None:
    keys, value = evening_trips(data_dir)
    members = tuple(member_of(key, value) for key in keys)
    pool = Pool(members, float(value.size), Budget(0.05 * value.size))
    rates = rates_of(pool)
    part = replace(pool.budget, rows=pool.budget.rows / len(members))
    alone = [OPTIMAL.solve(Problem(one.strata, one.curve, part)).rates for one in members]
    rng = np.random.default_rng(0)
    errors = np.zeros((2, len(members)))
    for _ in range(5):
        u = rng.random(value.size)
        for line, way in enumerate((rates, alone)):
            errors[line] += [measured_error(key, value, own, u) for key, own in zip(keys, way, strict=True)]
    assert np.all(errors[0] <= 1.10 * errors[1])
    assert errors[0][2] < errors[1][2]  # medallions, of 16 rows each, gain from the rows of the others


@pytest.mark.data
def test_three_taxi_queries_at_five_percent(data_dir: Path) -> None:
    """Against the paper's pooled optimum, whose cost is the sum, and the dual bound; from counts alone."""
    keys, value = evening_trips(data_dir)
    members = tuple(member_of(key, value) for key in keys)
    pool = Pool(members, float(value.size), Budget(0.05 * value.size))
    first = rates_of(pool, at_least_alone=False)
    assert 0.96 <= row_union(keys, first) / pool.budget.rows <= 1.0
    informed = replace(pool, overlap=row_union(keys, first) / pool.union(first))
    rates = rates_of(informed, at_least_alone=False)
    assert row_union(keys, rates) == pytest.approx(pool.budget.rows, rel=0.01)
    goal, bound = squared_goal(members, rates), dual_bound(members, keys, pool.budget.rows)
    assert bound <= goal <= 1.05 * bound
    paper = squared_goal(members, summed_optimum(members, pool.budget.rows))
    assert goal <= 0.75 * paper
    fair = rates_of(informed)
    assert np.all(informed.totals(fair) <= FAIR_ENOUGH * informed.alone(OPTIMAL))
    assert squared_goal(members, fair) <= 1.06 * goal
