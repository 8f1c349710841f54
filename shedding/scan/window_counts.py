"""Rows per window and key, in one scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def window_counts(rows: DataFrame, keys: Sequence[str], width: int) -> pa.Table:
    """Rows of each tumbling window of `width` microseconds and key: window_start (us), key columns, rows.

    One line per window and key that has rows; a null key is a key like any other.
    """
    moment = sf.unix_micros(sf.col("event_time"))
    start = (moment - sf.pmod(moment, sf.lit(width))).alias("window_start")
    return rows.groupBy(start, *keys).agg(sf.count(sf.lit(1)).alias("rows")).toArrow()
