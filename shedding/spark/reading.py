"""What Spark really read while something ran: rows and bytes, as its own tasks counted them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession


@dataclass
class Reading:
    """Rows and bytes that the tasks took in from files."""

    rows: int = 0
    bytes: int = 0


@contextmanager
def reading(spark: SparkSession) -> Iterator[Reading]:
    """Count what the jobs started inside the block read; the figures are there when it ends."""
    context = spark.sparkContext
    group, found = f"reading-{uuid.uuid4()}", Reading()
    context.setJobGroup(group, "counted reads")
    try:
        yield found
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
        tracker, store = context.statusTracker(), context._jsc.sc().statusStore()
        stages: set[int] = set()
        for job in tracker.getJobIdsForGroup(group):
            info = tracker.getJobInfo(job)
            stages.update(info.stageIds if info is not None else ())
        for stage in sorted(stages):
            try:
                data = store.lastStageAttempt(stage)
            except Py4JJavaError:  # a stage whose output was there already never ran
                continue
            found.rows += int(data.inputRecords())
            found.bytes += int(data.inputBytes())
