import numpy as np
import pytest

from shedding.errors import DataError
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import History
from tests.shedding.estimates.shrinkage.world import World, exact


def test_the_prior_is_closer_to_the_next_window_than_the_last_window_or_the_overall_mean():
    world = World(drift=0.15)
    audits = world.audits()
    prior = History.of(audits).prior(world.population)
    truth = exact(world.window()).mean
    error = np.abs(prior.value / truth - 1).mean()
    assert error < 0.95 * np.abs(audits.mean[0] / truth - 1).mean()
    assert error < 0.6 * np.abs(audits.mean.mean() / truth - 1).mean()


@pytest.mark.parametrize("drift", [0.05, 0.2])
def test_the_audits_among_themselves_show_the_drift(drift):
    history = History.of(World(keys=3000, drift=drift).audits())
    assert history.drift == pytest.approx(drift**2, rel=0.35)


def test_the_relative_spread_of_rows_is_found():
    history = History.of(World(keys=2000, cv=0.3).audits())
    assert history.pooled == pytest.approx(0.09, rel=0.15)


def test_the_priors_variance_is_true():
    world = World(keys=4000, drift=0.1)
    prior = History.of(world.audits()).prior(world.population)
    rows = exact(world.window())
    noise = prior.spread2 / world.population
    score = (rows.mean / prior.mean - 1) ** 2 / (prior.variance + noise)
    assert np.mean(np.minimum(score, 9)) == pytest.approx(0.97, abs=0.12)


def test_a_key_without_history_has_the_class_mean_and_the_between_key_variance():
    audits = World().audits()
    count = audits.count.copy()
    count[:, 0] = 0
    history = History.of(Moments(count, np.where(count > 0, audits.mean, 0.0), np.where(count > 0, audits.m2, 0.0)))
    prior = history.prior(World().population)
    assert not history.seen[0]
    assert prior.variance[0] > 3 * np.median(prior.variance[1:])
    assert prior.mean[0] == pytest.approx(audits.mean.mean(), rel=0.5)
    assert np.isfinite(prior.cv).all()


def test_ratios_do_not_depend_on_the_unit_of_the_measure():
    audits = World().audits()
    other = Moments(audits.count, audits.mean * 1000, audits.m2 * 1e6)
    one, two = (History.of(a).prior(World().population) for a in (audits, other))
    np.testing.assert_allclose(two.mean, one.mean * 1000, rtol=1e-6)
    np.testing.assert_allclose(two.variance, one.variance, rtol=1e-4)
    np.testing.assert_allclose(two.cv, one.cv, rtol=1e-6)


def test_near_zero_the_prior_is_invariant_under_adding_a_constant():
    audits = World().audits()
    moved = Moments(audits.count, audits.mean - 50.0, audits.m2)
    one, two = (History.of(a, near_zero=True).prior(World().population) for a in (audits, moved))
    np.testing.assert_allclose(two.value, one.value - 50.0, atol=1.0)
    deviation = [np.sqrt(prior.variance) * prior.mean for prior in (one, two)]
    np.testing.assert_allclose(deviation[1], deviation[0], rtol=0.15)


def test_a_measure_with_a_negative_mean_is_shifted_by_itself():
    audits = World().audits()
    prior = History.of(Moments(audits.count, -audits.mean, audits.m2)).prior(World().population)
    assert prior.shift > 0
    assert np.corrcoef(prior.value, -audits.mean[0])[0, 1] > 0.8


@pytest.mark.parametrize("value", [0.0, 7.0, -3.0, 1e12])
def test_constant_values_give_a_finite_prior_at_that_value(value):
    audits = Moments(np.full((2, 9), 3.0), np.full((2, 9), value), np.zeros((2, 9)))
    prior = History.of(audits).prior(np.full(9, 3.0))
    assert prior.value == pytest.approx([value] * 9, rel=1e-6, abs=1e-6)
    assert np.isfinite(prior.variance).all()
    assert np.isfinite(prior.cv).all()


def test_older_audits_count_less():
    count, m2 = np.full((2, 50), 1000.0), np.full((2, 50), 10.0)
    mean = np.stack([np.full(50, 10.0), np.full(50, 10.0)])
    mean[0, :5] = 20.0
    near = History.of(Moments(count, mean, m2), np.array([0.0, 0.0]))
    far = History.of(Moments(count, mean, m2), np.array([0.0, 20.0]))
    assert far.ratio[0] > near.ratio[0]


def test_keys_permuted_give_the_same_priors_permuted():
    world = World()
    audits = world.audits()
    order = np.random.default_rng(5).permutation(world.keys)
    shuffled = Moments(audits.count[:, order], audits.mean[:, order], audits.m2[:, order])
    one = History.of(audits).prior(world.population)
    two = History.of(shuffled).prior(world.population[order])
    np.testing.assert_allclose(two.mean, one.mean[order], rtol=1e-6)
    np.testing.assert_allclose(two.variance, one.variance[order], rtol=1e-4)


def test_a_history_of_no_audit_is_refused():
    with pytest.raises(DataError, match="sample_prior"):
        History.of(Moments.zeros((0, 3)))


def test_ages_that_do_not_fit_the_audits_are_refused():
    with pytest.raises(DataError, match="age"):
        History.of(World().audits(), np.zeros(2))
