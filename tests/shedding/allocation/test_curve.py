"""Every curve keeps the laws that allocation and limits rest on: it never rises, ends at 0, and is inverted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.allocation.concept import Concept
from shedding.allocation.goal import Goal

every_curve = pytest.mark.parametrize(
    "goal", [Goal("relative"), Goal("variance"), Goal("support", 0.05), Goal("posterior")], ids=lambda goal: goal.name
)
LAWS = settings(max_examples=40, deadline=None, derandomize=True)


def concept(seed: int) -> Concept:
    rng = np.random.default_rng(seed)
    keys = int(rng.integers(1, 30))
    return Concept.grouped(
        np.ceil(rng.lognormal(3, 1.5, keys)),
        cv=rng.lognormal(-1, 1, (keys, 2)),
        scale=rng.lognormal(0, 1, (keys, 2)),
        prior_variance=rng.lognormal(-4, 1, (keys, 2)),
    )


@every_curve
@LAWS
@given(seed=st.integers(0, 2**32 - 1))
def test_more_rows_never_err_more_and_all_rows_not_at_all(goal: Goal, seed: int) -> None:
    known = concept(seed)
    curve = goal.curve(known)
    n = known.population[:, None] * np.linspace(0.01, 1, 30)
    errors = curve.errors(np.arange(len(known)), n)
    assert np.all(np.diff(errors, axis=1) <= 1e-9)
    np.testing.assert_allclose(errors[:, -1], 0, atol=1e-9)


@pytest.mark.slow
@every_curve
@LAWS
@given(seed=st.integers(0, 2**32 - 1), limit=st.floats(0.001, 2))
def test_the_rows_for_a_limit_meet_it_and_fewer_do_not(goal: Goal, seed: int, limit: float) -> None:
    known = concept(seed)
    curve = goal.curve(known)
    keys, rows = np.arange(len(known)), curve.rows_for(limit)
    assert np.all((rows >= 0) & (rows <= known.population))
    assert np.all(curve.errors(keys, rows[:, None])[:, 0] <= limit * (1 + 1e-6))
    asked = rows > 1e-6
    assert np.all(curve.errors(keys, 0.99 * rows[:, None])[asked, 0] > limit * (1 - 1e-9))


@every_curve
def test_a_limit_of_nothing_takes_all_rows_and_a_generous_one_of_the_posterior_none(goal: Goal) -> None:
    known = concept(3)
    np.testing.assert_allclose(goal.curve(known).rows_for(0.0), known.population)
    assert goal.name != "posterior" or np.all(goal.curve(known).rows_for(1e6) == 0)


@every_curve
def test_rates_and_rows_tell_the_same_error(goal: Goal) -> None:
    known = concept(4)
    curve, rates = goal.curve(known), np.linspace(0.1, 1, len(known))
    by_rows = curve.errors(np.arange(len(known)), (rates * known.population)[:, None])[:, 0]
    np.testing.assert_allclose(curve.at_rates(rates), by_rows, rtol=1e-9, atol=1e-9)
