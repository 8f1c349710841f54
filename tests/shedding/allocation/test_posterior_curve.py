"""The posterior allocation: its curve, its hulls, and that no exchange of rows improves it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.curve import Curve
from shedding.allocation.hull import hull_rows
from shedding.allocation.posterior_curve import PosteriorCurve, posterior_error
from shedding.policies import get_policy
from shedding.policies.posterior import RESERVE

LAWS = settings(max_examples=60, deadline=None, derandomize=True)


def one(n: float, population: float, spread: float, prior: float) -> float:
    return float(posterior_error(np.array([n]), np.array([population]), np.array([spread]), np.array([prior]))[0])


def test_the_curve_has_the_stated_ends() -> None:
    assert one(0, 10, 0.5, 0.04) == pytest.approx(np.sqrt(0.04 + 0.25 / 10))
    assert one(10, 10, 0.5, 0.04) == 0.0
    assert one(4, 10, 0.5, 0.04) == pytest.approx(0.6 * np.sqrt(0.04 * 0.0625 / 0.1025 + 0.25 / 6))


@LAWS
@given(st.integers(1, 5000), st.floats(0.01, 5), st.floats(0, 1))
def test_more_rows_never_raise_the_error(population: int, spread: float, prior: float) -> None:
    n = np.unique(np.linspace(0, population, 50))
    errors = posterior_error(n, np.full_like(n, population), np.full_like(n, spread), np.full_like(n, prior))
    assert np.all(np.diff(errors) <= 1e-12)


def test_the_curve_is_the_error_of_shrunk_estimates() -> None:
    """Simulated: key means drift by P around history, n of N rows are seen, the rest is predicted."""
    rng = np.random.default_rng(8)
    population, n, spread, prior, repeats = 40, 6, 0.5, 0.03, 40_000
    truth = 1 + rng.normal(0, np.sqrt(prior), repeats)
    rows = truth[:, None] + rng.normal(0, spread, (repeats, population))
    seen = rows[:, :n].mean(axis=1)
    weight = prior / (prior + spread**2 / n)
    estimate = n / population * seen + (1 - n / population) * (weight * seen + (1 - weight) * 1.0)
    error = np.sqrt(np.mean((estimate - rows.mean(axis=1)) ** 2))
    assert error == pytest.approx(one(n, population, spread, prior), rel=0.02)


def test_every_key_has_a_tenth_of_the_uniform_rate() -> None:
    rng = np.random.default_rng(2)
    concept = Concept.grouped(
        rng.integers(1, 500, 300), cv=rng.lognormal(-1, 1, 300), prior_variance=np.full(300, 1e-9)
    )
    rows = 0.05 * concept.population.sum()
    got = get_policy("posterior").allocate(concept, Budget(rows=rows))
    assert got.rates.min() >= RESERVE * 0.05 * (1 - 1e-9)


def test_it_beats_every_other_policy_under_its_own_error() -> None:
    rng = np.random.default_rng(3)
    concept = Concept.grouped(
        np.ceil(rng.lognormal(2, 1.5, 2000)), cv=rng.lognormal(-1, 1, 2000), prior_variance=rng.lognormal(-4, 1, 2000)
    )
    curve = PosteriorCurve.of(concept)
    for part in (0.02, 0.05, 0.1, 0.3):
        budget = Budget(rows=part * float(concept.population.sum()))
        best = get_policy("posterior").allocate(concept, budget)
        assert best.total_error == pytest.approx(curve.at_rates(best.rates).mean())
        for other in ("uniform", "proportional", "cod", "optimal"):
            assert best.total_error < curve.at_rates(get_policy(other).allocate(concept, budget).rates).mean()


@LAWS
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.9))
def test_greedy_steps_match_the_best_integer_allocation(seed: int, part: float) -> None:
    """Against dynamic programming over whole rows, on the grid of small keys, where every n up to 4 is on it."""
    rng = np.random.default_rng(seed)
    population = rng.integers(1, 5, 6).astype(float)
    error = [np.sort(rng.random(int(n) + 1))[::-1] for n in population]

    class Listed(Curve):
        def errors(self, keys: np.ndarray, n: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            return np.array([error[k][row.astype(int)] for k, row in zip(keys, n, strict=True)])

        def total(self, weight: np.ndarray, errors: np.ndarray) -> float:  # type: ignore[type-arg]
            return float(errors.sum())

    capacity = max(1, int(part * population.sum()))
    rows = hull_rows(Concept.grouped(population).strata, Listed(), capacity, np.zeros(6))
    assert rows.sum() == pytest.approx(capacity)
    best = np.full(capacity + 1, np.inf)
    best[0] = 0.0
    for curve_of_key in error:
        best = np.array(
            [min(best[b - n] + e for n, e in enumerate(curve_of_key) if n <= b) for b in range(capacity + 1)]
        )
    hull = sum(_hull_at(curve_of_key, n) for curve_of_key, n in zip(error, rows, strict=True))
    assert hull <= best.min() + 1e-9  # the hulls' optimum bounds the integer one from below ...
    whole = np.isclose(rows, rows.round(), atol=1e-9)
    spoiled = np.sum(~whole)
    assert spoiled <= 1  # ... and only the key at the margin is cut (random curves have no ties)


def _hull_at(errors: np.ndarray, n: float) -> float:  # type: ignore[type-arg]
    """Lower convex hull at n, by trying all pairs of points."""
    best = np.interp(n, np.arange(errors.size), errors)
    for i in range(errors.size):
        for j in range(i, errors.size):
            if i <= n <= j and j > i:
                best = min(best, errors[i] + (errors[j] - errors[i]) * (n - i) / (j - i))
    return float(best)


def test_exhausting_a_small_key_is_worth_more_than_a_dent_in_a_large_one() -> None:
    concept = Concept.grouped([2.0, 10_000.0], cv=[1.0, 1.0], prior_variance=[0.5, 0.001])
    got = get_policy("posterior").allocate(concept, Budget(rows=20))
    assert got.rates[0] == 1.0
