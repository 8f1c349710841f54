"""What each policy promises besides the laws of the battery."""

from __future__ import annotations

import numpy as np
import pytest

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal
from shedding.errors import BudgetError
from shedding.policies import get_policy


@pytest.fixture
def skewed() -> Concept:
    rng = np.random.default_rng(6)
    return Concept.grouped(
        np.ceil(rng.lognormal(3, 1.5, 500)), cv=rng.lognormal(-1, 1, 500), scale=rng.lognormal(1, 1, 500)
    )


def rows(policy: str, concept: Concept, budget: float, **options: object) -> np.ndarray:  # type: ignore[type-arg]
    return get_policy(policy, **options).allocate(concept, Budget(rows=budget)).rates * concept.population


def test_uniform_is_one_rate_the_budget_over_the_cost(skewed: Concept) -> None:
    rates = get_policy("uniform").allocate(skewed, Budget(rows=0.05 * skewed.population.sum())).rates
    np.testing.assert_allclose(rates, 0.05)


def test_proportional_gives_rows_by_the_size_of_a_key_and_none_less_than_one(skewed: Concept) -> None:
    kept = rows("proportional", skewed, 0.1 * skewed.population.sum())
    single = np.isclose(kept, 1.0)
    assert single.any()
    assert kept.min() >= 1 - 1e-9
    rates = (kept / skewed.population)[~single]
    np.testing.assert_allclose(rates, rates[0])
    assert rates[0] < 0.1


def test_proportional_shares_a_budget_below_one_row_a_key_evenly() -> None:
    kept = rows("proportional", Concept.grouped([10, 100, 1000, 10_000]), 2)
    np.testing.assert_allclose(kept, 0.5)


def test_proportional_follows_the_weights() -> None:
    kept = rows("proportional", Concept.grouped([1000, 1000], weight=[1, 3]), 100)
    assert kept.tolist() == pytest.approx([25, 75])


def test_cod_keeps_rare_keys_whole_and_frequent_ones_at_one_rate(skewed: Concept) -> None:
    rates = get_policy("cod").allocate(skewed, Budget(rows=0.2 * skewed.population.sum())).rates
    frequent = skewed.population >= skewed.population.mean()
    common = rates[frequent][0]
    np.testing.assert_allclose(rates[frequent], common)
    rare = skewed.population <= common * skewed.population.mean()
    assert rare.sum() > 10
    assert np.all(rates[rare] == 1)
    assert np.all(rates >= common * (1 - 1e-12))


def test_optimal_rows_are_in_proportion_to_the_relative_spread() -> None:
    kept = rows("optimal", Concept.grouped([1000, 5000, 9000], cv=[0.1, 0.2, 0.4]), 70)
    assert kept.tolist() == pytest.approx([10, 20, 40])


def test_optimal_rows_under_variance_are_in_proportion_to_the_absolute_spread() -> None:
    concept = Concept.grouped([1000, 5000], cv=[0.2, 0.2], scale=[10.0, 30.0])
    assert rows("optimal", concept, 40, goal="variance").tolist() == pytest.approx([10, 30])


def test_the_unit_of_a_measure_does_not_change_the_variance_goal() -> None:
    cv, scale = np.array([[0.2, 0.5], [0.3, 0.1]]), np.array([[1.0, 7.0], [2.0, 3.0]])
    metres = Concept.grouped([500, 900], cv=cv, scale=scale)
    feet = Concept.grouped([500, 900], cv=cv, scale=scale * [1.0, 3.28])
    wanted = rows("optimal", metres, 60, goal="variance")
    np.testing.assert_allclose(rows("optimal", feet, 60, goal="variance"), wanted)


def test_the_support_goal_prefers_keys_near_the_threshold() -> None:
    concept = Concept.grouped([10.0, 95.0, 105.0, 790.0])
    got = get_policy("optimal", goal="support", support=0.1).allocate(concept, Budget(rows=50))
    far, near = got.rates[[0, 3]], got.rates[[1, 2]]
    assert near.min() > far.max()
    curve = Goal("support", 0.1).curve(concept)
    uniform = get_policy("uniform").allocate(concept, Budget(rows=50))
    assert got.total_error < curve.total(concept.weight, curve.at_rates(uniform.rates))


def test_costly_rows_are_taken_less_often() -> None:
    kept = rows("optimal", Concept.grouped([1000, 1000], cv=[1, 1], cost=[1.0, 4.0]), 90)
    assert kept[0] == pytest.approx(2 * kept[1])
    assert kept @ [1, 4] == pytest.approx(90)


def test_expected_errors_are_those_of_the_sample_mean() -> None:
    rng = np.random.default_rng(7)
    values = rng.gamma(4, 1, 400)
    concept = Concept.scalar(400, float(values.mean()), float(values.var(ddof=1)))
    got = get_policy("uniform").allocate(concept, Budget(rows=40))
    means = [rng.choice(values, 40, replace=False).mean() for _ in range(4000)]
    assert np.std(means) / values.mean() == pytest.approx(got.expected_error[0], rel=0.05)
    assert got.total_error == pytest.approx(got.expected_error[0])


def test_unseen_keys_get_seven_tenths_of_the_budget_at_most() -> None:
    concept = Concept.grouped([600.0], known=False, cv=[1.0])
    scarce = get_policy("optimal").allocate(concept, Budget(rows=100, unseen_share=0.4))
    assert scarce.unseen_rate == pytest.approx(0.7 * 100 / 400)
    assert scarce.rates[0] * 600 == pytest.approx(30)
    ample = get_policy("optimal").allocate(concept, Budget(rows=100, unseen_share=0.01, slot_rows=1000))
    assert ample.unseen_rate == 1.0
    assert ample.rates[0] * 600 == pytest.approx(90)


def test_uniform_treats_unseen_keys_like_all_others() -> None:
    got = get_policy("uniform").allocate(Concept.grouped([600.0], known=False), Budget(rows=100, unseen_share=0.4))
    assert got.unseen_rate == pytest.approx(0.1)
    assert got.rates[0] == pytest.approx(0.1)


def test_known_populations_have_no_unseen_stratum() -> None:
    got = get_policy("optimal").allocate(Concept.grouped([600.0]), Budget(rows=100, unseen_share=0.4))
    assert got.unseen_rate == 1.0
    assert got.rates[0] * 600 == pytest.approx(100)


@pytest.mark.parametrize("size", [0, -1, np.nan, np.inf])
def test_a_budget_that_is_none_is_refused(size: float) -> None:
    with pytest.raises(BudgetError, match="positive"):
        Budget(rows=size)


def test_wrong_names_are_refused_with_the_right_ones() -> None:
    with pytest.raises(BudgetError, match="posterior"):
        get_policy("optimum")
    with pytest.raises(BudgetError, match="variance"):
        get_policy("optimal", goal="speed")
    with pytest.raises(BudgetError, match="support"):
        get_policy("optimal", goal="support")
    with pytest.raises(BudgetError, match="support"):
        Goal("relative", 0.1)
    with pytest.raises(BudgetError, match="unseen_share"):
        Budget(rows=1, unseen_share=1.5)
