"""The item of a row is a function of values, not of how Arrow holds them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from shedding.enrich.items import items_of


def test_equal_values_have_equal_items_in_any_table_and_order() -> None:
    moment = dt.datetime(2026, 11, 2, tzinfo=dt.UTC)
    one = pa.table({"a": pa.array([3, 1, None], pa.int32()), "t": pa.array([moment] * 3, pa.timestamp("us", "UTC"))})
    other = pa.table({
        "t": pa.array([moment.replace(tzinfo=None)] * 3, pa.timestamp("ns")), "a": pa.array([None, 1, 3], pa.int64()),
    })  # fmt: skip
    assert items_of("score", one, ["a", "t"]).tolist() == items_of("score", other, ["a", "t"])[::-1].tolist()


def test_functions_columns_and_texts_that_look_alike_have_items_of_their_own() -> None:
    rows = pa.table({"a": ["1", "2"], "b": [1, 2]})
    found = [*items_of("x", rows, ["a"]), *items_of("y", rows, ["a"]), *items_of("x", rows, ["b"]),
             *items_of("x", rows, ["a", "b"])]  # fmt: skip
    assert len(set(found)) == len(found)


def test_without_columns_all_rows_are_one_item() -> None:
    assert len(set(items_of("x", pa.table({"a": [1, 2, 3]}), []).tolist())) == 1
    assert items_of("x", pa.table({"a": pa.array([], pa.string())}), ["a"]).size == 0
