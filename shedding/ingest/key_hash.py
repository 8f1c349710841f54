"""The one hash by which keys are told apart in Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

if TYPE_CHECKING:
    from pyspark.sql import Column


def key_hash(columns: Sequence[Column]) -> Column:
    """64 bits of a key's values and of which of them are null.

    Spark's hash passes over nulls: alone it would give (1, null), (null, 1) and (1) the same bits in every order of the
    columns. Keys that Spark groups as one (-0.0 and 0.0, any NaN) have one hash.
    """
    nulls = [column.isNull() for column in columns] if len(columns) > 1 else []
    return sf.xxhash64(*columns, *nulls)
