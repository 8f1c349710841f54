import dataclasses

import numpy as np
import pytest

from shedding.estimates.shrinkage import Calibration, History, calibrate, merge_records, shrink
from shedding.estimates.shrinkage.audit_record import _quantiles
from shedding.estimates.shrinkage.mixture import default_weights
from tests.shedding.estimates.shrinkage.world import World, exact, sampled


def record(world, factor=1.0, sizes=3):
    history = History.of(world.audits())
    rows = world.window(factor)
    sample = sampled(rows, np.minimum(world.population, sizes))
    return history, exact(rows).mean, sample, calibrate(history, exact(rows).mean, sample)


def test_an_audit_finds_the_drift_and_the_size_of_the_windows_factor():
    _, _, _, found = record(World(keys=3000, drift=0.15), factor=1.3)
    assert found.drift == pytest.approx(0.15**2, rel=0.35)
    assert found.factor2 == pytest.approx(0.3**2, rel=0.4)


def test_without_records_the_defaults_serve():
    calibration = merge_records([])
    assert calibration.drift is None
    assert calibration.quantile.tolist() == [2.55, 2.55] + [2.16] * 6
    assert np.array_equal(calibration.weights, default_weights(8))
    assert calibration.scale.tolist() == [1.0] * 8


def test_the_calibrated_deviation_tells_the_mean_relative_error_of_each_class_of_sample_size():
    world = World(keys=2000, drift=0.3)
    records = [dataclasses.replace(record(world)[3], slot=slot) for slot in range(3)]
    calibration = merge_records(records)
    history, truth, sample, _ = record(world)
    found = shrink(sample, history.prior(world.population, calibration.drift), calibration).estimate
    left = sample.count < sample.population
    told = np.sqrt(2 / np.pi) * found.deviation / np.abs(found.value)
    assert np.mean(told[left]) == pytest.approx(np.mean(np.abs(found.value / truth - 1)[left]), rel=0.1)


def test_windows_that_err_together_widen_the_next_windows_interval():
    rng = np.random.default_rng(1)
    scores = np.abs(rng.normal(0, 1, 3000))
    slots = np.repeat([0, 1, 2], 1000)
    alike = _quantiles(scores, np.full(3000, 3), slots, 0.95)
    apart = _quantiles(scores * np.array([0.5, 1.0, 1.5])[slots], np.full(3000, 3), slots, 0.95)
    assert alike[3] == pytest.approx(1.96, rel=0.08)
    assert apart[3] > 1.1 * np.quantile(scores * np.array([0.5, 1.0, 1.5])[slots], 0.95)


def test_where_keys_jump_and_hardly_vary_audits_learn_to_trust_the_sample():
    world = World(keys=800, drift=0.9, cv=0.01)
    history, _, sample, found = record(world)
    calibration = merge_records([found])
    answer = shrink(sample, history.prior(world.population, calibration.drift), calibration)
    open_keys = (sample.count < sample.population) & (sample.count > 0)
    assert answer.weight[open_keys].min() > 0.99


def test_the_order_of_the_records_does_not_matter():
    world = World()
    records = [record(world, factor)[3] for factor in (0.9, 1.0, 1.2)]
    forth, back = merge_records(records), merge_records(records[::-1])
    for field in dataclasses.fields(Calibration):
        np.testing.assert_allclose(getattr(forth, field.name), getattr(back, field.name), rtol=1e-9)


def test_keys_seen_whole_and_keys_without_rows_teach_nothing():
    world = World(keys=100)
    history, truth, sample, found = record(world, sizes=10)
    whole = sample.count >= sample.population
    changed = calibrate(history, np.where(whole, 7 * truth, truth), sample)
    np.testing.assert_array_equal(
        merge_records([found]).quantile,
        merge_records(
            [dataclasses.replace(changed, drift=found.drift, factor2=found.factor2, class2=found.class2)]
        ).quantile,
    )


def test_a_record_is_a_function_of_its_inputs_alone():
    history, mean, sample, first = record(World())
    second = calibrate(history, mean, sample)
    assert first.drift == second.drift
    assert np.array_equal(merge_records([first]).quantile, merge_records([second]).quantile)
