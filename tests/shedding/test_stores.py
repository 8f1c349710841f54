"""What lies below a warehouse is seen wherever the warehouse lies."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from shedding.config import Settings
from shedding.stores import folders, local_path, read_bytes
from shedding.tables import Table


def test_folders_are_those_directly_below_and_looking_makes_none(anywhere: Settings) -> None:
    assert folders(anywhere.table("concepts")) == []
    for name in ("b c", "a", "d/e"):
        Table(anywhere.table("concepts", name)).append(pa.table({"x": [1]}), {})
    assert folders(anywhere.table("concepts")) == ["a", "b c", "d"]
    assert folders(anywhere.table("concepts", "d")) == ["e"]
    assert folders(anywhere.table("none")) == []
    assert folders(anywhere.warehouse) == ["concepts"]
    assert b"CREATE TABLE" in read_bytes(anywhere.table("concepts", "a"), f"_delta_log/{0:020}.json")


@pytest.mark.parametrize(
    ("uri", "path"), [("/a b", "/a b"), ("file:///a%20b", "/a b"), ("c", "c"), ("s3a://c/a", None), ("gs://c/a", None)]
)
def test_a_path_of_this_machine_is_told_from_a_bucket(uri: str, path: str | None) -> None:
    assert local_path(uri) == (None if path is None else Path(path))


def test_no_code_looks_below_the_warehouse_by_a_path() -> None:
    root = Path(__file__).resolve().parents[2]
    files = [file for folder in ("shedding", "jobs", "expectations", "dags") for file in (root / folder).rglob("*.py")]
    found = [
        f"{file.relative_to(root)}:{number}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "Path(" in line and ("warehouse" in line or ".table(" in line or "uri" in line)
    ]
    assert [place for place in found if not place.startswith("shedding/stores.py")] == []
