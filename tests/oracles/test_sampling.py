"""Laws of the three ways to keep rows: nested, independent of the order of rows, as many as promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.errors import DataError
from tests.oracles.sampling import budget_mask, fixed_size_mask, hash_uniform, threshold_mask

LAWS = settings(max_examples=80, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
rates = st.floats(0.001, 1.0)


@LAWS
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_u_is_the_upper_53_bits_of_the_hash(hashes: list[int]) -> None:
    expected = [((h % 2**64) >> 11) / 2**53 for h in hashes]
    got = hash_uniform(hashes)
    assert got.tolist() == expected
    assert np.all((got >= 0) & (got < 1))


@LAWS
@given(seeds, rates, rates)
def test_threshold_samples_are_nested(seed: int, one: float, other: float) -> None:
    u = np.random.default_rng(seed).random(200)
    small, large = threshold_mask(u, min(one, other)), threshold_mask(u, max(one, other))
    assert np.all(large[small])


@LAWS
@given(seeds, st.integers(0, 8), st.integers(0, 8))
def test_fixed_size_samples_are_nested_and_of_the_promised_size(seed: int, one: int, other: int) -> None:
    rng = np.random.default_rng(seed)
    u, key = rng.random(60), rng.integers(0, 6, 60)
    small, large = (fixed_size_mask(u, key, np.full(6, n)) for n in sorted((one, other)))
    assert np.all(large[small])
    count = np.bincount(key, minlength=6)
    assert np.bincount(key[large], minlength=6).tolist() == np.minimum(count, max(one, other)).tolist()
    for k in range(6):
        kept, shed = u[(key == k) & large], u[(key == k) & ~large]
        assert not kept.size or not shed.size or kept.max() < shed.min()


@LAWS
@given(seeds, st.integers(0, 120), st.integers(0, 120))
def test_budgeted_samples_are_nested_and_meet_the_budget(seed: int, one: int, other: int) -> None:
    rng = np.random.default_rng(seed)
    u, rate = rng.random(100), rng.uniform(0.01, 1, 100)
    small, large = (budget_mask(u, rate, n) for n in sorted((one, other)))
    assert np.all(large[small])
    assert large.sum() == min(100, max(one, other))


@LAWS
@given(seeds)
def test_no_sample_depends_on_the_order_of_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, key, order = rng.random(50).round(1), rng.integers(0, 4, 50), rng.permutation(50)  # rounded: with ties
    sizes, rate = np.array([1, 3, 0, 9]), np.array([0.1, 0.5, 0.9, 1.0])[key]
    assert np.array_equal(fixed_size_mask(u, key, sizes)[order], fixed_size_mask(u[order], key[order], sizes))
    assert np.array_equal(budget_mask(u, rate, 20)[order], budget_mask(u[order], rate[order], 20))
    assert np.array_equal(threshold_mask(u, rate)[order], threshold_mask(u[order], rate[order]))


def test_rate_one_keeps_every_row_and_rate_zero_none() -> None:
    u = hash_uniform([0, -1, 2**63 - 1])
    assert threshold_mask(u, 1.0).all()
    assert not threshold_mask(u, 0.0).any()


def test_thresholds_keep_the_share_they_promise() -> None:
    u = np.random.default_rng(1).random(100_000)
    assert threshold_mask(u, 0.05).mean() == pytest.approx(0.05, abs=0.003)


def test_contradictory_arguments_are_refused() -> None:
    with pytest.raises(DataError, match="one key for each row"):
        fixed_size_mask([0.1], [0, 1], [1, 1])
    with pytest.raises(DataError, match="indexes"):
        fixed_size_mask([0.1], [3], [1])
    with pytest.raises(DataError, match="positive"):
        budget_mask([0.1, 0.2], [0.0, 1.0], 1)
