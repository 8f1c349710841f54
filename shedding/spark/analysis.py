"""Specifications before Spark's own analyser: what it would refuse of them, without a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.errors import SpecError
from shedding.spark.expression import matching, with_expression
from shedding.spec.catalog import Catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.problems import Problem
from shedding.spec.query import QuerySpec
from shedding.spec.references import misused


def analysed(spark: SparkSession, catalog: Catalog) -> list[Problem]:
    """The problems that Spark finds in the expressions and uses of types of all valid specifications."""
    rows: dict[str, DataFrame] = {}
    found: list[Problem] = []
    for name, dataset in sorted(catalog.datasets.items()):
        file = Path("datasets", f"{name}.yaml")
        rows[name] = _no_rows(spark, dataset)
        for column, text in dataset.derived.items():
            try:
                rows[name] = with_expression(rows[name], column, text)
            except SpecError as error:
                found.append(Problem(file, f"derived.{column}", f"is {error}"))
        found += _refused(file, rows[name], {f"exclude.{reason}": text for reason, text in dataset.exclude.items()})
    rows |= {name: _no_rows(spark, dataset) for name, dataset in catalog.derived.items()}
    for name, query in sorted(catalog.queries.items()):
        found += _query_problems(Path("queries", f"{name}.yaml"), query, rows)
    return found


def _query_problems(file: Path, query: QuerySpec, rows: dict[str, DataFrame]) -> Iterator[Problem]:
    left, right = rows[query.dataset], rows[query.join.dataset] if query.join else None
    if query.where is not None:
        yield from _refused(file, left, {"where": query.where})
    if query.shed.keep is not None:
        yield from _refused(file, left, {"shed.keep": query.shed.keep})
    if query.join is not None and query.join.where is not None and right is not None:
        yield from _refused(file, right, {"join.where": query.join.where})
    both: dict[str, str | None] = {**(dict(right.dtypes) if right is not None else {}), **dict(left.dtypes)}
    used = {*query.group_by, *(c for m in query.measures for c in (m.column, m.over) if c is not None)}
    yield from misused(file, query, {**dict.fromkeys(used), **both})  # a column that was refused has no type


def _no_rows(spark: SparkSession, dataset: DatasetSpec) -> DataFrame:
    """No rows, with the columns that an expression may use, before the derived ones."""
    types: dict[str, str] = {**{column.name: column.type for column in dataset.columns}, "event_time": "timestamp"}
    return spark.range(0).select(*[fn.lit(None).cast(kind).alias(name) for name, kind in types.items()])


def _refused(file: Path, rows: DataFrame, conditions: dict[str, str]) -> Iterator[Problem]:
    for key, text in conditions.items():
        try:
            matching(rows, text)
        except SpecError as error:
            yield Problem(file, key, f"is {error}")
