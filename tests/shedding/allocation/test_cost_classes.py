"""Keys cut by cost: known rates, no stratum too thin to speak for itself, and the error that the closed form says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.cost_classes import LEAST_ROWS, MOST_CLASSES, cost_classes
from shedding.allocation.split import whole_keys
from shedding.allocation.water_filling import bounded_rates
from shedding.policies.load_aware import LoadAware
from shedding.policies.optimal import Optimal
from shedding.policies.posterior import Posterior
from shedding.policies.uniform import Uniform


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.floats(0.0, 6.0), share=st.floats(0.001, 1.0))
def test_classes_are_within_keys_by_cost_and_each_expects_two_rows_or_is_alone(
    seed: int, spread: float, share: float
) -> None:
    rng = np.random.default_rng(seed)
    key = np.sort(rng.integers(0, 20, 200))
    key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    rows, cost = rng.integers(1, 50, 200).astype(float), rng.lognormal(-6, spread, 200)
    budget = share * float(rows @ cost)
    stratum = cost_classes(key, rows, cost, budget)
    assert sorted(set(stratum)) == list(range(stratum.max() + 1))
    rates = bounded_rates(1 / np.sqrt(cost), rows * cost, budget, np.zeros(200))
    for one in set(stratum):
        inside = stratum == one
        assert len(set(key[inside])) == 1
        alone = len(set(stratum[key == key[inside][0]])) == 1
        assert alone or (rows * rates)[inside].sum() >= LEAST_ROWS - 1e-9
    for k in set(key):
        classes = [(cost[(stratum == s)].max(), s) for s in set(stratum[key == k])]
        assert len(classes) <= MOST_CLASSES
        assert [s for _, s in sorted(classes)] == sorted(s for _, s in classes)


def cut_concept(cost: np.ndarray, keys: int = 10, rows: float = 400.0) -> Concept:
    """Equal keys, each with the same classes of cost."""
    whole = Concept.grouped(np.full(keys, rows * cost.size), cv=np.ones(keys), prior_variance=np.full(keys, 1e6))
    key = np.repeat(np.arange(keys), cost.size)
    size = key.size
    return whole.cut(key, np.full(size, 1 / cost.size), np.tile(cost, keys), np.full(size, np.nan))


def key_error(concept: Concept, rates: np.ndarray) -> float:
    """The relative standard error of a key's mean."""
    share = concept.population / np.bincount(concept.strata_key, concept.population)[concept.strata_key]
    terms = share**2 / concept.population * (1 / rates - 1)
    return float(np.sqrt(np.bincount(concept.strata_key, terms).mean()))


@pytest.mark.parametrize("policy", [Optimal(), Posterior()])
@pytest.mark.parametrize(("sigma", "gain"), [(1.0, 0.88), (1.5, 0.75), (2.0, 0.61)])
def test_at_equal_seconds_the_error_is_that_of_the_closed_form(
    policy: Optimal | Posterior, sigma: float, gain: float
) -> None:
    """E[sqrt c] / sqrt(E[c]) of cost-blind rates: .88, .75 and .61 for lognormal costs."""
    centres = np.exp(sigma * np.array([-2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]))
    weight = np.exp(-0.5 * (np.log(centres) / sigma) ** 2)
    keys, rows = 10, 40_000.0 * weight / weight.sum()
    whole = Concept.grouped(np.full(keys, rows.sum()), cv=np.ones(keys), prior_variance=np.full(keys, 1e6))
    key = np.repeat(np.arange(keys), centres.size)
    share = np.tile(rows / rows.sum(), keys)
    concept = whole.cut(key, share, np.tile(centres, keys), np.full(key.size, np.nan))
    budget = Budget(0.01 * float(concept.full_cost.sum()))
    blind = key_error(concept, Uniform().allocate(concept, budget).rates)
    aware = policy.allocate(concept, budget)
    assert aware.expected_cost == pytest.approx(budget.rows, rel=1e-6)
    closed = float(rows @ np.sqrt(centres) / np.sqrt(rows.sum() * (rows @ centres)))
    assert closed == pytest.approx(gain, abs=0.04)
    assert key_error(concept, aware.rates) / blind == pytest.approx(closed, rel=0.1)


@pytest.mark.parametrize("policy", [Optimal(), Posterior(), LoadAware()])
def test_a_budget_for_all_rows_keeps_all_and_a_smaller_one_is_kept(policy: Optimal | Posterior | LoadAware) -> None:
    concept = cut_concept(np.array([0.001, 0.01, 0.5]))
    total = float(concept.full_cost.sum())
    assert (policy.allocate(concept, Budget(2 * total)).rates == 1).all()
    for share in (0.5, 0.1, 0.01):
        made = policy.allocate(concept, Budget(share * total))
        assert made.expected_cost <= share * total * (1 + 1e-9)
        assert ((made.rates > 0) & (made.rates <= 1)).all()


def test_a_key_s_row_is_priced_below_its_mean_cost_where_costs_differ() -> None:
    whole = whole_keys(cut_concept(np.array([1.0, 4.0, 16.0])))
    np.testing.assert_allclose(whole.cost, (7 / 3) ** 2)
    np.testing.assert_allclose(whole.weight, 1.0)
