import dataclasses

import numpy as np
import pytest

from shedding.shrinkage import AuditRecord, Calibration, History, calibrate, merge_records, shrink
from shedding.shrinkage.calibration import KAPPAS
from tests.shedding.shrinkage.world import World, exact, sampled


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
    assert calibration.kappa.tolist() == [1.0] * 8


def test_the_merged_quantile_is_the_scores_own_where_there_are_many():
    scores = np.abs(np.random.default_rng(1).normal(0, 2, 20_000))
    classes = np.repeat([2, 3], 10_000)
    found = merge_records([AuditRecord(0.1, 0.1, 0.1, classes, np.tile(scores, (6, 1)), np.tile(scores, (6, 1)))])
    assert found.quantile[2] == pytest.approx(3.92, rel=0.05)
    assert found.quantile[7] == pytest.approx(3.92, rel=0.05)  # no key of its own: that of all


def test_kappa_is_one_unless_another_was_clearly_better():
    errors = np.tile(np.array([[0.99], [1], [1], [1], [1], [1.0]]), (1, 100))
    classes = np.full(100, 4)
    same = merge_records([AuditRecord(0.1, 0.1, 0.1, classes, errors, errors)])
    assert same.kappa[4] == 1
    errors[0] = 0.9
    better = merge_records([AuditRecord(0.1, 0.1, 0.1, classes, errors, errors)])
    assert better.kappa[4] == KAPPAS[0]


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
    *_, found = record(world, sizes=10)
    assert found.classes.size == np.count_nonzero(world.population > 10)
    assert found.scores.shape == (6, found.classes.size)
    assert np.isfinite(found.scores).all()


def test_a_record_is_a_function_of_its_inputs_alone():
    history, mean, sample, first = record(World())
    second = calibrate(history, mean, sample)
    assert first.drift == second.drift
    assert np.array_equal(first.scores, second.scores)
