"""Laws of stretches: they are sets of instants, whatever intervals they were made of."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.stretches import Interval, Stretches

LAWS = settings(max_examples=200, deadline=None, derandomize=True)
LEAST, MOST = -20, 40
instants = st.integers(LEAST, MOST)
intervals = st.lists(st.tuples(instants, instants), max_size=8)
stretches = intervals.map(lambda found: Stretches.of(*found))


def ticks(of: Stretches) -> set[int]:
    return {tick for start, end in of for tick in range(start, end)}


@LAWS
@given(intervals)
def test_an_instant_lies_in_stretches_iff_it_lies_in_an_interval_they_were_made_of(found: list[Interval]) -> None:
    assert ticks(Stretches.of(*found)) == {tick for start, end in found for tick in range(start, end)}


@LAWS
@given(stretches)
def test_parts_are_sorted_not_empty_and_apart(one: Stretches) -> None:
    assert all(start < end for start, end in one)
    assert all(before[1] < after[0] for before, after in pairwise(one))


@LAWS
@given(stretches, stretches)
def test_sets_are_equal_iff_values_and_digests_are(one: Stretches, other: Stretches) -> None:
    same = ticks(one) == ticks(other)
    assert (one == other) is same
    assert (one.digest == other.digest) is same


@LAWS
@given(stretches, stretches)
def test_union_minus_and_within_are_those_of_sets(one: Stretches, other: Stretches) -> None:
    for found, expected in (
        (Stretches.union([one, other]), ticks(one) | ticks(other)),
        (one.minus(other), ticks(one) - ticks(other)),
        (one.within(other), ticks(one) & ticks(other)),
    ):
        assert ticks(found) == expected
        assert found == Stretches.of(*found.parts), "the parts are normal"
    assert one.covers(other) is (ticks(other) <= ticks(one))


@LAWS
@given(stretches, stretches)
def test_total_adds_up(one: Stretches, other: Stretches) -> None:
    assert one.total == len(ticks(one))
    assert one.total + other.total == Stretches.union([one, other]).total + one.within(other).total
    assert one.minus(other).total == one.total - one.within(other).total


@LAWS
@given(stretches, st.integers(1, 7))
def test_widened_stretches_are_the_whole_multiples_that_they_touch(one: Stretches, width: int) -> None:
    assert ticks(one.widened(width)) == {
        tick for place in {tick // width for tick in ticks(one)} for tick in range(place * width, (place + 1) * width)
    }


@LAWS
@given(stretches)
def test_an_array_of_instants_is_asked_at_once(one: Stretches) -> None:
    asked = np.arange(LEAST - 1, MOST + 2)
    assert [int(tick) for tick in asked[one.hold(asked)]] == sorted(ticks(one))


@LAWS
@given(stretches)
def test_a_text_gives_the_same_stretches_back(one: Stretches) -> None:
    assert Stretches.of_text(one.text) == one


@LAWS
@given(stretches, st.integers(1, 7))
def test_multiples_tile_the_widened_stretches(one: Stretches, width: int) -> None:
    assert one.multiples(width) == sorted({tick - tick % width for tick in ticks(one)})


@LAWS
@given(stretches, st.integers(1, 4))
def test_coarser_stretches_are_few_and_close_the_smallest_gaps_alone(one: Stretches, most: int) -> None:
    coarse = one.coarser(most)
    assert coarse.covers(one)
    assert len(coarse.parts) == min(most, len(one.parts))
    assert {coarse.start, coarse.end} == {one.start, one.end} if one else not coarse
    closed = [end - start for start, end in coarse.minus(one)]
    left = [after[0] - before[1] for before, after in pairwise(coarse)]
    assert max(closed, default=0) <= min(left, default=MOST)


@LAWS
@given(stretches)
def test_start_and_end_are_those_of_the_set(one: Stretches) -> None:
    if not one:
        with pytest.raises(ValueError, match="neither start nor end"):
            _ = one.start
    else:
        assert (one.start, one.end) == (min(ticks(one)), max(ticks(one)) + 1)


def test_the_digest_of_a_day_is_the_same_for_ever() -> None:
    assert Stretches.of((0, 86_400_000_000)).digest == "2b619b1e93d4842886031eb2"
