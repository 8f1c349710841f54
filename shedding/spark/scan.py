"""One scan of raw rows for all legs: rows are classed by the legs that keep them and grouped once.

Samples are nested thresholds on `u`, so a row's class is the bit mask of the legs that keep it; a leg is
the merge of the classes that hold its bit, the exact leg the merge of all. Grouping is by pane, key and
class, and every sum is of integers: the answer does not depend on how Spark split the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.errors import DataError
from shedding.keys import align
from shedding.rates import Rates
from shedding.spark.fixed_point import FixedPoint
from shedding.spec.query import MeasureSpec
from shedding.windows import Timeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_LEGS = 62
"""Bits of a class that a BIGINT can hold beside its sign."""


@dataclass(frozen=True, slots=True)
class Field:
    """What a measure sums over rows: a column, for a ratio also its denominator."""

    measure: MeasureSpec

    @property
    def needs_moments(self) -> bool:
        """Whether sums and squares are kept (estimates and priors need them)."""
        return self.measure.agg in ("avg", "sum", "quantile", "ratio")

    @property
    def unit(self) -> FixedPoint:
        """How values are cut."""
        return FixedPoint(self.measure.magnitude)

    @property
    def square(self) -> FixedPoint:
        """How products of two values are cut."""
        return FixedPoint(2 * self.measure.magnitude)

    def aggregates(self) -> list[Column]:
        """The aggregate columns of this measure, named `<measure>_...`."""
        name, kind = self.measure.name, self.measure.agg
        if kind in ("count", "count_distinct"):
            return []
        value, over = sf.col(f"{name}_x"), sf.col(f"{name}_y")
        found = [sf.count(value).alias(f"{name}_n"), sf.max(sf.abs(value)).alias(f"{name}_largest")]
        if kind in ("min", "max"):
            return [*found, (sf.min(value) if kind == "min" else sf.max(value)).alias(f"{name}_{kind}")]
        found += _sums(f"{name}_s", self.unit, value) + _sums(f"{name}_q", self.square, value * value)
        if kind == "ratio":
            found.append(sf.max(sf.abs(over)).alias(f"{name}_over_largest"))
            found += _sums(f"{name}_over_s", self.unit, over) + _sums(f"{name}_over_q", self.square, over * over)
            found += _sums(f"{name}_cross", self.square, value * over)
        return found

    def values(self) -> list[Column]:
        """For a quantile the values themselves, sorted; nothing for the others."""
        if self.measure.agg != "quantile":
            return []
        name = self.measure.name
        return [sf.sort_array(sf.collect_list(sf.col(f"{name}_x"))).alias(f"{name}_values")]

    def inputs(self) -> list[Column]:
        """The columns the aggregates read: NaN is null, and a ratio's row counts where both parts are there."""
        name, spec = self.measure.name, self.measure
        if spec.column is None or spec.agg == "count_distinct":
            return []
        value = _number(spec.column)
        if spec.over is None:
            return [value.alias(f"{name}_x")]
        over = _number(spec.over)
        both = value.isNotNull() & over.isNotNull()
        return [sf.when(both, value).alias(f"{name}_x"), sf.when(both, over).alias(f"{name}_y")]


def scan(
    spark: SparkSession,
    rows: DataFrame,
    *,
    timeline: Timeline,
    keys: Sequence[str],
    measures: Sequence[MeasureSpec],
    legs: Sequence[Rates],
    exact: bool,
    where: str | None = None,
) -> pa.Table:
    """The rows grouped by pane, key and class: pane_start (us), keys, mask, rows, and each measure's sums.

    Bit i of `mask` says that legs[i] keeps the rows; with `exact`, rows that no leg keeps are there with
    mask 0. Raises DataError where a value's magnitude is at or above what the measure declares.
    """
    if len(legs) > MOST_LEGS:
        raise DataError(f"{len(legs)} legs in one scan, at most {MOST_LEGS} fit; compare fewer policies or budgets")
    fields = [Field(measure) for measure in measures]
    taken = rows.where(where) if where else rows
    taken = _only_needed_panes(taken, timeline)
    taken, rates = _with_rates(spark, taken, list(keys), legs)
    mask = _mask(rates, exact)
    if not exact:
        taken = taken.where(sf.col("u") < sf.lit(max((_ceiling(leg) for leg in legs), default=0.0)))
        taken = taken.where(_any_of(rates))
    moment = sf.unix_micros(sf.col("event_time"))
    selected = taken.select(
        (moment - sf.pmod(moment, sf.lit(timeline.pane))).alias("pane_start"),
        *[sf.col(key) for key in keys],
        mask.alias("mask"),
        *[column for field in fields for column in field.inputs()],
    )
    groups = ["pane_start", *keys, "mask"]
    sums = [sf.count(sf.lit(1)).alias("rows"), *[column for field in fields for column in field.aggregates()]]
    values = [column for field in fields for column in field.values()]
    if not exact:
        sums, values = sums + values, []
    table = selected.groupBy(*groups).agg(*sums).toArrow()
    _refuse_overflow(table, measures)
    if values and legs:  # collecting values beside the sums of all rows would cost five times the sums
        table = _with_values(table, selected.where(sf.col("mask") != 0).groupBy(*groups).agg(*values).toArrow(), groups)
    return table


def _with_values(sums: pa.Table, values: pa.Table, groups: list[str]) -> pa.Table:
    """The sampled values put beside their group's sums; groups outside every sample have none."""
    _, (place, source) = align([sums, values], groups)
    row = np.full(int(max(place.max(initial=-1), source.max(initial=-1))) + 1, -1, dtype=np.int64)
    row[source] = np.arange(values.num_rows)
    index = pa.array(row[place], pa.int64(), mask=row[place] < 0)
    for name in values.column_names:
        if name not in groups:
            sums = sums.append_column(name, values.column(name).combine_chunks().take(index))
    return sums


def _sums(prefix: str, unit: FixedPoint, value: Column) -> list[Column]:
    return [sf.sum(digit).alias(f"{prefix}{i}") for i, digit in enumerate(unit.digits(value))]


def _number(column: str) -> Column:
    value = sf.col(column).cast("double")
    return sf.when(~sf.isnan(value), value)


def _only_needed_panes(rows: DataFrame, timeline: Timeline) -> DataFrame:
    """Without the rows that fall into the gaps between windows (slide above size)."""
    if timeline.size >= timeline.slide:
        return rows
    place = sf.pmod(sf.unix_micros(sf.col("event_time")), sf.lit(timeline.slide))
    return rows.where(place < sf.lit(timeline.size))


def _with_rates(
    spark: SparkSession, rows: DataFrame, keys: list[str], legs: Sequence[Rates]
) -> tuple[DataFrame, list[Column]]:
    """The rows with each leg's rate at hand: a literal where it is constant, else joined by the key's hash."""
    varying = [i for i, leg in enumerate(legs) if leg.constant is None]
    if varying and keys:
        joined = _rate_table(spark, keys, [legs[i] for i in varying])
        rows = rows.join(sf.broadcast(joined), sf.xxhash64(*keys) == sf.col("_hash"), "left")
    rates: list[Column] = []
    for i, leg in enumerate(legs):
        if i not in varying:
            rates.append(sf.lit(float(leg.unseen)))
        elif not keys:
            rates.append(sf.lit(float(leg.values[0])))
        else:
            rates.append(sf.coalesce(sf.col(f"_rate{varying.index(i)}"), sf.lit(float(leg.unseen))))
    return rows, rates


def _rate_table(spark: SparkSession, keys: list[str], legs: Sequence[Rates]) -> DataFrame:
    """Rates by key hash; two keys with one hash share the larger rate, which estimates by key do not mind."""
    first = legs[0].keys
    if any(leg.keys is not first for leg in legs):
        raise DataError("the legs of one scan have rates over different keys; allocate them over one list of keys")
    columns = {f"_rate{i}": leg.values for i, leg in enumerate(legs)}
    table = pa.table(dict(zip(first.names, first.columns, strict=True)) | columns)
    frame = spark.createDataFrame(table).coalesce(1)
    return frame.groupBy(sf.xxhash64(*keys).alias("_hash")).agg(*[sf.max(name).alias(name) for name in columns])


def _ceiling(leg: Rates) -> float:
    """The largest rate a leg can have: a bound on `u` that files and row groups can be skipped by."""
    return max(float(leg.values.max()) if leg.values.size else 0.0, leg.unseen if leg.constant is not None else 1.0)


def _mask(rates: Sequence[Column], exact: bool) -> Column:
    if len(rates) == 1 and not exact:
        return sf.lit(1).cast("bigint")
    mask = sf.lit(0).cast("bigint")
    for i, rate in enumerate(rates):
        mask = mask + sf.when(sf.col("u") < rate, sf.lit(1 << i).cast("bigint")).otherwise(sf.lit(0).cast("bigint"))
    return mask


def _any_of(rates: Sequence[Column]) -> Column:
    kept = sf.lit(False)
    for rate in rates:
        kept = kept | (sf.col("u") < rate)
    return kept


def _refuse_overflow(table: pa.Table, measures: Sequence[MeasureSpec]) -> None:
    for measure in measures:
        for column, name in ((measure.column, "largest"), (measure.over, "over_largest")):
            if f"{measure.name}_{name}" not in table.column_names or measure.agg in ("min", "max"):
                continue
            largest = table.column(f"{measure.name}_{name}").drop_null().to_numpy()
            if largest.size and not largest.max() < 2.0**measure.magnitude:
                raise DataError(
                    f"measure {measure.name}: column {column} holds {largest.max():g}, not below 2**{measure.magnitude}"
                    f"; write a larger magnitude (at most 62) for the measure, or a max for the column in its dataset"
                )
