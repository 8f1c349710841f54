"""Which files of a batch made Spark fail: looked for only after it did."""

from __future__ import annotations

from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from shedding.errors import innermost

READ_FAILURES = (PySparkException, Py4JJavaError)
"""What pyspark raises where a job failed, whatever the cause."""


def damaged(spark: SparkSession, paths: list[Path], columns: set[str]) -> dict[Path, str]:
    """The Parquet files whose `columns` Spark itself cannot read to the end, each with words for who delivers it."""
    found: dict[Path, str] = {}
    for path in paths:
        try:
            rows = spark.read.parquet(str(path))
            quoted = [name.replace("`", "``") for name in rows.columns if name in columns]
            rows.select(*[fn.col(f"`{name}`") for name in quoted]).write.format("noop").mode("overwrite").save()
        except READ_FAILURES as error:
            found[path] = (
                f"{path} is damaged inside ({innermost(error)}); nothing of it was kept; deliver it again, or remove it"
            )
    return found
