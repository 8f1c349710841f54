"""Rows of unequal cost: what allocation by cost gains, and that it biases nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.policies import POLICIES, get_policy
from tests.shedding.policies.battery import LAWS, Law, random_concept, with_options


@pytest.mark.parametrize("name", list(POLICIES))
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), part=st.floats(0.002, 1.1))
def test_the_laws_hold_for_costs_over_five_decades(name: str, law: Law, seed: int, part: float) -> None:
    concept = random_concept(seed)
    costs = 10 ** np.random.default_rng(seed).uniform(-2, 3, len(concept))
    law(with_options(name, groups=4), replace(concept, cost=costs), part)


@pytest.mark.parametrize(("sigma", "gain"), [(1.0, 0.88), (1.5, 0.75), (2.0, 0.61)])
def test_rates_by_cost_gain_what_the_closed_form_says(sigma: float, gain: float) -> None:
    """Equal spreads, equal seconds: error x E[sqrt c] / sqrt(E[c]) against rates that are blind to cost."""
    normal = np.random.default_rng(7).standard_normal(40_000)
    costs = np.exp(sigma * (normal - normal.mean()) / normal.std())
    concept = Concept.grouped(np.full(costs.size, 1e6), cv=np.ones(costs.size), cost=costs)
    seconds = 1e-4 * float(concept.full_cost.sum())
    aware = get_policy("optimal").allocate(concept, Budget(rows=seconds))
    blind = seconds / float(concept.full_cost.sum())
    error = np.sqrt(np.mean(1 / (aware.rates * 1e6)) / (1 / (blind * 1e6)))
    assert error == pytest.approx(np.sqrt(costs).mean() / np.sqrt(costs.mean()), rel=1e-6)
    assert error == pytest.approx(gain, rel=0.05)


def test_load_aware_keeps_more_rows_than_any_other_policy_of_the_same_cost() -> None:
    rng = np.random.default_rng(3)
    concept = Concept.grouped(rng.integers(5, 500, 60), cv=rng.lognormal(-1, 1, 60), cost=rng.lognormal(0, 1.5, 60))
    budget = Budget(rows=0.2 * float(concept.full_cost.sum()))
    rows = {name: get_policy(name).allocate(concept, budget).expected_rows for name in POLICIES if name != "exact"}
    assert max(rows, key=lambda name: rows[name]) == "load_aware"


def test_values_that_go_with_costs_are_estimated_without_bias_and_survivors_of_the_paper_s_shedder_are_not() -> None:
    rng = np.random.default_rng(11)
    log_cost = rng.standard_normal(20_000)
    values = 10 + 0.9 * log_cost + np.sqrt(1 - 0.81) * rng.standard_normal(20_000)
    classes = np.clip(np.floor(log_cost / np.log(2)), -3, 4).astype(int) + 3
    sizes, costs = np.bincount(classes), np.bincount(classes, np.exp(log_cost)) / np.bincount(classes)
    concept = Concept.grouped(sizes, cv=np.full(8, 0.1), cost=costs)
    rates = get_policy("optimal").allocate(concept, Budget(rows=0.05 * float(concept.full_cost.sum()))).rates[classes]
    estimates, covered, truth = [], 0, float(values.mean())
    for _ in range(400):
        kept = rng.random(20_000) < rates
        mean = np.bincount(classes[kept], values[kept], 8) / np.bincount(classes[kept], minlength=8)
        n = np.bincount(classes[kept], minlength=8)
        spread = np.bincount(classes[kept], (values[kept] - mean[classes[kept]]) ** 2, 8) / (n - 1)
        half = 1.96 * np.sqrt(np.sum((sizes / 20_000) ** 2 * spread / n * (1 - n / sizes)))
        estimates.append(float(sizes @ mean) / 20_000)
        covered += abs(estimates[-1] - truth) <= half
    cheapest = np.argsort(np.exp(log_cost))[: 20_000 // 2]
    assert abs(np.mean(estimates) - truth) <= 3 * np.std(estimates) / np.sqrt(400)
    assert 0.93 <= covered / 400 <= 0.97
    assert abs(values[cheapest].mean() - truth) > 20 * np.std(estimates)
