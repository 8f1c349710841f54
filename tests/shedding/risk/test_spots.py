"""Which keys are checked, and what they tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shedding.risk import inclusion, spot_check, spot_keys

rows = st.lists(st.integers(0, 500).map(float), min_size=1, max_size=200).map(np.array)


@given(rows, st.floats(0, 300), st.integers(0, 1000))
def test_the_checked_keys_have_rows_and_stay_within_the_budget(rows: np.ndarray, budget: float, slot: int) -> None:
    likely = inclusion(rows, np.full(rows.size, np.nan))
    chosen = spot_keys(rows, likely, budget, f"query/{slot}")
    assert rows[chosen].sum() <= budget
    assert (rows[chosen] > 0).all()
    assert np.array_equal(chosen, spot_keys(rows, likely, budget, f"query/{slot}"))


def test_over_many_slots_every_key_is_checked_and_cheap_ones_more_often() -> None:
    rows = np.array([1.0] * 50 + [16.0] * 50)
    likely = inclusion(rows, np.full(100, 0.2))
    times = sum(spot_keys(rows, likely, 100, f"query/{slot}").astype(int) for slot in range(400))
    assert times.min() > 0
    assert times[:50].mean() > 3 * times[50:].mean()
    assert times[:50].std() < 0.25 * times[:50].mean()


def test_no_key_is_out_of_reach_of_a_check() -> None:
    likely = inclusion(np.array([5.0, 5.0, 5.0, 0.2]), np.array([0.0, 0.3, np.nan, np.inf]))
    assert (likely > 0).all()
    assert np.isfinite(likely).all()


def test_the_check_measures_how_wrong_the_claims_of_all_keys_are() -> None:
    rng = np.random.default_rng(1)
    rows = np.floor(rng.lognormal(2, 1.2, 3000)) + 1
    expected = 0.3 / np.sqrt(rows)
    wrong = np.where(rows > 8, 3.0, 1.0)  # big keys moved, small ones did not
    found = []
    for slot in range(60):
        errors = np.abs(rng.normal(0, wrong * expected * np.sqrt(np.pi / 2)))
        likely = inclusion(rows, expected)
        chosen = spot_keys(rows, likely, 0.02 * rows.sum(), str(slot))
        check = spot_check(likely[chosen], expected[chosen], errors[chosen])
        assert check is not None
        found.append(check.ratio)
    assert np.mean(found) == pytest.approx((wrong * expected).sum() / expected.sum(), rel=0.1)


def test_keys_that_could_not_be_wrong_tell_nothing() -> None:
    assert spot_check(np.array([3.0]), np.array([0.0]), np.array([0.0])) is None
    assert spot_check(np.zeros(0), np.zeros(0), np.zeros(0)) is None
