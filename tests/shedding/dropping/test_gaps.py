"""Holes between kept windows: measured, and closed by the fewest windows."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.dropping.gaps import fewest_fills, gaps_beside, longest_gap

LAWS = settings(max_examples=150, deadline=None, derandomize=True)
flags = st.lists(st.booleans(), min_size=1, max_size=11)


@LAWS
@given(flags)
def test_the_longest_run_is_beside_some_kept_window(kept: list[bool]) -> None:
    there = {place for place, is_kept in enumerate(kept) if is_kept}
    beside = gaps_beside(range(len(kept)), there)
    assert set(beside) == there
    text = "".join("k" if is_kept else "." for is_kept in kept)
    assert longest_gap(range(len(kept)), there) == max(map(len, text.split("k")))
    if there:
        assert max(beside.values()) == longest_gap(range(len(kept)), there)


@LAWS
@given(flags, st.integers(1, 4))
def test_fills_are_enough_and_as_few_as_any_that_are(kept: list[bool], batch: int) -> None:
    every = list(range(len(kept)))
    there = {place for place, is_kept in enumerate(kept) if is_kept}
    fills = fewest_fills(every, there, every, batch)
    assert longest_gap(every, there | set(fills)) <= batch
    fewer = combinations([place for place in every if place not in there], max(0, len(fills) - 1))
    assert not fills or all(longest_gap(every, there | set(some)) > batch for some in fewer)


def test_windows_of_other_slots_stay_as_they_are() -> None:
    assert fewest_fills(range(7), {0}, {4, 5}, 2) == [4]
    assert fewest_fills(range(8), {0}, {4, 5}, 2) == [4, 5]
    assert fewest_fills(range(8), {0}, set(), 2) == []
