"""Counts at arrival, read back: summed over the visible sources, with each key's least u."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from shedding.config import Settings
from shedding.ingest.arrivals import HOUR, Arrivals, Source
from shedding.ingest.key_counts import add_counts, read_counts, replace_counts
from shedding.spec.keyset import KeySet
from shedding.stretches import Stretches

KEYS = KeySet("cabs", ("route",), None, HOUR, ("fare",))
HOURLY = {0: 6}


def counts(source: str, route: list[str], rows: list[int], least: list[float] | None) -> pa.Table:
    columns = {"route": route, "pane_start": [0] * len(route), "_source": [source] * len(route), "rows": rows}
    columns |= {"rows_fare": rows, "event_date": ["1970-01-01"] * len(route)}
    return pa.table(columns | ({} if least is None else {"least_u": least}))


def seen(*visible: str, hidden: frozenset[str] = frozenset()) -> Arrivals:
    made = [Source(name, name, name, 1, hours=HOURLY, concepts=frozenset({KEYS.id})) for name in visible]
    return Arrivals(tuple(made), hidden)


def read(settings: Settings, arrivals: Arrivals) -> list[tuple[str, int, float]]:
    found = read_counts(settings, KEYS, Stretches.of((0, HOUR)), arrivals)
    return list(zip(*(found[name].to_pylist() for name in ("route", "rows", "least_u")), strict=True))


def test_rows_are_summed_and_the_least_u_is_the_smallest_of_the_visible_sources(settings: Settings) -> None:
    add_counts(settings, KEYS, counts("one", ["a", "b"], [1, 2], [0.5, 0.25]))
    add_counts(settings, KEYS, counts("two", ["a"], [3], [0.125]))
    add_counts(settings, KEYS, counts("dead", ["a", "b"], [9, 9], [0.0, 0.0]))

    assert read(settings, seen("one", "two", hidden=frozenset({"dead"}))) == [("a", 4, 0.125), ("b", 2, 0.25)]


def test_a_key_counted_before_the_least_u_was_kept_has_an_unknown_one(settings: Settings) -> None:
    add_counts(settings, KEYS, counts("old", ["a", "b"], [1, 1], None))
    assert all(math.isnan(least) for _, _, least in read(settings, seen("old")))

    add_counts(settings, KEYS, counts("new", ["a", "c"], [1, 1], [0.5, 0.75]))
    (_, _, first), (_, _, second), third = read(settings, seen("old", "new"))
    assert math.isnan(first)
    assert math.isnan(second)
    assert third == ("c", 1, 0.75)

    replace_counts(settings, KEYS, counts("old", ["a", "b"], [1, 1], [0.25, 0.5]), ["old"])
    assert read(settings, seen("old", "new")) == [("a", 2, 0.25), ("b", 1, 0.5), ("c", 1, 0.75)]


@pytest.mark.parametrize("name", ["route", "pane_start", "rows", "rows_fare", "least_u"])
def test_no_counts_still_have_every_column(settings: Settings, name: str) -> None:
    assert read_counts(settings, KEYS, Stretches.of((0, HOUR)), seen()).column(name).to_pylist() == []
