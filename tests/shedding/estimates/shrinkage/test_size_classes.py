import numpy as np
import pytest

from shedding.estimates.shrinkage.size_classes import class_means, size_class


def test_classes_are_the_powers_of_two_up_to_128():
    population = np.array([1, 1.9, 2, 3, 4, 7, 8, 64, 127, 128, 1e9])
    assert size_class(population).tolist() == [0, 0, 1, 1, 2, 2, 3, 6, 6, 7, 7]


def test_a_big_class_has_its_own_mean_and_an_empty_one_the_overall_mean():
    population = np.repeat([1.0, 200.0], 1000)
    mean = np.repeat([10.0, 20.0], 1000)
    means = class_means(population, mean)
    assert means[0] == pytest.approx(10, rel=0.01)
    assert means[7] == pytest.approx(20, rel=0.01)
    assert means[3] == pytest.approx(15)


def test_one_wild_key_does_not_move_its_class():
    population, mean = np.full(1000, 4.0), np.full(1000, 10.0)
    mean[0] = 1e9
    assert class_means(population, mean)[2] == pytest.approx(10)


def test_keys_without_rows_do_not_count():
    assert class_means(np.array([0.0, 4.0]), np.array([1e9, 5.0]))[2] == pytest.approx(5)
    assert class_means(np.zeros(3), np.ones(3)).tolist() == [0.0] * 8
