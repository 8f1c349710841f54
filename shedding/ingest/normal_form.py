"""The one form in which values are kept, so that all that group by them find the same keys."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.types import DataType, DoubleType, FloatType, StringType

PLAIN_ORDER = "UTF8_BINARY"


def in_normal_form(rows: DataFrame, names: Iterable[str]) -> DataFrame:
    """The rows with these columns in normal form.

    A negative zero is zero and every NaN the same one, as Spark groups them and Arrow does not. Texts lose a collation
    of their own: equal texts are those of equal bytes, everywhere (a key without case is made by `lower`).
    """
    types = {field.name: field.dataType for field in rows.schema}
    made = {name: _normal(fn.col(f"`{name}`"), types[name]) for name in names}
    changed = {name: column for name, column in made.items() if column is not None}
    return rows.withColumns(changed) if changed else rows


def _normal(value: Column, kind: DataType) -> Column | None:
    """The value in normal form; None where it cannot be in another."""
    if isinstance(kind, DoubleType | FloatType):
        nan = fn.lit(float("nan")).cast(kind)
        return fn.when(fn.isnan(value), nan).otherwise(value + fn.lit(0.0).cast(kind))
    if isinstance(kind, StringType) and kind.collation != PLAIN_ORDER:
        return fn.collate(value, PLAIN_ORDER)
    return None
