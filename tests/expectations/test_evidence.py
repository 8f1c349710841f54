"""Rows of two legs are put side by side by window and key, whatever values keys have."""

from __future__ import annotations

import pyarrow as pa
import pytest

from expectations.checks.unique_keys import repeated_rows
from expectations.evidence import positions
from shedding.errors import DataError

LARGE = 2**53  # from here on a double no longer tells whole numbers apart


def rows(*keys: int | None, windows: int = 1) -> pa.Table:
    starts = [start for start in range(windows) for _ in keys]
    return pa.table({"window_start": pa.array(starts, pa.timestamp("us", "UTC")), "key": list(keys) * windows})


def test_a_row_is_matched_by_window_and_key_and_a_missing_one_is_marked() -> None:
    places = positions(rows(1, None, 3, windows=2), rows(3, 1, None), ["key"])
    assert places.tolist() == [1, 2, 0, -1, -1, -1]


def test_large_whole_numbers_stay_apart_beside_a_null_key() -> None:
    keys = rows(LARGE, LARGE + 1, None)
    assert positions(keys, keys, ["key"]).tolist() == [0, 1, 2]
    assert not repeated_rows(keys, ["key"]).any()


def test_a_key_twice_in_a_window_is_marked_and_never_matched() -> None:
    twice = rows(1, None, 1, None, windows=2)
    assert repeated_rows(twice, ["key"]).tolist() == [False, False, True, True] * 2
    with pytest.raises(DataError, match="a leg holds a key twice in one window"):
        positions(twice, twice, ["key"])


def test_nothing_beside_nothing_is_nothing() -> None:
    none = rows(1).slice(0, 0)
    assert positions(none, none, ["key"]).tolist() == repeated_rows(none, ["key"]).tolist() == []
