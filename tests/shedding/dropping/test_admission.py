"""A pool's drops: the optimum of the linear programme, and a stated reason where nothing fits."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.optimize import linprog

from shedding.dropping.admission import Member, admit
from shedding.dropping.rules import largest_drop


def random_pool(dice: random.Random) -> list[Member]:
    return [
        Member(
            name=f"q{i}", cost=dice.uniform(1, 60), saving=dice.uniform(0.1, 1),
            limit=largest_drop(dice.randint(1, 6)), weight=dice.uniform(0.5, 4),
        )
        for i in range(dice.randint(1, 5))
    ]  # fmt: skip


def cost(members: list[Member], drops: dict[str, float]) -> float:
    return sum(m.cost * (1 - m.saving * drops[m.name]) for m in members if drops[m.name] < 1)


def least_loss(members: list[Member], capacity: float) -> float | None:
    """The least weighted loss, by a solver that knows nothing of the order; None where nothing fits."""
    over = sum(m.cost for m in members) - capacity
    made = linprog(
        [m.weight for m in members], A_ub=[[-m.cost * m.saving for m in members]], b_ub=[-over],
        bounds=[(0, m.limit) for m in members],
    )  # fmt: skip
    return float(made.fun) if made.success else None


@pytest.mark.parametrize("seed", range(200))
def test_the_drops_are_optimal_and_within_every_limit(seed: int) -> None:
    dice = random.Random(seed)
    members = random_pool(dice)
    capacity = sum(m.cost for m in members) * dice.uniform(0.2, 1.1)
    told = admit(members, capacity)
    drops = {name: one.drop for name, one in told.items()}
    assert all(drops[m.name] <= m.limit for m in members)
    best = least_loss(members, capacity)
    if best is None:
        assert {one.state for one in told.values()} == {"late"}
        assert all(drops[m.name] == m.limit for m in members)
        assert all("otherwise: shut" in one.reason for one in told.values())
    else:
        assert sum(m.weight * drops[m.name] for m in members) == pytest.approx(best, abs=1e-6)
        assert cost(members, drops) <= capacity + 1e-9


@pytest.mark.parametrize("seed", range(50))
def test_shut_stops_the_dearest_per_weight_and_no_more_than_it_must(seed: int) -> None:
    dice = random.Random(seed)
    members = random_pool(dice)
    capacity = sum(m.cost for m in members) * dice.uniform(0.02, 0.5)
    told = admit(members, capacity, otherwise="shut")
    shut = [m for m in members if told[m.name].state == "shut"]
    left = [m for m in members if m not in shut]
    assert cost(members, {name: one.drop for name, one in told.items()}) <= capacity + 1e-9
    dearness = [m.cost / m.weight for m in shut]
    assert all(m.cost / m.weight <= min(dearness, default=np.inf) for m in left)
    if shut:
        spared = min(shut, key=lambda m: m.cost / m.weight)
        least = sum(m.cost * (1 - m.saving * m.limit) for m in [*left, spared])
        assert least > capacity
        assert all("otherwise: late" in told[m.name].reason for m in shut)


def test_a_pool_that_fits_drops_nothing() -> None:
    told = admit([Member("a", 10, 1, 0.4), Member("b", 5, 1, 0.4)], capacity=15)
    assert {one.drop for one in told.values()} == {0.0}
    assert {one.reason for one in told.values()} == {"fits without drops"}
