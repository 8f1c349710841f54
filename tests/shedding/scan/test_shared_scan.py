"""One pass for several queries finds for each what a scan of its own does, bit by bit."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from shedding.keys import Keys, align
from shedding.rates import Rates
from shedding.scan.ask import Ask
from shedding.spec.timeline import Timeline
from tests.shedding.scan.scanned_rows import MEASURES, TIMELINE, raw_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def ask_of(
    rows: Any, keys: tuple[str, ...], timeline: Timeline, where: str | None, rate: float, known: bool = True
) -> Ask:
    """An ask with one leg of rates that rise from key to key, and one that is half of it."""
    if keys:
        table = rows.select(*keys).distinct().toArrow()
        found = align([table if known else table.slice(0, 3)], list(keys))[0]
        values = np.minimum(1.0, rate * np.linspace(0.5, 4.0, len(found)))
        legs = [Rates("all", found, values, rate), Rates("half", found, values / 2, rate)]
    else:
        legs = [Rates("all", Keys((), (), 1), np.array([rate]), rate)]
    side = SimpleNamespace(keyset=SimpleNamespace(keys=keys, where=where), known=lambda *_: known)
    return Ask(SimpleNamespace(timeline=timeline), side, MEASURES, timeline.needed(0, 120), legs, False)  # type: ignore[arg-type]


def alone(spark: SparkSession, rows: Any, ask: Ask) -> pa.Table:
    from shedding.ingest.raw_rows import inside
    from shedding.scan.scan import scan

    taken = rows.where(inside(ask.stretches))
    return scan(
        spark, taken, timeline=ask.timeline, keys=ask.keys, measures=ask.measures, legs=ask.legs, exact=False,
        where=ask.where, few=True, counted=ask.counted,
    )  # fmt: skip


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def test_each_ask_finds_what_it_finds_alone(spark: SparkSession) -> None:
    from shedding.scan.shared_scan import shared_scan

    rows = raw_rows(spark, 3).cache()
    asks = [
        ask_of(rows, ("key", "zone"), TIMELINE, None, 0.2),
        ask_of(rows, ("zone",), Timeline(size=20, slide=60, slot=60), "fare > 20 OR tip < 1", 0.05),
        ask_of(rows, ("key",), Timeline(size=60, slide=60, slot=60), None, 0.1, known=False),
        ask_of(rows, (), TIMELINE, "zone = 1", 0.3),
    ]
    found = shared_scan(spark, rows, asks)
    assert found is not None
    tables, union = found
    own = [alone(spark, rows, ask) for ask in asks]
    for table, wanted in zip(tables, own, strict=True):
        assert sorted_rows(table) == sorted_rows(wanted)
        assert table.num_rows
    counts = [int(np.sum(table.column("rows").to_numpy())) for table in own]
    assert max(counts) < union < sum(counts)
    rows.unpersist()


def test_keys_that_nobody_counted_are_left_to_scans_of_their_own(spark: SparkSession) -> None:
    from shedding.scan.shared_scan import shared_scan

    rows = raw_rows(spark, 2)
    few = ask_of(rows, ("key",), TIMELINE, None, 0.2, known=False)
    claims = Ask(
        few.query, SimpleNamespace(keyset=few.side.keyset, known=lambda *_: True),  # type: ignore[arg-type]
        few.measures, few.stretches, few.legs, False,
    )  # fmt: skip
    assert shared_scan(spark, rows, [claims, ask_of(rows, ("zone",), TIMELINE, None, 0.1)]) is None
