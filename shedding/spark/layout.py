"""The ranked layout: a row knows its rank by `u` within (pane, key), and files hold stretches of ranks."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from shedding.spark.refine import partition_columns, raw_columns
from shedding.spark.store import floor_to
from shedding.spec.dataset import DatasetSpec

ROWS_PER_FILE = 100_000
"""Small files, so that the last one that a rank filter touches is a small part of what it reads."""


def ranked(rows: DataFrame, dataset: DatasetSpec) -> DataFrame:
    """Raw rows with `_rank` (1 is the smallest `u` of its pane and key in the batch), ordered by it.

    Written in files of few rows, a filter on `_rank` then opens the files of those ranks and at most one more per
    task: one shuffle by (pane, key), then each task's rows sorted by rank, not by key.
    """
    assert dataset.layout.pane is not None, "the specification checks this"
    pane = floor_to(fn.unix_micros("event_time"), dataset.layout.pane)
    keys = [fn.col(f"`{key}`") for key in dataset.layout.keys]
    place = Window.partitionBy(pane, *keys).orderBy("u", "_identity")
    rows = rows.withColumn("_rank", fn.row_number().over(place))
    columns = raw_columns(dataset)
    leading = columns.index("_source") + 1  # among the first, so that Delta keeps statistics on it
    rows = rows.select(*columns[:leading], "_rank", *columns[leading:])
    return rows.sortWithinPartitions(*partition_columns(dataset), "_rank")
