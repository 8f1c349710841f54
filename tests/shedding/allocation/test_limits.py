"""Error limits: keys that cannot meet theirs are omitted, and the least budget that omits none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation import Budget, Goal, allocate_subset, least_budget
from shedding.concept import Concept
from shedding.errors import BudgetError
from shedding.policies import get_policy

LAWS = settings(max_examples=60, deadline=None, derandomize=True)


def concept(seed: int) -> Concept:
    rng = np.random.default_rng(seed)
    return Concept.grouped(rng.integers(2, 400, 30), cv=rng.lognormal(-1, 1, 30), weight=rng.uniform(1, 3, 30))


@LAWS
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.9), st.floats(0.02, 0.5))
def test_every_admitted_key_meets_its_limit_within_the_budget(seed: int, part: float, limit: float) -> None:
    keys = concept(seed)
    got = allocate_subset(keys, Budget(rows=part * float(keys.full_cost.sum())), Goal(), limit)
    admitted = got.rates > 0
    assert set(np.flatnonzero(~admitted)) == set(got.omitted)
    assert np.all(got.expected_error[admitted] <= limit * (1 + 1e-6))
    assert got.exceeded_by == 0


@LAWS
@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.5))
def test_the_least_budget_omits_no_key_and_less_omits_some(seed: int, limit: float) -> None:
    keys = concept(seed)
    least = least_budget(keys, Goal(), limit)
    assert not allocate_subset(keys, Budget(rows=least), Goal(), limit).omitted
    assert allocate_subset(keys, Budget(rows=0.99 * least), Goal(), limit).omitted


@LAWS
@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.4))
def test_more_budget_never_omits_what_less_admitted(seed: int, limit: float) -> None:
    keys = concept(seed)
    small, large = (allocate_subset(keys, Budget(rows=rows), Goal(), limit).omitted for rows in (300, 450))
    assert set(large) <= set(small)


def test_omitted_keys_leave_their_budget_to_the_others() -> None:
    keys = Concept.grouped([1000.0, 1000.0], cv=[0.2, 50.0])
    plain = get_policy("optimal").allocate(keys, Budget(rows=300))
    got = allocate_subset(keys, Budget(rows=300), Goal(), 0.1)
    assert list(got.omitted) == [1]
    assert "error limit" in got.omitted[1]
    assert got.rates[0] == pytest.approx(0.3)
    assert got.expected_error[0] < plain.expected_error[0]


def test_a_limit_of_zero_gives_exact_subset_results() -> None:
    keys = Concept.grouped([10.0, 20.0, 500.0], cv=[0.5, 0.5, 0.5])
    got = allocate_subset(keys, Budget(rows=35), Goal(), 0.0)
    assert got.rates.tolist() == [1.0, 1.0, 0.0]
    assert got.total_error == 0


def test_no_limit_is_the_optimum() -> None:
    keys = concept(1)
    got = allocate_subset(keys, Budget(rows=200), Goal(), np.inf)
    np.testing.assert_allclose(got.rates, get_policy("optimal").allocate(keys, Budget(rows=200)).rates, rtol=1e-9)


def test_required_completeness_omits_nothing_and_says_what_it_costs() -> None:
    keys = concept(2)
    got = allocate_subset(keys, Budget(rows=50, completeness="required"), Goal(), 0.05)
    assert not got.omitted
    assert got.exceeded_by == pytest.approx(got.expected_cost - 50)
    assert got.exceeded_by > 0


def test_limits_without_meaning_are_refused() -> None:
    for limit in (-0.1, np.nan):
        with pytest.raises(BudgetError, match="limit"):
            allocate_subset(concept(3), Budget(rows=10), Goal(), limit)
    with pytest.raises(BudgetError, match="relative and variance"):
        least_budget(concept(3), Goal("support", 0.1), 0.1)
