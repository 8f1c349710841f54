"""Rows of many stretches: the condition holds for exactly their instants, however many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from shedding.ingest.raw_rows import MOST_RANGES, inside
from shedding.stretches import Stretches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("parts", [1, MOST_RANGES, MOST_RANGES + 1, 5 * MOST_RANGES])
def test_a_row_is_read_exactly_where_its_instant_lies_in_a_stretch(spark: SparkSession, parts: int) -> None:
    from pyspark.sql import functions as sf

    edges = np.sort(np.random.default_rng(parts).choice(4_000, 2 * parts, replace=False)).reshape(-1, 2) - 1_000
    stretches = Stretches.of(*((int(start), int(end)) for start, end in edges))
    instants = np.arange(-1_100, 3_100)
    rows = spark.range(-1_100, 3_100).select("id", sf.timestamp_micros("id").alias("event_time"))
    read = sorted(row["id"] for row in rows.where(inside(stretches)).collect())
    assert read == instants[stretches.hold(instants)].tolist()
    assert len(stretches.parts) == parts
