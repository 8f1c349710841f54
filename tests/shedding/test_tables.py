from __future__ import annotations

import json
import multiprocessing
import uuid
from concurrent.futures import ProcessPoolExecutor

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from shedding.config import Settings
from shedding.errors import DataError, SchemaError
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_date, parse_instant
from shedding.tables import Table
from tests.stores import BUCKET, FORGETFUL

S3A = pytest.param("s3a", marks=pytest.mark.slow)


def rows(slot: str, *values: float) -> pa.Table:
    return pa.table({"slot": [slot] * len(values), "x": pa.array(values, pa.float64())})


@pytest.fixture
def table(anywhere: Settings) -> Table:
    return Table(anywhere.table("table"), ("slot",))


@pytest.mark.parametrize("year", [1, 999, 1582, 2024, 9999])
def test_slots_sort_by_their_names_in_every_year(year: int) -> None:
    slot = parse_instant(f"{year:04}-03-01T05:00:00Z")
    assert slot_name(slot) == f"{year:04}0301T050000Z"
    assert format_date(slot) == f"{year:04}-03-01"


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


def test_whole_numbers_go_into_an_older_table_of_doubles_as_long_as_doubles_hold_them(table: Table) -> None:
    table.replace(rows("a", 1.5), {"slot": "a"}, {})
    table.replace(pa.table({"slot": ["b"], "x": [2**53]}), {"slot": "b"}, {})
    assert sorted(table.read().column("x").to_pylist()) == [1.5, 2.0**53]
    with pytest.raises(DataError, match="column x is double and would become int64"):
        table.replace(pa.table({"slot": ["b"], "x": [2**53 + 1]}), {"slot": "b"}, {})


def test_every_commit_carries_its_metadata(table: Table) -> None:
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
@pytest.mark.parametrize("anywhere", ["directory", S3A], indirect=True)
def test_concurrent_processes_lose_and_double_nothing(table: Table) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        versions = list(pool.map(replace_in_turn, [(table.uri, n) for n in range(12)]))
    assert len(set(versions)) == 12
    by_slot: dict[str, list[float]] = {}
    for row in table.read().to_pylist():
        by_slot.setdefault(row["slot"], []).append(row["x"])
    assert sorted(by_slot) == ["s0", "s1", "s2"]
    assert all(len(pair) == 2 and pair[0] == pair[1] for pair in by_slot.values())


def stage(table: Table, folder: str, rows: pa.Table) -> None:
    """Rows as another engine leaves them: a table of their own, below the one they belong in."""
    write_deltalake(f"{table.uri}/{folder}", rows, partition_by=list(table.partition_by))


def test_what_another_engine_wrote_becomes_part_of_the_table_where_it_lies(table: Table) -> None:
    stage(table, "one", rows("a", 1.0, 2.0))
    stage(table, "two", rows("b +%/ä", 3.0).append_column("y", pa.array([7], pa.int64())))
    table.adopt("one", {"run": "r1"}, {"delta.checkpointInterval": "10"})
    table.adopt("two", {"run": "r2"})
    table.adopt("two", {"run": "r2"})  # asked again, and there once
    found = sorted(table.read().to_pylist(), key=lambda row: float(row["x"]))
    assert [(row["slot"], row["x"], row["y"]) for row in found] == [
        ("a", 1.0, None),
        ("a", 2.0, None),
        ("b +%/ä", 3.0, 7),
    ]
    files = pa.table(DeltaTable(table.uri).get_add_actions(flatten=True)).to_pylist()
    assert sorted((file["num_records"], file["max.x"]) for file in files) == [(1, 3.0), (2, 2.0)]
    assert json.loads(DeltaTable(table.uri).history(1)[0]["userMetadata"]) == {"run": "r2"}


def test_what_does_not_fit_the_table_is_refused_and_leaves_it_as_it_was(table: Table) -> None:
    table.append(rows("a", 1.0), {})
    stage(table, "texts", pa.table({"slot": ["a"], "x": ["1"]}))
    write_deltalake(f"{table.uri}/divided", rows("a", 2.0), partition_by=[])
    with pytest.raises(SchemaError, match="column x is double and would become"):
        table.adopt("texts", {})
    with pytest.raises(SchemaError, match="is partitioned by slot and the rows by"):
        table.adopt("divided", {})
    assert table.read() == rows("a", 1.0)


@pytest.mark.parametrize("anywhere", [S3A], indirect=True)
def test_a_commit_whose_answer_is_lost_is_there_once(anywhere: Settings) -> None:
    table = Table(f"s3a://{BUCKET}/{FORGETFUL}-{uuid.uuid4().hex}/table", ("slot",))
    for number in range(3):
        table.append(rows("a", number), {})
        stage(table, f"batch-{number}", rows("b", number))
        table.adopt(f"batch-{number}", {})
        table.replace(rows("c", number, number), {"slot": "c"}, {})
        table.revise(lambda count: rows("d", float(count)), {"slot": "d"}, "writes", {})
    found: dict[str, list[float]] = {}
    for row in table.read().to_pylist():
        found.setdefault(row["slot"], []).append(row["x"])
    counted = found.pop("d")
    assert {slot: sorted(values) for slot, values in found.items()} == {
        "a": [0.0, 1.0, 2.0], "b": [0.0, 1.0, 2.0], "c": [2.0, 2.0],
    }  # fmt: skip
    assert len(counted) == 1
    assert counted[0] >= 3


def adopt_in_turn(job: tuple[str, int]) -> None:
    table = Table(job[0], ("slot",))
    staged = rows(f"s{job[1] % 2}", job[1])
    if job[1] % 3 == 0:
        staged = staged.append_column(f"y{job[1] % 2}", pa.array([job[1]], pa.int64()))
    stage(table, f"batch-{job[1]}", staged)
    table.adopt(f"batch-{job[1]}", {"run": job[1]})


@pytest.mark.slow
@pytest.mark.parametrize("anywhere", [S3A], indirect=True)
def test_writers_of_one_table_in_several_processes_lose_no_commit(table: Table) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(adopt_in_turn, [(table.uri, n) for n in range(12)]))
    assert sorted(table.read().column("x").to_pylist()) == [float(n) for n in range(12)]
    assert {n for name in ("y0", "y1") for n in table.read().column(name).to_pylist()} == {None, *range(0, 12, 3)}


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
