"""Key sets: what is counted for a query, and under which name."""

from __future__ import annotations

from typing import Any

from shedding.spec.catalog import Catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import keyset_of, keysets
from shedding.spec.query import QuerySpec

MINUTE = 60_000_000


def query(name: str, **changes: Any) -> QuerySpec:
    spec: dict[str, Any] = {
        "name": name, "dataset": "trips", "window": {"size": "30 minutes", "slide": "20 minutes"},
        "group_by": ["route"], "measures": [{"name": "fare", "agg": "avg", "column": "amount"}],
        "schedule": {"every": "1 hour"}, "shed": {"budget": {"fraction": 0.1}},
    }  # fmt: skip
    return QuerySpec.model_validate(spec | changes)


def test_a_key_set_counts_rows_and_measured_columns_per_pane() -> None:
    keyset = keyset_of(query("q", where="amount > 0"))
    assert (keyset.dataset, keyset.keys, keyset.where) == ("trips", ("route",), "amount > 0")
    assert (keyset.pane, keyset.counted) == (10 * MINUTE, ("amount",))


def test_counts_and_distinct_counts_need_no_column() -> None:
    assert keyset_of(query("q", measures=[{"name": "n", "agg": "count"}])).counted == ()


def test_equal_key_sets_share_a_name_and_different_ones_do_not() -> None:
    ids = {keyset_of(query(f"q{n}")).id for n in range(3)}
    ids |= {keyset_of(query("q", where="x")).id, keyset_of(query("q", group_by=[])).id}
    assert len(ids) == 3
    assert all("/" not in identifier for identifier in ids)


def test_a_join_counts_each_measured_column_on_the_side_that_has_it() -> None:
    joined = query("j", join={"dataset": "fares", "on": ["route"], "where": "paid"})
    assert keyset_of(joined, "left", ["route", "amount"]).counted == ("amount",)
    assert keyset_of(joined, "right", ["route", "amount"]).counted == ()
    assert keyset_of(joined, "right", ["route"]).counted == ("amount",)
    assert keyset_of(joined, "right", ["route"]).where == "paid"


def test_both_sides_of_a_join_have_their_keys_in_one_order_however_it_lists_them() -> None:
    joined = query("j", group_by=["route", "day"], join={"dataset": "fares", "on": ["day", "route"]})
    assert {keyset_of(joined, side, ["amount"]).keys for side in ("left", "right")} == {("route", "day")}


def test_each_dataset_of_a_join_gets_its_own_key_set_and_equal_ones_are_shared() -> None:
    joined = query("j", join={"dataset": "fares", "on": ["route"], "where": "paid"})
    trips = DatasetSpec.model_validate({
        "name": "trips", "source": {"kind": "csv", "path": "*.csv"}, "event_time": {"column": "at"},
        "schedule": {"every": "1 hour"},
        "columns": [{"name": "at", "type": "timestamp"}, {"name": "route"}, {"name": "amount", "type": "double"}],
    })  # fmt: skip
    queries = {"j": joined, "q": query("q"), "same": query("same")}
    catalog = Catalog(datasets={"trips": trips}, queries=queries, problems=())
    assert len(keysets(catalog, "trips")) == 1
    assert [keyset.dataset for keyset in keysets(catalog, "fares")] == ["fares"]
