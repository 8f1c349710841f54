"""What an answer claims of its own errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.estimates.accuracy import MEAN_OF_NORMAL, STATISTICS, WindowErrors
from shedding.risk.claims import claim, claims, effective_keys

errors = st.lists(st.floats(0, 3, allow_subnormal=False), min_size=1, max_size=60).map(np.array)


def test_the_claims_are_those_of_normal_errors() -> None:
    deviations = np.array([0.02, 0.05, 0.1, 0.1])
    found = claims(deviations * MEAN_OF_NORMAL)
    drawn = np.abs(np.random.default_rng(1).normal(0, deviations, (200_000, 4)))
    assert found.mean == pytest.approx(drawn.mean(), rel=0.01)
    assert found.p95 == pytest.approx(np.quantile(drawn, 0.95), rel=0.01)
    assert found.worst == pytest.approx(np.median(drawn.max(axis=1)), rel=0.01)


@given(errors, st.floats(0.1, 10))
def test_claims_grow_in_proportion_to_the_errors(expected: np.ndarray, times: float) -> None:
    for statistic in STATISTICS:
        assert claim(statistic, times * expected) == pytest.approx(times * claim(statistic, expected), rel=1e-6)


@given(errors, st.integers(0, 59))
def test_a_larger_error_lowers_no_claim(expected: np.ndarray, place: int) -> None:
    larger = expected.copy()
    larger[place % expected.size] += 0.5
    for statistic in STATISTICS:
        assert claim(statistic, larger) >= claim(statistic, expected) * (1 - 1e-9)


def test_a_missing_key_is_an_error_of_one_for_sure() -> None:
    assert claims(np.zeros(3), 1) == WindowErrors(0.25, pytest.approx(1.0, abs=1e-6), 1.0)
    assert np.isnan(claims(np.zeros(0)).mean)


def test_an_error_without_bound_is_an_infinite_claim() -> None:
    found = claims(np.array([0.1, np.inf]))
    assert (found.mean, found.p95, found.worst) == (np.inf, np.inf, np.inf)


@given(errors)
def test_effective_keys_are_at_most_the_keys_with_errors(expected: np.ndarray) -> None:
    found = effective_keys(expected)
    assert 0 <= found <= np.count_nonzero(expected) + 1e-9
