"""One scan of raw rows for all legs: rows are classed by the legs that keep them and grouped once.

Samples are nested thresholds on `u`, so a row's class is the bit mask of the legs that keep it; a leg is
the merge of the classes that hold its bit, the exact leg the merge of all. Grouping is by pane, key and
class, and every sum is of integers: the answer does not depend on how Spark split the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.errors import ArithmeticException
from pyspark.sql import functions as sf

from shedding.errors import DataError
from shedding.keys import Keys, align
from shedding.rates import Rates
from shedding.scan.fixed_point import FINE_EXPONENT
from shedding.scan.group_numbers import Groups
from shedding.scan.measure_sums import WHOLE_TYPES, Field, finest, fits
from shedding.scan.rate_table import with_rates
from shedding.scan.row_sums import row_sums, sorted_lists
from shedding.spark.expression import matching
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_LEGS = 62
"""Bits of a class that a BIGINT can hold beside its sign."""


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
    few: bool = False,
    counted: bool = False,
) -> pa.Table:
    """The rows grouped by pane, key and class: pane_start (us), keys, mask, rows, and each measure's sums.

    Bit i of `mask` says that legs[i] keeps the rows; with `exact`, rows that no leg keeps are there with
    mask 0. `few` says that the driver can hold the rows that legs keep: then it sums them, which is quicker than a
    shuffle and gives the same bits. `counted` says that the legs' keys are, as far as is known, all that the rows have:
    a scan that then meets others is made anew without it. Raises DataError where a value is at or above the magnitude
    that the measure has.
    """
    if len(legs) > MOST_LEGS:
        raise DataError(f"{len(legs)} legs in one scan, at most {MOST_LEGS} fit; compare fewer policies or budgets")
    taken, rates, known = _taken(spark, rows, keys, legs, exact, where)
    mask = _mask(rates, exact)
    groups = Groups(timeline, keys, len(legs), known, only_known=counted)
    found = _grouped(taken, groups, rates, mask, measures, exact, few)
    if groups.lost_keys(found):
        groups = replace(groups, only_known=False)
        found = _grouped(taken, groups, rates, mask, measures, exact, few)
    refuse_overflow(found, measures)
    return groups.restored(found)


def kept_rows(
    spark: SparkSession,
    rows: DataFrame,
    *,
    keys: Sequence[str],
    legs: Sequence[Rates],
    exact: bool,
    where: str | None = None,
) -> DataFrame:
    """The rows that a scan with these arguments takes, with their own columns: those that some leg keeps."""
    return _taken(spark, rows, keys, legs, exact, where)[0].select(*[f"`{name}`" for name in rows.columns])


def _taken(
    spark: SparkSession,
    rows: DataFrame,
    keys: Sequence[str],
    legs: Sequence[Rates],
    exact: bool,
    where: str | None,
) -> tuple[DataFrame, list[Column], Keys | None]:
    """The rows that are grouped, the rate of each in each leg, and the keys that have rates."""
    taken = matching(rows, where) if where else rows
    taken, rates, known = with_rates(spark, taken, keys, legs)
    if not exact:
        taken = taken.where(sf.col("u") < sf.lit(max((ceiling(leg) for leg in legs), default=0.0)))
        taken = taken.where(_any_of(rates))
    return taken, rates, known


def _grouped(
    taken: DataFrame,
    groups: Groups,
    rates: Sequence[Column],
    mask: Column,
    measures: Sequence[MeasureSpec],
    exact: bool,
    few: bool,
) -> pa.Table:
    """The rows by group: the group's columns, rows, and each measure's sums."""
    wholes = frozenset(name for name, kind in taken.dtypes if kind in WHOLE_TYPES)
    fields = [Field(measure, wholes) for measure in measures]
    first = {name: column for field in fields for name, column in field.first_layer().items()}
    columns = [*groups.columns(mask), *[column.alias(name) for name, column in first.items()]]
    selected = taken.select(*columns)
    quantiles = [field for field in fields if field.state is not None and field.state.values]
    if not exact and (few or quantiles):  # a quantile's kept rows all go into the answer, few or not
        return row_sums(selected.toArrow(), groups.names, measures, {f.measure.name: f.numbers for f in fields})
    table = _summed(selected, groups.names, fields, len(rates))
    if quantiles and rates:
        table = _with_values(table, taken.where(_any_of(rates)).select(*columns), groups.names, quantiles)
    return table


def _summed(selected: DataFrame, groups: list[str], fields: Sequence[Field], legs: int) -> pa.Table:
    """The sums by group: the short way, where some group's values are too large or too fine for it the long way, and
    where some are finer than that is by default, the long way down to their last bits.
    """
    measures = [field.measure for field in fields]
    try:
        table = _aggregated(selected, groups, fields)
        if all(fits(table, measure, legs + 1) for measure in measures):
            return table
    except ArithmeticException:  # a sum of whole numbers or of low halves is beyond 64 bits
        pass
    table = _aggregated(selected, groups, [replace(field, short=False) for field in fields])
    lowest = finest(table, measures)
    if lowest < FINE_EXPONENT:
        table = _aggregated(selected, groups, [replace(field, short=False, lowest=lowest) for field in fields])
    return table


def _aggregated(selected: DataFrame, groups: list[str], fields: Sequence[Field]) -> pa.Table:
    sums = [sf.count(sf.lit(1)).alias("rows"), *[column for field in fields for column in field.aggregates()]]
    return _prepared(selected, fields).groupBy(*groups).agg(*sums).toArrow()


def _prepared(selected: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """The rows with the columns that aggregates read; in layers, so that each is computed once per row, not per use."""
    layers = [field.layers() for field in fields]
    for number in range(1, max((len(one) for one in layers), default=0)):
        made = _layer(layers, number)
        selected = selected.withColumns(made) if made else selected
    return selected


def _layer(layers: Sequence[list[dict[str, Column]]], number: int) -> dict[str, Column]:
    """The columns of one layer, of all measures that have so many."""
    return {name: column for own in layers if number < len(own) for name, column in own[number].items()}


def _with_values(sums: pa.Table, sampled: DataFrame, groups: list[str], quantiles: Sequence[Field]) -> pa.Table:
    """The sampled values, sorted, put beside their group's sums as `<measure>_values`.

    The rows are collected and grouped here: they all go into the answer, and Spark's lists are slow to build.
    """
    columns = {field.measure.name: field.numbers[0] for field in quantiles}
    rows = sampled.select(*groups, *sorted(set(columns.values()))).toArrow()
    _, (place, source) = align([sums, rows], groups)
    size = int(max(place.max(initial=-1), source.max(initial=-1))) + 1
    for name, column in columns.items():
        value = rows.column(column).to_numpy().astype(np.float64)
        there = ~np.isnan(value)
        lists = sorted_lists(value[there], source[there], size)
        sums = sums.append_column(f"{name}_values", lists.take(pa.array(place, pa.int64())))
    return sums


def ceiling(leg: Rates) -> float:
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


def refuse_overflow(table: pa.Table, measures: Sequence[MeasureSpec]) -> None:
    """Raise DataError where a value is at or above the magnitude that its measure has."""
    for measure in measures:
        for column, name in ((measure.column, "largest"), (measure.over, "over_largest")):
            state = measure.traits.state
            if state is None or not state.totals or f"{measure.name}_{name}" not in table.column_names:
                continue
            largest = table.column(f"{measure.name}_{name}").drop_null().to_numpy()
            if largest.size and not largest.max() < 2.0**measure.magnitude:
                raise DataError(
                    f"measure {measure.name}: column {column} holds {largest.max():g}, not below 2**{measure.magnitude}"
                    f"; write a larger magnitude (at most 62) for the measure, or a max for the column in its dataset"
                )
