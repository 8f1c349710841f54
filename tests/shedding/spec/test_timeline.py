"""Laws of panes, windows and slots, for any size and slide, slide > size included."""

from __future__ import annotations

from itertools import pairwise
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.spec.timeline import Timeline
from shedding.stretches import Stretches

LAWS = settings(max_examples=150, deadline=None, derandomize=True)


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    slide = draw(st.integers(1, 12))
    return Timeline(size=draw(st.integers(1, 40)), slide=slide, slot=slide * draw(st.integers(1, 6)))


slots = st.integers(-50, 50)


@LAWS
@given(timelines(), slots)
def test_each_window_belongs_to_exactly_one_slot(line: Timeline, index: int) -> None:
    start = index * line.slide
    end = start + line.size
    around = [line.slot_of(end) + i * line.slot for i in range(-3, 4)]
    owners = [slot for slot in around if (start, end) in line.windows(slot)]
    assert len(owners) == 1
    assert owners[0] < end <= owners[0] + line.slot


@LAWS
@given(timelines(), slots)
def test_a_slot_owns_as_many_windows_as_slides_fit_in_it(line: Timeline, index: int) -> None:
    windows = line.windows(index * line.slot)
    assert len(windows) == line.slot // line.slide
    assert all(end - start == line.size and start % line.slide == 0 for start, end in windows)


@LAWS
@given(timelines(), slots)
def test_panes_tile_each_window_without_gap_or_overlap(line: Timeline, index: int) -> None:
    for start, end in line.windows(index * line.slot):
        covered = [tick for pane in line.panes((start, end)) for tick in range(pane, pane + line.pane)]
        assert covered == list(range(start, end))
        assert all(line.pane_of(tick) in line.panes((start, end)) for tick in (start, end - 1))


@LAWS
@given(timelines(), slots)
def test_an_instant_is_needed_exactly_when_a_window_holds_it(line: Timeline, index: int) -> None:
    instant = index * line.pane
    starts = range((instant - line.size) // line.slide * line.slide, instant + line.slide, line.slide)
    contained = any(start <= instant < start + line.size for start in starts)
    assert bool(line.needed(instant, instant + 1)) is contained
    around = line.needed(instant - 30, instant + 30)
    assert around.hold(np.array([instant])).tolist() == [contained]


@LAWS
@given(timelines(), slots)
def test_every_pane_of_a_window_lies_in_a_needed_slot_and_is_sampled_there(line: Timeline, index: int) -> None:
    slot = index * line.slot
    needed = line.slots_needed(slot)
    assert needed[-1] == slot
    assert needed == sorted(needed)
    sampled = Stretches.union(line.slot_needed(each) for each in needed)
    assert sampled.covers(Stretches.of(*line.windows(slot)))


@LAWS
@given(timelines(), slots, st.integers(0, 200))
def test_slots_between_tile_the_stretch(line: Timeline, start: int, length: int) -> None:
    found = line.slots_between(start, start + length)
    assert all(b - a == line.slot for a, b in pairwise(found))
    for instant in range(start, start + length):
        assert line.slot_of(instant) in found


def test_the_pane_is_the_greatest_common_divisor() -> None:
    assert Timeline(size=30, slide=12, slot=24).pane == gcd(30, 12)


def test_gaps_between_windows_are_never_read() -> None:
    line = Timeline(size=2, slide=6, slot=12)
    assert line.slot_needed(0).parts == ((0, 2), (6, 8))
    assert line.windows(0) == [(0, 2), (6, 8)]


def test_hours_before_the_epoch_are_aligned_to_it_too() -> None:
    line = Timeline(size=10, slide=10, slot=10)
    assert line.slot_of(-1) == -10
    assert line.windows(-10) == [(-10, 0)]


@pytest.mark.parametrize(("size", "slide", "slot"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (4, 2, 3)])
def test_impossible_lengths_are_refused(size: int, slide: int, slot: int) -> None:
    with pytest.raises(ValueError, match=r"positive|multiple"):
        Timeline(size=size, slide=slide, slot=slot)
