"""What a concept refuses, how it fills gaps, and the concept of a join."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept, JoinConcept
from shedding.errors import BudgetError
from shedding.policies import get_policy


def test_a_grouped_concept_has_defaults_for_all_but_the_rows() -> None:
    concept = Concept.grouped([5, 10])
    assert len(concept) == 2
    assert concept.known
    assert concept.full_cost.tolist() == [5, 10]
    assert np.isnan(concept.cv).all()
    assert concept.spread().tolist() == [[1.0], [1.0]]
    assert concept.uncertainty().tolist() == [[1.0], [1.0]]


def test_unknown_spread_is_the_median_infinite_the_largest_and_zero_a_hundredth_of_the_median() -> None:
    concept = Concept.grouped([1] * 6, cv=[0.1, 0.2, 0.9, np.nan, np.inf, 0.0])
    assert concept.spread()[:, 0].tolist() == pytest.approx([0.1, 0.2, 0.9, 0.2, 0.9, 0.002])


def test_each_measure_is_filled_from_its_own_column() -> None:
    concept = Concept.grouped([1, 1], cv=[[0.1, np.nan], [np.nan, 0.5]])
    assert concept.spread().tolist() == [[0.1, 0.5], [0.1, 0.5]]


def test_a_scalar_concept_is_one_key_with_the_relative_spread() -> None:
    concept = Concept.scalar(100, mean=-4.0, variance=4.0)
    assert concept.cv.tolist() == [[0.5]]
    assert concept.scale.tolist() == [[4.0]]
    assert np.isinf(Concept.scalar(100, mean=0.0, variance=1.0).cv[0, 0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"population": [1, 0]}, "population of key 1"),
        ({"population": [np.nan, 1]}, "population of key 0"),
        ({"population": [np.inf, 1]}, "population of key 0"),
        ({"population": [1, 1], "weight": [-1, 1]}, "weight of key 0"),
        ({"population": [1, 1], "weight": [0, 0]}, "0 for every key"),
        ({"population": [1, 1], "cost": [1, np.inf]}, "cost of key 1"),
        ({"population": [1, 1], "cv": [1, -1]}, "negative"),
        ({"population": [1, 1], "cv": [1, 1, 1]}, "shape"),
        ({"population": [1, 1], "cv": [[1, 1], [1, 1]], "scale": [1, 1]}, "scale has shape"),
        ({"population": [1, 1], "least_u": [0.5, 1.0]}, "least_u"),
    ],
)
def test_contradictions_are_refused_with_the_key_and_the_remedy(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BudgetError, match=message):
        Concept.grouped(**wrong)


def test_a_join_keeps_only_the_keys_of_both_sides_and_rates_each_side() -> None:
    join = JoinConcept.of(["c", "a", "b"], [1000, 10, 400], ["b", "d", "c"], [30, 7, 20])
    assert join.keys.tolist() == ["b", "c"]
    rows = join.left.population, join.right.population
    assert [side.tolist() for side in rows] == [[400, 1000], [30, 20]]
    got = get_policy("optimal").allocate(join.concept(), Budget(rows=60))
    left, right = join.sides(got.rates)
    assert left.size == right.size == 2
    # Relative error of the number of joined rows: an equal number of rows from each side and key.
    np.testing.assert_allclose(np.concatenate([left * rows[0], right * rows[1]]), 15, rtol=1e-12)


def test_the_join_size_varies_as_its_strata_say() -> None:
    rng = np.random.default_rng(1)
    left, right, p, q = 400, 300, 0.3, 0.4
    sizes = rng.binomial(left, p, 40_000) / p * rng.binomial(right, q, 40_000) / q
    first_order = (1 / p - 1) / left + (1 / q - 1) / right
    assert np.var(sizes / (left * right)) == pytest.approx(first_order, rel=0.05)


def test_sides_without_a_common_key_join_nothing() -> None:
    join = JoinConcept.of([1], [5], [2], [5])
    got = get_policy("uniform").allocate(join.concept(), Budget(rows=3))
    assert [side.size for side in join.sides(got.rates)] == [0, 0]


def test_a_concept_made_without_the_smallest_u_does_not_know_it() -> None:
    column = np.ones((2, 1))
    concept = Concept(np.array([3.0, 4.0]), True, column, column, column, np.ones(2), np.ones(2))
    assert np.isnan(concept.least_u).tolist() == [True, True]
