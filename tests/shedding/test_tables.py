from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from shedding.errors import DataError
from shedding.tables import Table, slot_name


def rows(slot: str, *values: float) -> pa.Table:
    return pa.table({"slot": [slot] * len(values), "x": pa.array(values, pa.float64())})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(str(tmp_path / "table"), ("slot",))


def test_replacing_a_partition_leaves_the_others_alone(table: Table) -> None:
    table.replace(rows("a", 1.0), {"slot": "a"}, {})
    table.replace(rows("b", 2.0), {"slot": "b"}, {})
    table.replace(rows("a", 3.0, 4.0), {"slot": "a"}, {})
    assert sorted(table.read().column("x").to_pylist()) == [2.0, 3.0, 4.0]


def test_replacing_with_no_rows_removes_the_stale_ones(table: Table) -> None:
    table.replace(rows("a", 1.0), {"slot": "a"}, {})
    table.replace(rows("a"), {"slot": "a"}, {})
    assert table.read().num_rows == 0


def test_a_pinned_version_does_not_see_later_commits(table: Table) -> None:
    version = table.replace(rows("a", 1.0), {"slot": "a"}, {})
    table.replace(rows("a", 2.0), {"slot": "a"}, {})
    assert table.read(version=version).column("x").to_pylist() == [1.0]


def test_a_pinned_version_whose_files_were_deleted_says_so_and_what_to_do(table: Table) -> None:
    from deltalake import DeltaTable

    version = table.replace(rows("a", 1.0), {"slot": "a"}, {})
    table.replace(rows("a", 2.0), {"slot": "a"}, {})
    DeltaTable(table.uri).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(DataError, match=f"version {version} of .* older than the dataset's retention.*again"):
        table.read(version=version)
    assert table.read().column("x").to_pylist() == [2.0]


def test_an_added_column_reads_null_in_older_rows(table: Table) -> None:
    table.replace(rows("a", 1.0), {"slot": "a"}, {})
    table.replace(rows("b", 2.0).append_column("y", pa.array([7], pa.int64())), {"slot": "b"}, {})
    assert {r["slot"]: r["y"] for r in table.read().to_pylist()} == {"a": None, "b": 7}


def test_every_commit_carries_its_metadata(table: Table) -> None:
    from deltalake import DeltaTable

    table.replace(rows("a", 1.0), {"slot": "a"}, {"run": "r1"})
    assert json.loads(DeltaTable(table.uri).history(1)[0]["userMetadata"]) == {"run": "r1"}


def test_reading_a_table_that_is_not_there_says_where_and_what_to_do(table: Table) -> None:
    assert table.version() is None
    with pytest.raises(DataError, match=r"no table at .* yet; run what fills it"):
        table.read()


def replace_in_turn(job: tuple[str, int]) -> int:
    uri, number = job
    slot = f"s{number % 3}"
    return Table(uri, ("slot",)).replace(rows(slot, number, number), {"slot": slot}, {"run": number})


@pytest.mark.slow
def test_concurrent_processes_lose_and_double_nothing(table: Table) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        versions = list(pool.map(replace_in_turn, [(table.uri, n) for n in range(12)]))
    assert len(set(versions)) == 12
    by_slot: dict[str, list[float]] = {}
    for row in table.read().to_pylist():
        by_slot.setdefault(row["slot"], []).append(row["x"])
    assert sorted(by_slot) == ["s0", "s1", "s2"]
    assert all(len(pair) == 2 and pair[0] == pair[1] for pair in by_slot.values())


@pytest.mark.parametrize(
    ("slot", "name"), [(0, "19700101T000000Z"), (3_600_000_000, "19700101T010000Z"), (1, "19700101T000000.000001Z")]
)
def test_slot_names_sort_like_slots(slot: int, name: str) -> None:
    assert slot_name(slot) == name


@pytest.mark.parametrize(
    "column", [pa.array([1.5]), pa.array(["7"]), pa.array([True])], ids=["double", "text", "truth"]
)
def test_a_column_of_another_type_is_refused_where_delta_would_cast_it(table: Table, column: pa.Array) -> None:
    before = pa.table({"slot": ["a"], "key": pa.array([7], pa.int64())})
    table.replace(before, {"slot": "a"}, {})
    with pytest.raises(DataError, match=r"column key is int64 and would become .*; change it back, or give"):
        table.replace(pa.table({"slot": ["a"], "key": column}), {"slot": "a"}, {})
    assert table.read().select(["slot", "key"]) == before
