import numpy as np
import pytest

from shedding.estimates.shrinkage import History
from shedding.estimates.shrinkage.factors import window_factors
from shedding.estimates.shrinkage.window_drift import LEAST_SHARE, with_own_drift
from tests.shedding.estimates.shrinkage.world import World


def believed(apart, rows=50.0, keys=300, past=0.01):
    """The drift variance that is believed of a window whose keys moved apart by a deviation of `apart`."""
    world = World(keys=keys, drift=0.1)
    prior = History.of(world.audits()).prior(np.full(keys, 200.0), past)
    noise = np.full(keys, 0.16 / rows)
    rng = np.random.default_rng(5)
    observed = prior.mean * (1 + rng.normal(0, np.sqrt(apart**2 + noise + prior.remaining)))
    factors = window_factors(prior, observed, noise, 0.01, 0.01)
    return float(np.median(with_own_drift(prior, factors, observed, noise).variance - prior.remaining))


def test_a_window_whose_keys_moved_apart_is_believed():
    assert believed(0.8) == pytest.approx(0.64, rel=0.35)
    assert believed(0.1) == pytest.approx(0.01, rel=0.35)


def test_drift_follows_the_sample_without_a_jump():
    steps = np.array([believed(apart) for apart in np.linspace(0.1, 0.9, 33)])
    assert (np.diff(steps) > 0).all()
    assert (np.diff(steps) / steps[:-1]).max() < 0.7


def test_keys_whose_noise_hides_their_drift_leave_it_to_the_audits():
    assert believed(0.1, rows=0.05) == pytest.approx(0.01, rel=0.5)


def test_the_sample_alone_never_makes_keys_look_still():
    assert believed(0.0) >= LEAST_SHARE * 0.01 * (1 - 1e-9)


def test_without_a_sampled_key_the_prior_stays():
    world = World(keys=20)
    prior = History.of(world.audits()).prior(world.population)
    nothing = np.full(20, np.nan)
    factors = window_factors(prior, nothing, nothing, 0.01, 0.01)
    assert with_own_drift(prior, factors, nothing, nothing) is prior
