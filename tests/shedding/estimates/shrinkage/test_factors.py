import numpy as np
import pytest

from shedding.estimates.shrinkage import History
from shedding.estimates.shrinkage.factors import window_factors
from tests.shedding.estimates.shrinkage.world import World, exact


def observed(factor, keys=3000):
    world = World(keys=keys, drift=0.1)
    prior = History.of(world.audits()).prior(world.population)
    rows = exact(world.window(factor))
    return prior, rows.mean, prior.spread2 / world.population


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_the_windows_common_movement_is_found(factor):
    prior, mean, noise = observed(factor)
    base = window_factors(*observed(1.0), overall2=0.1, class2=1e-6).overall
    found = window_factors(prior, mean, noise, overall2=0.1, class2=1e-6)
    assert found.overall / base == pytest.approx(factor, rel=0.03)
    assert 0 < found.overall_variance < 0.001


def test_without_an_observation_the_factors_are_one_and_as_uncertain_as_ever():
    prior, mean, noise = observed(1.0, keys=50)
    found = window_factors(prior, np.full_like(mean, np.nan), noise, overall2=0.02, class2=0.01)
    assert found.overall == 1
    assert found.overall_variance == 0.02
    assert found.by_class.tolist() == [1.0] * 8
    assert found.class_variance.tolist() == [0.01] * 8


def test_a_factor_that_was_always_small_is_shrunk():
    prior, _, noise = observed(1.0, keys=60)
    mean = 1.01 * prior.mean
    free = window_factors(prior, mean, noise, overall2=np.inf, class2=1e-9)
    tight = window_factors(prior, mean, noise, overall2=1e-5, class2=1e-9)
    assert abs(tight.overall - 1) < 0.3 * abs(free.overall - 1)


@pytest.mark.parametrize("factor", [0.1, 0.4, 2.5, 10.0])
def test_a_factor_larger_than_any_before_is_believed_once_the_keys_agree(factor):
    prior, mean, noise = observed(factor, keys=60)
    base, free = (
        window_factors(*seen, overall2=np.inf, class2=1e-4) for seen in (observed(1.0, keys=60), (prior, mean, noise))
    )
    found = window_factors(prior, mean, noise, overall2=1e-4, class2=1e-4)
    assert free.overall / base.overall == pytest.approx(factor, rel=0.05)
    assert found.overall == pytest.approx(free.overall, rel=0.1)
    assert (found.overall / free.overall - 1) ** 2 <= 9 * found.overall_variance


def test_a_few_keys_are_wild_before_the_window_has_moved():
    prior, mean, noise = observed(1.0, keys=60)
    few = np.where(np.arange(60) < 4, 10 * mean, np.nan)
    assert window_factors(prior, few, noise, overall2=1e-4, class2=1e-4).overall == pytest.approx(1, abs=0.05)


def test_a_sample_of_rare_values_that_met_none_is_no_movement():
    prior, mean, noise = observed(1.0, keys=60)
    found = window_factors(prior, np.zeros_like(mean), np.full_like(noise, 30.0), overall2=0.01, class2=0.01)
    assert found.overall == pytest.approx(1, abs=0.1)


def test_one_wild_key_does_not_move_the_window():
    prior, mean, noise = observed(1.0)
    spoiled = mean.copy()
    spoiled[0] *= 1e6
    before, after = (window_factors(prior, m, noise, overall2=0.1, class2=0.01) for m in (mean, spoiled))
    assert after.overall == pytest.approx(before.overall, abs=0.01)
