import numpy as np
import pytest

from tests.benchmarks.accuracy_replay import Replay, Truth
from tests.benchmarks.accuracy_streams import STREAMS, Stream, stream_of
from tests.benchmarks.bench_accuracy import BUDGETS, PAGE, replay


@pytest.fixture(scope="module")
def toy():
    rng = np.random.default_rng(1)
    key = rng.integers(0, 12, 3000)
    return Stream("toy", np.sort(rng.integers(0, 4, 3000)), key, 10.0 + key + rng.normal(0, 2, 3000))


def test_a_replay_draws_nested_samples_whose_moments_are_those_of_its_rows(toy):
    truth = Truth.of(toy)
    rows = Replay(toy, truth, seed=1)
    population = truth.exact.count[2]
    whole = rows.sample(2, population)
    np.testing.assert_allclose(whole.moments.mean[0], truth.exact.mean[2])
    np.testing.assert_allclose(whole.moments.m2[0], truth.exact.m2[2])
    few, more = (rows.below(2, np.full(12, rate)) for rate in (0.1, 0.4))
    assert np.all(few <= more)
    assert more.sum() == pytest.approx(0.4 * population.sum(), rel=0.2)


def test_the_last_three_audits_are_the_priors_newest_first(toy):
    truth = Truth.of(toy)
    assert truth.audits_before(3, 1) == [2, 1, 0]
    assert truth.audits_before(2, 1) == [1, 0]
    assert truth.audits_before(25, 10) == [20, 10, 0]


@pytest.mark.data
def test_the_recipe_is_within_a_tenth_of_its_figures_and_plain_means_are_where_they_were(data_dir):
    outcomes = replay(stream_of("green week", STREAMS["green week"](data_dir)), seed=1)

    def mean_error(variant, budget):
        return np.mean([o[3].errors.mean for o in outcomes if o[1] == budget and o[2] == variant])

    for budget, figure in zip(BUDGETS, PAGE["green week"], strict=True):
        assert mean_error("recipe", budget) < 1.1 * figure
    for budget, uniform, proportional, prior in zip(
        BUDGETS, (0.791, 0.681, 0.568), (0.407, 0.340, 0.299), (0.336, 0.148, 0.062), strict=True
    ):
        assert mean_error("uniform", budget) == pytest.approx(uniform, rel=0.05)
        assert mean_error("proportional", budget) == pytest.approx(proportional, rel=0.05)
        assert mean_error("n ~ cv", budget) == pytest.approx(prior, rel=0.1)
    for budget in BUDGETS:
        recipe = [o for o in outcomes if o[1] == budget and o[2] == "recipe"]
        assert np.mean([o[3].coverage for o in recipe]) > 0.93
        assert np.mean([o[5] for o in recipe]) == pytest.approx(budget, rel=0.05)
