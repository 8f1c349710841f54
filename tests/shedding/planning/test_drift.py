"""Laws of drift: in [0, 1], symmetric, zero for the same concept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.planning.drift import Drift, distance, grouped_drift, overlap, top_difference, top_keys

LAWS = settings(max_examples=100, deadline=None, derandomize=True)
concepts = st.dictionaries(st.integers(0, 12), st.integers(1, 1000), max_size=10)


def arrays(concept: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return np.array(list(concept), dtype=np.int64), np.array(list(concept.values()), dtype=np.float64)


@LAWS
@given(concepts, concepts)
def test_overlap_and_distance_are_symmetric_shares(a: dict[int, int], b: dict[int, int]) -> None:
    forth, back = grouped_drift(*arrays(a), *arrays(b)), grouped_drift(*arrays(b), *arrays(a))
    assert forth.overlap == back.overlap
    assert forth.distance == pytest.approx(back.distance, abs=1e-12)
    assert 0 <= forth.overlap <= 1
    assert 0 <= forth.distance <= 1


@LAWS
@given(concepts, concepts)
def test_distance_is_half_the_moved_share(a: dict[int, int], b: dict[int, int]) -> None:
    if a and b:
        p = {k: v / sum(a.values()) for k, v in a.items()}
        q = {k: v / sum(b.values()) for k, v in b.items()}
        moved = sum(abs(p.get(k, 0) - q.get(k, 0)) for k in a | b) / 2
        assert distance(*arrays(a), *arrays(b)) == pytest.approx(moved, abs=1e-12)


@LAWS
@given(concepts, st.integers(1, 50))
def test_a_concept_is_at_no_distance_from_a_larger_copy_of_itself(a: dict[int, int], times: int) -> None:
    keys, rows = arrays(a)
    got = grouped_drift(keys, rows, keys[::-1], rows[::-1] * times)
    assert got.overlap == 1
    assert got.distance == pytest.approx(0, abs=1e-12)


def test_disjoint_concepts_are_as_far_apart_as_can_be() -> None:
    assert grouped_drift(np.array([1]), [5], np.array([2]), [5]) == Drift(overlap=0.0, distance=1.0)


def test_an_empty_concept_is_far_from_any_other() -> None:
    empty = np.array([], dtype=np.int64)
    assert distance(empty, [], np.array([1]), [3]) == 1.0
    assert distance(empty, [], empty, []) == 0.0
    assert overlap(empty, empty) == 1.0


def test_the_top_is_ordered_by_value_then_key_and_skips_nan() -> None:
    keys = np.array(["d", "a", "c", "b"])
    assert top_keys(keys, [2.0, 2.0, np.nan, 9.0], 3).tolist() == ["b", "a", "d"]


def test_top_difference_is_the_replaced_share_as_in_figure_2() -> None:
    before, after = np.arange(10), np.arange(5, 15)
    assert top_difference(before, np.ones(10), after, np.ones(10), 10) == 0.5
    assert top_difference(before, np.ones(10), before, np.ones(10), 10) == 0
    assert top_difference(before, np.ones(10), np.array([], dtype=int), [], 10) == 1
