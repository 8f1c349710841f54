import numpy as np
import pytest

from shedding.errors import DataError
from shedding.estimates import Strata
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import Calibration, History, calibrate, merge_records, sample_prior, shrink
from shedding.estimates.shrinkage.mixture import CANDIDATES
from tests.shedding.estimates.shrinkage.world import World, exact, sampled


def test_shrinkage_beats_both_the_sample_and_the_history():
    world = World(keys=1500, drift=0.12)
    prior = History.of(world.audits()).prior(world.population)
    rows = world.window(1.2)
    truth, sample = exact(rows).mean, sampled(rows, np.minimum(world.population, 3))
    answer = shrink(sample, prior, Calibration()).estimate
    error = np.abs(answer.value / truth - 1).mean()
    assert error < 0.8 * np.abs(sample.value / truth - 1).mean()
    assert error < 0.8 * np.abs(prior.value / truth - 1).mean()


@pytest.mark.parametrize("offset", [0.0, -50.0])
def test_calibrated_intervals_cover_95_percent_with_or_without_a_mean_near_zero(offset):
    world = World(keys=800, offset=offset)
    exacts, records = [], []
    held, rng = [], np.random.default_rng(9)
    for turn in range(9):
        rows = world.window(1 + 0.05 * rng.normal())
        truth = exact(rows)
        if turn >= 1:
            recent = exacts[-1:-4:-1]
            audits = Moments(*(np.stack([getattr(m, name) for m in recent]) for name in ("count", "mean", "m2")))
            history = History.of(audits, near_zero=offset != 0)
            sample = sampled(rows, rng.binomial(world.population.astype(int), 0.1))
            calibration = merge_records(records[-3:])
            answer = shrink(sample, history.prior(world.population, calibration.drift), calibration).estimate
            held.append(np.mean((answer.low <= truth.mean + 1e-9) & (truth.mean - 1e-9 <= answer.high)))
            records.append(calibrate(history, truth.mean, sample))
        exacts.append(truth)
    assert 0.93 <= np.mean(held[2:]) <= 0.975


@pytest.mark.parametrize("apart", [0.0, 0.8], ids=["together", "apart"])
@pytest.mark.parametrize("factor", [0.2, 1.0, 10.0])
def test_a_window_unlike_any_audit_is_still_covered_and_its_error_told(factor, apart):
    world = World(keys=400, drift=0.05)
    prior = History.of(world.audits()).prior(world.population)
    world.base *= np.exp(np.random.default_rng(3).normal(0, apart, world.keys))
    rows = world.window(factor)
    truth, sample = exact(rows).mean, sampled(rows, np.arange(world.keys) % 3)
    answer = shrink(sample, prior, Calibration(drift=0.003, factor2=0.003, class2=0.001)).estimate
    left = sample.count < sample.population
    assert np.mean((answer.low <= truth) & (truth <= answer.high), where=left) > 0.9
    told = 0.8 * answer.deviation / np.abs(answer.value)
    assert np.mean(told, where=left) > 0.5 * np.mean(np.abs(answer.value / truth - 1), where=left)


def test_a_key_seen_whole_is_exact_and_its_interval_a_point():
    world = World(keys=50)
    prior = History.of(world.audits(), near_zero=True).prior(world.population)
    rows = world.window()
    answer = shrink(sampled(rows, world.population), prior, Calibration())
    truth = np.array([np.mean(values) for values in rows])
    np.testing.assert_allclose(answer.estimate.value, truth, rtol=1e-12)
    assert np.array_equal(answer.estimate.low, answer.estimate.high)
    assert not answer.imputed.any()


def test_a_key_without_a_sampled_row_is_imputed_from_history_with_a_wide_interval():
    world = World(keys=200)
    prior = History.of(world.audits()).prior(world.population)
    sizes = np.minimum(world.population, 5)
    sizes[:20] = 0
    answer = shrink(sampled(world.window(1.3), sizes), prior, Calibration())
    assert answer.imputed[:20].all()
    assert not answer.imputed[20:].any()
    assert np.isfinite(answer.estimate.high).all()
    np.testing.assert_array_less(prior.value[:20] * 1.1, answer.estimate.value[:20])  # moved by the window's factor


def test_keys_absent_from_the_window_have_no_value():
    world = World(keys=20)
    population = world.population.copy()
    population[3] = 0
    rows = world.window()
    rows[3] = rows[3][:0]
    answer = shrink(
        sampled(rows, np.minimum(population, 2)), History.of(world.audits()).prior(population), Calibration()
    )
    assert np.isnan(answer.estimate.value[3])
    assert not answer.imputed[3]
    assert np.isfinite(np.delete(answer.estimate.value, 3)).all()


def test_a_key_that_jumped_is_not_dragged_back_once_its_sample_is_sound():
    world = World(keys=100, drift=0.02, cv=0.2)
    world.population[:] = 400
    prior = History.of(world.audits()).prior(world.population)
    rows = world.window()
    rows[0] = rows[0] * 10
    answer = shrink(sampled(rows, np.full(100, 40)), prior, Calibration()).estimate
    assert answer.value[0] == pytest.approx(rows[0].mean(), rel=0.25)


def test_with_several_rates_full_weight_on_the_sample_is_the_stratified_mean():
    strata = Strata(
        [[10.0, 40.0], [30.0, 5.0]], Moments([[5.0, 4.0], [6.0, 5.0]], [[1.0, 7.0], [3.0, 8.0]], np.ones((2, 2)))
    )
    prior = History.of(Moments(np.full((1, 2), 9.0), np.full((1, 2), 4.0), np.ones((1, 2)))).prior(np.full(2, 40.0))
    plain = np.zeros((8, len(CANDIDATES)))
    plain[:, CANDIDATES.index((True, 0.0, 1.0, 0.0))] = 1.0
    answer = shrink(strata.combine(), prior, Calibration(weights=plain))
    np.testing.assert_allclose(answer.weight, 1)
    np.testing.assert_allclose(answer.estimate.value, strata.combine().value)


def test_before_any_audit_keys_are_shrunk_to_the_samples_own_mean():
    world = World(keys=800, cv=1.0)
    rows = world.window()
    truth, sizes = exact(rows).mean, np.minimum(world.population, 2)
    sizes[:10] = 0
    sample = sampled(rows, sizes)
    answer = shrink(sample, sample_prior(sample), Calibration())
    some = sizes > 0
    assert answer.imputed[:10].all()
    assert np.isfinite(answer.estimate.value).all()
    error = (answer.estimate.value - truth)[some]
    assert np.mean(error**2) < 0.8 * np.mean((sample.value - truth)[some] ** 2)
    covered = np.mean((answer.estimate.low <= truth + 1e-9) & (truth - 1e-9 <= answer.estimate.high))
    assert covered > 0.88


def test_before_any_audit_and_without_any_row_nothing_is_known():
    sample = Strata([[5.0]], Moments.zeros((1, 1))).combine()
    answer = shrink(sample, sample_prior(sample), Calibration())
    assert np.isnan(answer.estimate.value[0])


def test_samples_and_priors_of_different_keys_are_refused():
    world = World(keys=20)
    prior = History.of(world.audits()).prior(world.population)
    with pytest.raises(DataError, match="align"):
        shrink(Strata([[5.0]], Moments.zeros((1, 1))).combine(), prior, Calibration())


def test_a_key_of_which_only_zeros_are_known_is_zero_until_a_row_says_otherwise():
    audits = Moments(np.full((2, 3), 40.0), np.array([[0.0, 5.0, 0.0]] * 2), np.array([[0.0, 9.0, 0.0]] * 2))
    prior = History.of(audits).prior(np.full(3, 40.0))
    rows = [np.zeros(40), np.full(40, 5.0), np.full(40, 3.0)]
    answer = shrink(sampled(rows, np.array([2.0, 2.0, 2.0])), prior, Calibration()).estimate
    assert answer.value[0] == 0.0
    assert answer.high[0] > 0.0
    assert answer.value[2] > 1.0
    unseen = shrink(sampled(rows, np.array([0.0, 2.0, 0.0])), prior, Calibration()).estimate
    assert unseen.value[0] == 0.0
