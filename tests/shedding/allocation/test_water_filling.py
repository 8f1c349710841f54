"""The optimum for reciprocal errors: the papers' numbers, optimality against SciPy, both methods alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from shedding.allocation.water_filling import bounded_rates, ideal_ratios, optimal_rates
from shedding.errors import BudgetError
from tests.oracles.coefficients import count_relative, count_variance

LAWS = settings(max_examples=120, deadline=None, derandomize=True)
Floats = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


def total_error(b: Floats, v: Floats, rates: Floats) -> float:
    return float(np.sum(b * v * (1 / rates - 1)))


def random_problem(seed: int, keys: int | None = None) -> tuple[Floats, Floats, Floats, float, Floats]:
    rng = np.random.default_rng(seed)
    size = keys or int(rng.integers(2, 9))
    b, v, c = rng.lognormal(0, 1.5, size), rng.uniform(0.2, 3, size), rng.lognormal(0, 1, size)
    lower = np.where(rng.random(size) < 0.4, rng.uniform(0, 0.3, size), 0.0)
    capacity = float(rng.uniform(0.35, 0.95) * c.sum())
    return b, v, c, capacity, lower


# Example 1: W = 24 transactions, capacity L = 30, frequencies 1 and 4.
FREQUENCY, ONES, CAPACITY = np.array([1.0, 4.0]), np.ones(2), 30 / 24


def test_example_1_uniform_and_proportional_err_by_3_and_optimal_by_2_2() -> None:
    b = count_variance(FREQUENCY)
    uniform = bounded_rates(np.ones(2), ONES, CAPACITY)
    proportional = bounded_rates(FREQUENCY / ONES, ONES, CAPACITY)
    optimal = optimal_rates(b, ONES, ONES, CAPACITY)
    np.testing.assert_allclose(uniform, [15 / 24, 15 / 24])
    np.testing.assert_allclose(proportional, [6 / 24, 24 / 24])
    np.testing.assert_allclose(optimal, [10 / 24, 20 / 24])
    assert [total_error(b, ONES, r) for r in (uniform, proportional, optimal)] == pytest.approx([3.0, 3.0, 2.2])


def test_lemma_4_for_counts_under_relative_error_the_optimum_is_uniform() -> None:
    frequency = np.array([1.0, 10.0, 500.0, 3.0])
    rates = optimal_rates(count_relative(frequency), 1.0, np.ones(4), 1.2)
    np.testing.assert_allclose(rates, 0.3)


@LAWS
@given(seeds, st.integers(1, 40))
def test_eq_14_equals_eq_15_and_eq_16_is_attained_in_critical_settings(seed: int, keys: int) -> None:
    rng = np.random.default_rng(seed)
    f = rng.integers(1, 1000, keys).astype(float)
    window = 10_000.0
    # Small enough that neither proportional nor optimal rates reach 1 (Definition 2).
    limit = window * 0.99 * min(f.sum() / f.max(), np.sqrt(f).sum() / np.sqrt(f.max()))
    uniform = bounded_rates(np.ones(keys), np.ones(keys), limit / window)
    proportional = bounded_rates(f, np.ones(keys), limit / window)
    optimal = optimal_rates(count_variance(f), 1.0, np.ones(keys), limit / window, method="linear")
    eq14 = keys * window / limit * f.sum() - f.sum()
    eq16 = window / limit * np.sqrt(f).sum() ** 2 - f.sum()
    assert total_error(f, np.ones(keys), uniform) == pytest.approx(eq14, rel=1e-9, abs=1e-6)
    assert total_error(f, np.ones(keys), proportional) == pytest.approx(eq14, rel=1e-9, abs=1e-6)
    assert total_error(f, np.ones(keys), optimal) == pytest.approx(eq16, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("block", range(10))
def test_twenty_random_problems_are_solved_as_by_scipy(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        b, v, c, capacity, lower = random_problem(seed)
        lower *= min(1.0, 0.9 * capacity / max(float(np.sum(lower * c)), 1e-9))
        ours = optimal_rates(b, v, c, capacity, lower)
        theirs = scipy_rates(b, v, c, capacity, lower)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert total_error(b, v, ours) <= total_error(b, v, theirs) * (1 + 1e-9) + 1e-12


def scipy_rates(b: Floats, v: Floats, c: Floats, capacity: float, lower: Floats) -> Floats:
    """Interior start, exact gradients, polished from its own solution; the problem is scaled to mean 1."""
    scale = float(np.mean(b * v))

    def goal(r: Floats) -> float:
        return float(np.sum(b * v / r)) / scale

    def slope(r: Floats) -> Floats:
        return np.asarray(-b * v / np.square(r) / scale)

    budget = {"type": "ineq", "fun": lambda r: (capacity - c @ r) / capacity, "jac": lambda r: -c / capacity}
    bounds = [(max(1e-4, low), 1.0) for low in lower]
    rates = np.clip(np.full(b.size, 0.5 * capacity / c.sum()), np.maximum(lower, 1e-4), 1.0)
    for _ in range(4):
        found = minimize(
            goal,
            rates,
            jac=slope,
            bounds=bounds,
            constraints=[budget],
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        rates = np.clip(found.x, np.maximum(lower, 1e-4), 1.0)
    return rates


@LAWS
@given(seeds, st.floats(0.01, 1.5))
def test_the_budget_is_spent_and_the_bounds_are_kept(seed: int, part: float) -> None:
    b, v, c, _, lower = random_problem(seed)
    capacity = part * float(c.sum())
    rates = optimal_rates(b, v, c, capacity, lower)
    assert np.all((rates >= lower) & (rates <= 1))
    assert float(rates @ c) == pytest.approx(max(min(capacity, float(c.sum())), float(lower @ c)), rel=1e-9)


@LAWS
@given(seeds, st.floats(0.05, 0.95))
def test_no_exchange_between_two_keys_lowers_the_error(seed: int, part: float) -> None:
    b, v, c, _, lower = random_problem(seed)
    rates = optimal_rates(b, v, c, part * float(c.sum()), lower)
    if float(lower @ c) > part * float(c.sum()):
        return
    worth = b * v / (np.square(rates) * c)  # what one more unit of cost would save
    may_rise, may_fall = rates < 1 - 1e-12, rates > lower + 1e-12
    assert np.max(worth[may_rise], initial=0.0) <= np.min(worth[may_fall], initial=np.inf) * (1 + 1e-9)


@LAWS
@given(seeds, st.integers(1, 200), st.floats(0.001, 0.99))
def test_the_linear_and_the_sorting_form_agree(seed: int, keys: int, part: float) -> None:
    b, v, c, _, _ = random_problem(seed, keys)
    capacity = part * float(c.sum())
    sorting = optimal_rates(b, v, c, capacity, method="sorting")
    np.testing.assert_allclose(optimal_rates(b, v, c, capacity), sorting, rtol=1e-10)
    ideal = ideal_ratios(b, v, c)
    if capacity * ideal.max() <= float(np.sum(ideal * c)):  # Definition 2
        np.testing.assert_allclose(optimal_rates(b, v, c, capacity, method="linear"), sorting, rtol=1e-10)
    else:
        with pytest.raises(BudgetError, match="not critical"):
            optimal_rates(b, v, c, capacity, method="linear")


@LAWS
@given(seeds, st.floats(0.01, 1.2), st.floats(0.01, 1.2))
def test_more_budget_never_lowers_a_rate(seed: int, one: float, other: float) -> None:
    b, v, c, _, lower = random_problem(seed)
    small, large = (optimal_rates(b, v, c, part * float(c.sum()), lower) for part in sorted((one, other)))
    assert np.all(small <= large * (1 + 1e-12))


def test_problems_larger_than_one_chunk_are_solved_whole() -> None:
    b, v, c, capacity, lower = random_problem(5, 100_003)
    for bound in (0.0, lower):
        rates = optimal_rates(b, v, c, capacity, bound)
        assert float(rates @ c) == pytest.approx(capacity, rel=1e-12)
        assert rates.max() == 1.0
        assert rates.min() > 0.0


def test_the_inputs_are_not_changed() -> None:
    b, v, c, capacity, lower = random_problem(3)
    before = [x.copy() for x in (b, v, c, lower)]
    optimal_rates(b, v, c, capacity, lower)
    assert all(np.array_equal(x, y) for x, y in zip((b, v, c, lower), before, strict=True))


def test_a_key_without_error_gets_only_its_lower_bound() -> None:
    assert optimal_rates([0.0, 1.0], [1, 1], [1, 1], 0.5).tolist() == [0.0, 0.5]
    assert optimal_rates([0.0, 1.0], [1, 1], [1, 1], 1.5, [0.1, 0.0]).tolist() == [0.1, 1.0]
    assert optimal_rates([0.0, 0.0], [1, 1], [1, 1], 1.5).tolist() == [0.0, 0.0]


def test_no_keys_need_no_rates() -> None:
    assert optimal_rates([], [], [], 1.0).size == 0


def test_infinite_coefficients_are_refused() -> None:
    with pytest.raises(BudgetError, match="finite"):
        optimal_rates([np.inf, 1.0], [1, 1], [1, 1], 1.0)
    with pytest.raises(BudgetError, match="finite"):
        optimal_rates([np.nan, 1.0], [1, 1], [1, 1], 1.0)
