"""The calendar of dropped windows: p and B hold, and the fate of a window depends on nothing but its number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.dropping.calendar import Calendar
from shedding.dropping.rules import BLOCKS, cycle, largest_drop
from shedding.errors import SpecError

MILLION = np.arange(1_000_000)
BATCHES = range(1, 13)


def longest_run(dropped: npt.NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], dropped.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def standard_error(calendar: Calendar, windows: int) -> float:
    """Of the dropped share: blocks fall independently, each `batch` windows."""
    q, blocks = calendar.block_chance, windows / cycle(calendar.batch) * BLOCKS
    return calendar.batch * float(np.sqrt(blocks * q * (1 - q))) / windows


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("part", [0.3, 0.7, 1.0])
def test_a_million_windows_keep_share_and_batch(batch: int, part: float) -> None:
    calendar = Calendar(part * largest_drop(batch), batch, f"million/{batch}/{part}")
    dropped = ~calendar.kept(MILLION)
    assert longest_run(dropped) == batch
    around = 3 * standard_error(calendar, len(MILLION)) + cycle(batch) / len(MILLION)
    assert abs(dropped.mean() - calendar.drop) <= around


@pytest.mark.parametrize("batch", [1, 2, 5, 23])
def test_no_hour_of_the_day_is_favoured(batch: int) -> None:
    drop = 0.8 * largest_drop(batch)
    windows = np.arange(24 * 40_000)
    dropped = ~Calendar(drop, batch, "hours").kept(windows)
    share = dropped.reshape(-1, 24).mean(axis=0)
    assert np.abs(share - drop).max() < 0.03


@pytest.mark.parametrize("batch", [1, 2, 5, 23])
def test_without_the_wandering_sure_window_some_hour_would_never_be_dropped(batch: int) -> None:
    windows = np.arange(24 * 4_000)
    kept = windows % (batch + 1) == 0  # the sure window of blocks that tile a day
    assert kept.reshape(-1, 24).all(axis=0).any()


@given(
    st.integers(1, 12), st.floats(0, 1), st.floats(0, 1), st.lists(st.integers(-(10**9), 10**9), min_size=1), st.data()
)
@settings(max_examples=60, deadline=None)
def test_a_larger_share_drops_the_same_and_more(
    batch: int, one: float, other: float, windows: list[int], data: st.DataObject
) -> None:
    less, more = (Calendar(part * largest_drop(batch), batch, "nested") for part in sorted((one, other)))
    assert not (less.kept(windows) < more.kept(windows)).any()
    shuffled = data.draw(st.permutations(windows))
    alone = {window: bool(more.kept([window])[0]) for window in windows}
    assert [alone[window] for window in shuffled] == more.kept(shuffled).tolist()


def test_chunks_change_nothing() -> None:
    calendar = Calendar(0.4, 2, "chunks")
    whole = calendar.kept(np.arange(-5000, 5000))
    parts = [calendar.kept(part) for part in np.array_split(np.arange(-5000, 5000), 7)]
    assert (np.concatenate(parts) == whole).all()


def test_no_drop_keeps_every_window_and_salts_differ() -> None:
    assert Calendar(0.0, 3, "a").kept(np.arange(10_000)).all()
    assert (Calendar(0.5, 3, "a").kept(MILLION[:999]) != Calendar(0.5, 3, "b").kept(MILLION[:999])).any()


def test_the_fate_of_windows_is_the_same_for_ever() -> None:
    told = "".join("k" if keep else "-" for keep in Calendar(0.4, 2, "taxi").kept(np.arange(60)))
    assert told == EVER


def test_starts_are_windows_by_number() -> None:
    calendar = Calendar(0.5, 2, "starts")
    starts = np.arange(0, 6000, 60)
    assert calendar.kept_starts(60, starts).tolist() == starts[calendar.kept(np.arange(100))].tolist()


def test_a_share_above_the_limit_of_its_batch_is_refused_with_the_batch_that_allows_it() -> None:
    with pytest.raises(SpecError, match=r"batch 1 allows at most 0\.496, 0\.6 is more; .* batch: 2"):
        Calendar(0.6, 1, "much")


EVER = "kkkkkkk--k--k--k--k--k--k--k--k--k--k--kkkkkkk--kkkkkkk--kkk"
