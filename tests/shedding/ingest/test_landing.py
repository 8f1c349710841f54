"""Files as they lie there: known by content, refused with a remedy."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shedding.config import Settings
from shedding.errors import SourceError
from shedding.ingest.landing import inspect, landed_files
from shedding.spec.dataset import DatasetSpec


def dataset(**source: object) -> DatasetSpec:
    return DatasetSpec.model_validate({
        "name": "d", "source": {"kind": "csv", "path": "**/*.csv*"} | source, "schedule": {"every": "1 hour"},
        "event_time": {"column": "t"}, "columns": [{"name": "t", "type": "timestamp"}, {"name": "x", "source": "X"}],
    })  # fmt: skip


def put(settings: Settings, name: str, content: bytes) -> Path:
    path = settings.landing / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_unfinished_and_hidden_files_are_left_alone(settings: Settings) -> None:
    for name in ("b.csv", "sub/a.csv", ".c.csv", "_d.csv", "e.csv.part", "f.txt"):
        put(settings, name, b"t,X\n")
    assert [path.name for path in landed_files(settings, dataset())] == ["b.csv", "a.csv"]


def test_content_not_name_tells_files_apart(settings: Settings) -> None:
    first = inspect(settings, dataset(), put(settings, "sub/a.csv", b"t,X\n1,2\n"))
    second = inspect(settings, dataset(), put(settings, "b.csv", b"t,X\n1,2\n"))
    third = inspect(settings, dataset(), put(settings, "c.csv", b"t,X\n1,3\n"))
    assert first.name == "sub/a.csv"
    assert first.content == second.content != third.content


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"\n\n", "holds no line"),
        ("a.csv", b"t,X\n\x00\x01", "is binary"),
        ("a.csv", b"t,Y\n1,2\n", "lacks the declared column X; it has Y, t"),
        ("a.csv", b"\xff\xfet,X\n", "line 1 is not UTF-8"),
        ("a.csv", b"t" * 200_000, "line 1 is no header .*; fix the file"),
        ("a.csv", gzip.compress(b"t,X\n", mtime=0), "is gzip, against its ending"),
        ("a.csv.bz2", b"t,X\n", "ends in .bz2, and of compressed texts gzip is read; deliver it as .gz or plain"),
        ("a.csv.gz", b"t,X\n", "is not gzip, against its ending"),
        ("a.csv.gz", gzip.compress(b"t,X\n" * 1000, mtime=0)[:-9], "cut short or damaged"),
    ],
)
def test_a_file_that_is_not_what_it_claims_is_refused(
    settings: Settings, name: str, content: bytes, message: str
) -> None:
    with pytest.raises(SourceError, match=message):
        inspect(settings, dataset(), put(settings, name, content))


def test_a_header_may_start_with_a_byte_order_mark_and_name_more_columns(settings: Settings) -> None:
    found = inspect(settings, dataset(), put(settings, "a.csv", b"\xef\xbb\xbfX,more,t\n"))
    assert found.layout == ("X", "more", "t")


@pytest.mark.slow
def test_a_header_of_thousands_of_columns_is_read_whole(settings: Settings) -> None:
    names = [f"column_number_{n}" for n in range(9000)]
    for name, pack in (("a.csv", bytes), ("a.csv.gz", gzip.compress)):
        path = put(settings, name, pack((",".join(["t", *names, "X"]) + "\n1\n").encode()))
        assert inspect(settings, dataset(), path).layout == ("t", *names, "X")


def test_a_column_may_have_a_colon_in_its_name(settings: Settings) -> None:
    columns = [{"name": "t", "type": "timestamp"}, {"name": "x", "source": "X:one"}, {"name": "y", "source": "X:two"}]
    text, stored = (
        DatasetSpec.model_validate(dataset(**source).model_dump() | {"columns": columns})
        for source in ({}, {"kind": "parquet", "path": "*.parquet"})
    )
    assert inspect(settings, text, put(settings, "a.csv", b"t,X:one,X:two\n")).layout == ("t", "X:one", "X:two")
    pq.write_table(pa.table({"t": [1], "X:one": ["a"], "X:two": ["b"]}), settings.landing / "a.parquet")
    assert len(inspect(settings, stored, settings.landing / "a.parquet").layout) == 3


def test_a_name_that_is_no_text_is_refused_in_text(settings: Settings) -> None:
    path = put(settings, os.fsdecode(b"caf\xe9.csv"), b"t,X\n")
    with pytest.raises(SourceError, match=r"caf.* has a name that is no UTF-8 text; rename it") as refusal:
        inspect(settings, dataset(), path)
    str(refusal.value).encode()


def test_parquet_is_known_by_its_schema_and_refused_when_cut_or_short_of_a_column(settings: Settings) -> None:
    spec = dataset(kind="parquet", path="*.parquet")
    path = settings.landing / "a.parquet"
    pq.write_table(pa.table({"t": [1], "X": ["a"], "z": [1.5]}), path)
    assert inspect(settings, spec, path).layout == ("t\nint64", "X\nstring", "z\ndouble")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SourceError, match="no Parquet file or is cut short"):
        inspect(settings, spec, path)
    pq.write_table(pa.table({"t": [1]}), path)
    with pytest.raises(SourceError, match="lacks the declared column X"):
        inspect(settings, spec, path)


def test_a_missing_file_is_named(settings: Settings) -> None:
    with pytest.raises(SourceError, match=r"none\.csv does not exist"):
        inspect(settings, dataset(), settings.landing / "none.csv")
