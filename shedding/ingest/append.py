"""Rows that Spark wrote become part of a Delta table, by a commit that no other writer can overwrite or be lost by.

On object stores Spark's own commits exclude other writers only within one JVM. So Spark writes the rows as a table of
their own, in a fresh folder below the one they belong in, where nobody else writes; delta-rs commits those files with
a conditional put. What a job that died leaves there is in no table, and VACUUM deletes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from shedding.tables import Table

INDEXED = 32  # Delta's own default
_CHECKPOINTS = {"delta.checkpointInterval": "10"}  # as Spark makes them, which reads the log


def append(
    rows: DataFrame,
    uri: str,
    partition_by: list[str],
    metadata: Mapping[str, Any],
    file_rows: int = 0,
    indexed: int = INDEXED,
) -> None:
    """Add rows in one commit, in files of at most `file_rows` rows if that is not 0.

    Every file has statistics of its first `indexed` columns. Columns the table lacks are added. Raises SchemaError
    where a column changed its type, ConflictError where other writers kept colliding.
    """
    folder = f"batch-{uuid.uuid4().hex}"
    properties = {"delta.dataSkippingNumIndexedCols": str(indexed)}
    writer = rows.write.format("delta").mode("error").partitionBy(*partition_by).options(**properties)
    if file_rows:
        writer = writer.option("maxRecordsPerFile", file_rows)
    writer.save(f"{uri}/{folder}")
    Table(uri, tuple(partition_by)).adopt(folder, metadata, properties | _CHECKPOINTS)
