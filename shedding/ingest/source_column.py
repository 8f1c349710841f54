"""The column `_source` of records and raw rows: the number of the source that each came from."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as fn


def source_column(number: int) -> Column:
    """A source's number as a value: 64 bits, also where fewer would do."""
    return fn.lit(number).cast("bigint")


def by_source(texts: Mapping[int, str]) -> Column:
    """What is said of the source that `_source` names."""
    pairs = [value for number, text in texts.items() for value in (source_column(number), fn.lit(text))]
    return fn.create_map(*pairs)[fn.col("_source")]
