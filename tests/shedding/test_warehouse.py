"""Tables have one home: their places, partitions and lists are said in the warehouse's module alone."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from shedding import warehouse
from shedding.config import Settings

ROOT = Path(__file__).resolve().parents[2]


def test_a_table_lies_below_the_warehouse_by_its_kind_and_owner() -> None:
    settings = Settings(warehouse="s3://lake/warehouse/")
    assert warehouse.concepts(settings, "taxi", "by_route").uri == "s3://lake/warehouse/concepts/taxi/by_route"
    assert warehouse.named(settings, "runs/fares").uri == warehouse.runs(settings, "fares").uri


@pytest.mark.parametrize("kinds", [warehouse.OF_DATASET, warehouse.OF_QUERY])
def test_no_two_kinds_of_an_owner_share_a_place(kinds: tuple[warehouse.Kind, ...]) -> None:
    assert len({kind.name for kind in kinds}) == len(kinds)


def test_every_kind_is_in_a_list() -> None:
    kinds = {name: kind for name, kind in vars(warehouse).items() if isinstance(kind, warehouse.Kind)}
    assert set(map(id, kinds.values())) == set(map(id, (*warehouse.OF_DATASET, *warehouse.OF_QUERY)))


def test_the_tables_of_an_owner_are_those_that_were_written(tmp_path: Path) -> None:
    settings = Settings(warehouse=str(tmp_path))
    rows = pa.table({"event_date": ["2026-01-01"], "slot": ["2026-01-01T00"], "leg": ["exact"]})
    for table in (warehouse.raw(settings, "taxi"), warehouse.concepts(settings, "taxi", "by_route")):
        table.append(rows, {})
    warehouse.results(settings, "fares").append(rows, {})
    assert list(warehouse.tables_of_dataset(settings, "taxi")) == ["raw/taxi", "concepts/taxi/by_route"]
    assert list(warehouse.tables_of_query(settings, "fares")) == ["results/fares"]
    assert warehouse.tables_of_dataset(settings, "fares") == {}


def test_nothing_else_joins_a_location() -> None:
    elsewhere = [
        str(file.relative_to(ROOT))
        for room in ("shedding", "jobs", "expectations", "infra", "dags")
        for file in sorted((ROOT / room).rglob("*.py"))
        if file.name != "warehouse.py" and re.search(r"settings\.table\(", file.read_text())
    ]
    assert elsewhere == []
