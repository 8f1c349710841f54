"""The ranked layout: a row knows about where it stands by `u` within (pane, key), and files hold stretches of that."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from shedding.ingest.key_hash import key_hash
from shedding.ingest.raw_table import floor_to
from shedding.ingest.refine import LEADING, partition_columns, raw_columns, with_partitions
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import UNITS

Floats = npt.NDArray[np.float64]

TASK_ROWS = 4_000_000
FILES_PER_TASK = 64
LEAST_FILE_ROWS = 10_000


def ranked(rows: DataFrame, dataset: DatasetSpec, total: int | None = None) -> DataFrame:
    """Raw rows with `_rank`, ordered by it within date; `total` is about how many rows there are, if that is known.

    `_rank` is floor(u * N) + 1 of the N rows that the source has of the row's pane and key: the rank by `u`, were the
    places evenly spread; by source, since one may be replaced without the others of its batch. Unlike the counted rank
    it can be bounded before a row is read (`rank_limit`). A filter on it opens the files of those ranks and at most one
    more per task.
    """
    assert dataset.layout.pane is not None, "the specification checks this"
    moment = fn.unix_micros("event_time")
    group = [fn.col("_source"), floor_to(moment, dataset.layout.pane)]
    keys = [fn.col(f"`{key}`") for key in dataset.layout.keys]
    # Groups are told apart by hash: Spark sorts single numbers by radix, and is slow to compare panes and texts.
    rows = rows.drop(*partition_columns(dataset)).withColumn("_mark", fn.xxhash64(*group, key_hash(keys)))
    rows = rows.repartition(max(1, total // TASK_ROWS), "_mark") if total else rows
    same = Window.partitionBy("_mark")
    second = fn.xxhash64(key_hash(keys[::-1]), *group)
    size = fn.count(fn.lit(1)).over(same)
    # Two groups of one mark would count each other's rows: theirs are read first, which is never wrong.
    alone = fn.min(second).over(same) == fn.max(second).over(same)
    rank = fn.when(alone, fn.floor(fn.col("u") * size) + 1).otherwise(1).cast("int")
    cell = fn.floor(moment / UNITS["day" if dataset.partition == "date" else "hour"])
    rows = rows.withColumn("_rank", rank).sortWithinPartitions(cell * 2**31 + fn.col("_rank"))
    return with_partitions(rows, dataset).select(*LEADING, "_rank", *raw_columns(dataset)[len(LEADING) :])


def rank_limit(rate: Floats, count: Floats) -> Floats:
    """The largest `_rank` that a row with `u` below `rate` can have, in each pane and key with `count` rows in all.

    Proven, in floating point too: products of larger factors round to no smaller numbers. A source that has a part of
    the rows only gives them smaller ranks.
    """
    return np.floor(rate * count) + 1


def file_rows(total: int | None) -> int:
    """Rows of a file: few, so that the last file that a filter touches is a small part of what it reads."""
    task = min(total or TASK_ROWS, TASK_ROWS)
    return max(LEAST_FILE_ROWS, task // FILES_PER_TASK)
