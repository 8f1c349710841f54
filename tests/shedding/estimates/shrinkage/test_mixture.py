import numpy as np
import pytest

from shedding.estimates.shrinkage.mixture import CANDIDATES, DEFAULT, Blend, learnt_weights

KINDS = np.array([0, 0, 1, 1])
PLAIN = CANDIDATES.index((True, 0.0, 1.0, 0.0))


def errors_of(keys, **better):
    """Errors of 1 for each candidate and key, others where told."""
    errors = np.ones((len(CANDIDATES), keys))
    for name, value in better.items():
        errors[int(name[1:])] = value
    return errors


def test_history_that_was_wrong_at_the_audits_gives_way_to_the_plain_sample():
    weights = learnt_weights(errors_of(300, **{f"_{PLAIN}": 0.3}), np.full(300, 2), KINDS)
    assert weights[2, PLAIN] > 0.99
    assert weights[3, PLAIN] > 0.99  # a class without keys is like those of its kind
    assert weights[0, DEFAULT] == 1.0


@pytest.mark.parametrize("gain", [1e-6, 0.01, 0.02])
def test_the_mix_is_blended_not_switched(gain):
    weights = learnt_weights(errors_of(2000, **{f"_{PLAIN}": 1 - gain}), np.full(2000, 2), KINDS)[2]
    assert 1 / len(CANDIDATES) <= weights[PLAIN] < 0.05
    assert weights.sum() == pytest.approx(1)


def test_a_few_keys_hardly_move_the_mix():
    few = learnt_weights(errors_of(1, **{f"_{PLAIN}": 0.9}), np.full(1, 2), KINDS)[2]
    many = learnt_weights(errors_of(500, **{f"_{PLAIN}": 0.9}), np.full(500, 2), KINDS)[2]
    assert few[DEFAULT] == few.max()
    assert many[PLAIN] == many.max()


def test_a_candidate_that_is_rarely_but_wildly_wrong_is_not_trusted():
    errors = errors_of(100)
    errors[PLAIN] = np.where(np.arange(100) == 7, 60.0, 0.35)  # 0.95 in the mean
    assert learnt_weights(errors, np.full(100, 2), KINDS)[2, PLAIN] == 0.0


def test_uncertain_values_are_estimated_where_the_expected_relative_error_is_least():
    truth = 100 * np.exp(np.random.default_rng(1).normal(0, 0.8, 200_000))
    mean, variance = np.array([truth.mean()]), np.array([truth.var() / truth.mean() ** 2])
    nothing = np.zeros(1)
    blend = Blend(np.array([np.nan]), nothing, mean, variance, nothing, positive=True)
    weights = np.zeros((1, len(CANDIDATES)))
    weights[0, CANDIDATES.index((True, 1.0, 1.0, 1.0))] = 1.0
    value = float(blend.mixed(weights, np.zeros(1, dtype=np.int64))[0][0])
    loss = {g: np.abs(g * value / truth - 1).mean() for g in (0.8, 1.0, 1.25)}
    assert min(loss, key=loss.get) == 1.0
    signed = Blend(np.array([np.nan]), nothing, mean, variance, nothing, positive=False)
    assert signed.mixed(weights, np.zeros(1, dtype=np.int64))[0] == mean


def test_keys_are_blended_by_the_weights_of_their_class_block_by_block(monkeypatch):
    rng = np.random.default_rng(3)
    size, classes = 50, rng.integers(0, 3, 50)
    sampled = np.where(rng.random(size) < 0.3, np.nan, rng.gamma(2, 5, size))
    blend = Blend(
        sampled, rng.random(size), rng.gamma(2, 5, size), rng.random(size), rng.random(size) / 4, positive=True
    )
    weights = rng.random((3, len(CANDIDATES))) * (rng.random((3, len(CANDIDATES))) < 0.2)
    weights /= weights.sum(axis=1, keepdims=True)
    monkeypatch.setattr("shedding.estimates.shrinkage.mixture.BLOCK", 7)
    told = {i: (value, share) for i, value, share in blend.candidates()}
    value = sum(weights[classes, i] * told[i][0] for i in told)
    found = blend.mixed(weights, classes)
    np.testing.assert_array_equal(found[0], value)
    np.testing.assert_array_equal(found[1], sum(weights[classes, i] * told[i][1] for i in told))
    np.testing.assert_array_equal(found[2], sum(weights[classes, i] * (told[i][0] - value) ** 2 for i in told))
