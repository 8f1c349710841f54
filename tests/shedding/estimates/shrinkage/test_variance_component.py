import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.estimates.shrinkage.variance_component import variance_component


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.floats(1e-5, 10), st.floats(0.1, 10), st.integers(0, 1000))
def test_the_component_of_normal_errors_is_found(component, noise, seed):
    rng = np.random.default_rng(seed)
    known = component * noise * rng.uniform(0.5, 1.5, 20_000)
    errors = rng.normal(0, np.sqrt(component + known))
    assert variance_component(errors**2, known) == pytest.approx(component, rel=0.15 + 0.05 * noise)


def test_a_few_wild_keys_hardly_move_it():
    errors = np.random.default_rng(1).normal(0, 0.3, 5000)
    clean = variance_component(errors**2, np.full(5000, 0.01))
    errors[:50] = 1e6
    spoiled = variance_component(errors**2, np.full(5000, 0.01))
    assert clean < spoiled < 1.3 * clean


def test_errors_that_the_known_part_explains_leave_nothing():
    errors = np.random.default_rng(2).normal(0, 0.1, 1000)
    assert variance_component(errors**2, np.full(1000, 0.02)) == 0


def test_too_few_errors_tell_nothing():
    assert variance_component(np.ones(4), np.ones(4)) is None
    assert variance_component(np.array([np.nan] * 10), np.ones(10)) is None


def test_it_scales_with_the_squares_of_the_errors():
    errors = np.random.default_rng(3).normal(0, 1, 2000) ** 2
    known = np.full(2000, 0.2)
    assert variance_component(errors / 1e4, known / 1e4) == pytest.approx(
        variance_component(errors, known) / 1e4, rel=1e-5
    )
