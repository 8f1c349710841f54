"""One pass over raw rows for the samples of several queries: a row is read once, whoever keeps it.

Each query's rates are joined to the rows and give it a mask of its own legs; rows that no query keeps stay behind. The
kept ones are few, so they come to the driver, which sums them for each query by itself (`row_sums`): the same bits as a
scan of that query alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from shedding.ingest.raw_rows import inside
from shedding.keys import Keys
from shedding.scan.ask import Ask
from shedding.scan.group_numbers import Groups
from shedding.scan.measure_sums import WHOLE_TYPES, Field
from shedding.scan.rate_table import NUMBER, with_rates
from shedding.scan.row_sums import row_sums
from shedding.scan.scan import ceiling, refuse_overflow
from shedding.spark.expression import with_expression

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def shared_scan(spark: SparkSession, rows: DataFrame, asks: Sequence[Ask]) -> tuple[list[pa.Table], int] | None:
    """For each ask what `scan` finds for it, and how many rows some ask keeps.

    None where rows have keys that were not known beforehand: then each ask is better scanned by itself.
    """
    parts = [_Part(number, ask) for number, ask in enumerate(asks)]
    taken = rows.where(sf.col("u") < sf.lit(max(ceiling(leg) for ask in asks for leg in ask.legs)))
    known: list[Keys | None] = []
    for part in parts:
        taken, keys = part.masked(spark, taken)
        known.append(keys)
    taken = taken.where(reduce(lambda one, other: one | other, [sf.col(part.mask) != 0 for part in parts]))
    wholes = frozenset(name for name, kind in rows.dtypes if kind in WHOLE_TYPES)
    groups = [part.groups(keys) for part, keys in zip(parts, known, strict=True)]
    columns = [column for part, own in zip(parts, groups, strict=True) for column in part.columns(own, wholes)]
    kept = taken.select(*columns).toArrow()
    tables = []
    for part, own in zip(parts, groups, strict=True):
        found = part.summed(kept, own, wholes)
        if own.lost_keys(found):
            return None
        refuse_overflow(found, part.ask.measures)
        tables.append(own.restored(found))
    return tables, kept.num_rows


@dataclass(frozen=True, slots=True)
class _Part:
    """One ask of a shared pass: its columns have its number in their names."""

    number: int
    ask: Ask

    @property
    def mask(self) -> str:
        """The column that says which legs keep a row; 0 where none does."""
        return self._name("mask")

    def masked(self, spark: SparkSession, rows: DataFrame) -> tuple[DataFrame, Keys | None]:
        """The rows with the ask's mask and, where there are known keys, with their numbers."""
        ask, before = self.ask, rows.columns
        there = inside(ask.stretches)
        if ask.where is not None:
            rows = with_expression(rows, self._name("where"), ask.where)
            there = there & sf.coalesce(sf.col(self._name("where")), sf.lit(False))
        rows, rates, known = with_rates(spark, rows, ask.keys, ask.legs)
        bits = [sf.when(sf.col("u") < rate, sf.lit(1 << bit)).otherwise(0) for bit, rate in enumerate(rates)]
        mask = reduce(lambda one, other: one + other, bits).cast("bigint")
        own = [sf.when(there, mask).otherwise(sf.lit(0).cast("bigint")).alias(self.mask)]
        own += [sf.col(NUMBER).alias(self._name(NUMBER))] if known is not None else []
        return rows.select(*[f"`{name}`" for name in before], *own), known

    def groups(self, known: Keys | None) -> Groups:
        """What the ask's rows are grouped by."""
        ask = self.ask
        return Groups(ask.timeline, ask.keys, len(ask.legs), known, only_known=ask.counted, number=self._name(NUMBER))

    def columns(self, groups: Groups, wholes: frozenset[str]) -> list[Column]:
        """The ask's columns of the rows that are kept."""
        names = zip(groups.columns(sf.col(self.mask)), groups.names, strict=True)
        first = {name: column for field in self._fields(wholes) for name, column in field.first_layer().items()}
        return [
            sf.col(self.mask),
            *[column.alias(self._name(name)) for column, name in names if name != "mask"],
            *[column.alias(self._name(name)) for name, column in first.items()],
        ]

    def summed(self, kept: pa.Table, groups: Groups, wholes: frozenset[str]) -> pa.Table:
        """The ask's rows among those that were kept, summed by group."""
        mine = kept.filter(pc.not_equal(kept.column(self.mask), 0))
        own = {name[len(self._name("")) :]: name for name in kept.column_names if name.startswith(self._name(""))}
        columns: dict[str, Any] = {short: mine.column(name) for short, name in own.items()}
        numbers = {field.measure.name: field.numbers for field in self._fields(wholes)}
        return row_sums(pa.table(columns), groups.names, self.ask.measures, numbers)

    def _fields(self, wholes: frozenset[str]) -> list[Field]:
        return [Field(measure, wholes) for measure in self.ask.measures]

    def _name(self, name: str) -> str:
        return f"_{self.number}_{name}"
