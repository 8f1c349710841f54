"""The profile's figures against direct counts, and its laws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.compare.profile import Profile, Spread, late_rows, profile
from shedding.errors import DataError
from shedding.ingest.arrivals import HOUR, Arrivals, Source

few = settings(max_examples=60, deadline=None, derandomize=True)
Events = list[tuple[int, str | None]]
events = st.lists(
    st.tuples(st.integers(-3, 6), st.sampled_from(["a", "b", "c", "d", "e", None])), min_size=1, max_size=60
)
WIDTH = 10


def counts_of(rows: Events, reverse: bool = False) -> pa.Table:
    """What one scan would find: events are (number of the window, key)."""
    found = list(Counter(rows).items())
    lines = [
        {"window_start": window * WIDTH, "key": key, "rows": n}
        for (window, key), n in (found[::-1] if reverse else found)
    ]
    schema = pa.schema([("window_start", pa.int64()), ("key", pa.string()), ("rows", pa.int64())])
    return pa.Table.from_pylist(lines, schema=schema)


def comparable(found: Profile) -> Any:
    windows = [getattr(found.windows, name).tolist() for name in found.windows.__slots__]
    return windows, found.ranked.tolist(), found.drift, found.outlooks


@few
@given(events)
def test_every_window_is_counted_as_by_hand(rows: Events) -> None:
    found = profile(counts_of(rows), ["key"], WIDTH)
    by_window = {window: Counter(k for w, k in rows if w == window) for window in sorted({w for w, _ in rows})}
    assert found.windows.start.tolist() == [window * WIDTH for window in by_window]
    assert found.windows.rows.tolist() == [c.total() for c in by_window.values()]
    assert found.windows.keys.tolist() == [len(c) for c in by_window.values()]
    assert found.windows.once.tolist() == [list(c.values()).count(1) for c in by_window.values()]
    assert found.windows.top_1.tolist() == [max(c.values()) for c in by_window.values()]


@few
@given(events)
def test_the_whole_is_counted_as_by_hand(rows: Events) -> None:
    found = profile(counts_of(rows), ["key"], WIDTH)
    overall = Counter(key for _, key in rows)
    assert found.rows == len(rows)
    assert found.ranked.tolist() == sorted(overall.values(), reverse=True)
    assert found.once == list(overall.values()).count(1)
    assert found.top_share(1) == max(overall.values()) / len(rows)
    assert found.top_share(10) == 1.0
    assert found.floor_overall == len(set(rows)) / len(rows)


@few
@given(events)
def test_the_order_of_the_counts_does_not_matter(rows: Events) -> None:
    one, other = counts_of(rows), counts_of(rows, reverse=True)
    assert comparable(profile(one, ["key"], WIDTH)) == comparable(profile(other, ["key"], WIDTH))


@few
@given(events)
def test_drift_is_between_windows_without_a_gap(rows: Events) -> None:
    numbers = {window for window, _ in rows}
    found = profile(counts_of(rows), ["key"], WIDTH)
    assert len(found.drift) == sum(number + 1 in numbers for number in numbers)


def test_drift_is_that_of_neighbours() -> None:
    same = profile(counts_of([(0, "a"), (0, "b"), (1, "a"), (1, "b")]), ["key"], WIDTH).drift
    other = profile(counts_of([(0, "a"), (1, "b")]), ["key"], WIDTH).drift
    assert [(d.overlap, d.distance) for d in same + other] == [(1.0, 0.0), (0.0, 1.0)]


@few
@given(events, st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_more_budget_never_shows_fewer_keys_and_uniform_never_beats_the_best(
    rows: Events, one: float, other: float
) -> None:
    low, high = profile(counts_of(rows), ["key"], WIDTH, sorted([one, other])).outlooks
    assert low.short >= high.short
    assert low.best <= high.best + 1e-12
    assert low.uniform <= high.uniform + 1e-12
    for outlook in (low, high):
        assert 0 < outlook.uniform <= outlook.best + 1e-12 <= 1 + 1e-12
        assert (outlook.best == 1) == (outlook.short == 0)


def test_a_budget_of_exactly_the_floor_is_enough() -> None:
    rows: Events = [(0, str(key)) for key in range(29)] + [(0, "0")] * 71
    enough, short = profile(counts_of(rows), ["key"], WIDTH, [0.29, 0.28]).outlooks
    assert (enough.short, enough.best) == (0.0, 1.0)
    assert (short.short, short.best) == (1.0, pytest.approx(28 / 29))


def test_uniform_sampling_shows_a_key_unless_it_misses_all_its_rows() -> None:
    outlook = profile(counts_of([(0, "a"), (0, "b"), (0, "b")]), ["key"], WIDTH, [0.2]).outlooks[0]
    assert outlook.uniform == pytest.approx((0.2 + (1 - 0.8**2)) / 2, rel=1e-14)


def test_the_top_ten_are_ten() -> None:
    rows: Events = [(window, str(key)) for window in (0, 1) for key in range(15) for _ in range(key + 1)]
    found = profile(counts_of(rows), ["key"], WIDTH)
    assert found.windows.top_10.tolist() == [sum(range(6, 16))] * 2
    assert found.top_share(10) == sum(range(6, 16)) / sum(range(1, 16))


def test_without_keys_every_window_has_one() -> None:
    counts = pa.table({"window_start": [0, 10, 30], "rows": [5, 6, 7]})
    found = profile(counts, [], WIDTH)
    assert (found.keys, found.windows.keys.tolist(), len(found.drift)) == (1, [1, 1, 1], 1)


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="ingest some first"):
        profile(counts_of([]), ["key"], WIDTH)


def test_the_spread_of_nothing_is_nothing() -> None:
    assert Spread.of([]) is None
    assert Spread.of([3, 1, 2, 9]) == Spread(1.0, 2.5, 9.0)


def arrival(seq: int, hours: dict[int, int]) -> Source:
    name = f"{seq}-{min(hours)}"
    return Source(
        name,
        name,
        name,
        seq,
        hours={hour * HOUR: n for hour, n in hours.items()},
        reached=(max(hours) + 1) * HOUR - 1,
    )


def test_rows_are_late_for_earlier_commits_only() -> None:
    first, late = arrival(1, {10: 5}), arrival(2, {7: 3, 8: 4, 10: 1})
    assert late_rows(Arrivals(visible=(late, first)), 2 * HOUR) == 3
    assert late_rows(Arrivals(visible=(late, first)), HOUR) == 7
    assert late_rows(Arrivals(visible=(late, first)), 3 * HOUR) == 0
    assert late_rows(Arrivals(visible=(arrival(1, {7: 3}), arrival(1, {10: 5}))), HOUR) == 0


@few
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.dictionaries(st.integers(0, 9), st.integers(1, 9), min_size=1)), max_size=6
    ),
    st.integers(0, 5),
)
def test_late_rows_are_those_that_ingest_counted(log: list[tuple[int, dict[int, int]]], allowed: int) -> None:
    sources = [arrival(seq, hours) for seq, hours in log]
    wanted = 0
    for seq, hours in log:
        newest = max((s.reached for s in sources if s.seq < seq and s.reached is not None), default=None)
        if newest is not None:
            wanted += sum(n for hour, n in hours.items() if (hour + 1) * HOUR <= newest - allowed * HOUR)
    assert late_rows(Arrivals(visible=tuple(sources)), allowed * HOUR) == wanted
