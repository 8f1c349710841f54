"""One sure row: thresholds on u that keep the rows meant, never none where one was."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.sure_row import certain_thresholds
from shedding.policies import get_policy


@pytest.mark.parametrize("rows", [0.3, 0.9, 1.0, 1.5, 4.0, 11.0, 12.0])
def test_the_rows_kept_are_those_meant_on_average_and_at_least_one_where_one_was_meant(rows):
    u = np.random.default_rng(5).random((20_000, 12))
    size = np.full(len(u), 12.0)
    kept = (u < certain_thresholds(np.full(len(u), rows), size, u.min(axis=1))[:, None]).sum(axis=1)
    assert kept.mean() == pytest.approx(rows, abs=4 * kept.std() / np.sqrt(len(u)) + 1e-12)
    assert kept.min() >= (1 if rows >= 1 else 0)
    assert rows > 1 or kept.max() == 1


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.floats(1e-6, 1e6),
    st.floats(1.0, 1e3),
    st.integers(1, 10**6),
    st.floats(0, 1, exclude_max=True, allow_subnormal=False),
)
def test_more_rows_never_lower_a_threshold(rows, factor, size, least):
    few, many = certain_thresholds(
        np.array([min(rows, size), min(rows * factor, size)]), np.full(2, float(size)), np.full(2, least)
    )
    assert 0 < few <= many * (1 + 1e-12) <= 1 + 1e-12


def test_a_sure_row_leaves_the_sample_mean_unbiased():
    rng = np.random.default_rng(6)
    u, value = rng.random((40_000, 6)), np.array([1.0, 2.0, 3.0, 5.0, 8.0, 20.0])
    thresholds = certain_thresholds(np.full(len(u), 1.7), np.full(len(u), 6.0), u.min(axis=1))
    kept = u < thresholds[:, None]
    means = (kept * value).sum(axis=1) / kept.sum(axis=1)
    assert means.mean() == pytest.approx(value.mean(), abs=4 * means.std() / np.sqrt(len(u)))


@pytest.mark.parametrize("name", ["proportional", "cod", "optimal", "k_optimal", "posterior"])
def test_no_key_that_was_given_a_row_is_missed_within_the_budget(name):
    rng = np.random.default_rng(7)
    u = [rng.random(n) for n in rng.integers(5, 400, 300)]
    concept = Concept.grouped([x.size for x in u], cv=rng.lognormal(-1, 0.5, 300), least_u=[x.min() for x in u])
    blind = Concept.grouped(concept.population, cv=concept.cv)
    budget = Budget(rows=900)
    meant = get_policy(name).allocate(blind, budget).rates * concept.population
    got = get_policy(name).allocate(concept, budget)
    kept = np.array([np.sum(x < rate) for x, rate in zip(u, got.rates, strict=True)])
    assert got.expected_rows == pytest.approx(900)
    assert np.all(kept[meant >= 1 + 1e-9] >= 1)
    assert abs(kept.sum() - 900) < 4 * np.sqrt(900)
