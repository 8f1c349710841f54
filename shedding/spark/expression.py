"""Expressions of specifications on Spark's rows: one SQL mode everywhere, no function but those of a single row.

The mode is Spark's without ANSI, at ingest and at run: what has no value (1 / 0, CAST('x' AS INT), an array's ninth of
three) is null, so one odd row ends no job. Sluice's own sums around it stay in ANSI mode, where overflow is an error.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.errors import SpecError, innermost
from shedding.spec.expressions import SYNTAX
from shedding.spec.query import KEPT
from shedding.spec.spark_functions import MOVING, OF_A_ROW

_ANSI = "spark.sql.ansi.enabled"
_FOREIGN = (
    "Subquery", "Exists", "ListQuery", "Star", "Parameter", "UnresolvedIdentifier", "WindowExpression", "AnyValue",
    "First", "Last", "PercentileCont", "PercentileDisc", "CurrentDate", "CurrentTime", "CurrentTimestamp",
    "CurrentUser", "LocalTimestamp",
)  # fmt: skip
"""Endings of the names of nodes that look beyond the row, or name a function where no checker sees it."""


@contextmanager
def lenient(spark: SparkSession) -> Iterator[None]:
    """What is analysed inside has the specifications' mode, wherever it runs later: Spark keeps it in the plan."""
    before = spark.conf.get(_ANSI, "true")
    assert before is not None
    spark.conf.set(_ANSI, "false")
    try:
        yield
    finally:
        spark.conf.set(_ANSI, before)


def matching(rows: DataFrame, condition: str) -> DataFrame:
    """The rows that meet a condition of a specification; SpecError where Spark refuses it."""
    with _told(condition), lenient(rows.sparkSession):
        return rows.where(column_of(rows, condition))


def with_expression(rows: DataFrame, name: str, text: str) -> DataFrame:
    """The rows with a column that an expression of a specification makes; SpecError where Spark refuses it."""
    with _told(text), lenient(rows.sparkSession):
        return rows.withColumn(name, column_of(rows, text))


def with_kept(rows: DataFrame, keep: str | None) -> DataFrame:
    """The rows with the column that says which of them are never shed; as they are without a condition."""
    return rows if keep is None else with_expression(rows, KEPT, f"CAST(coalesce(({keep}), FALSE) AS INT)")


def column_of(rows: DataFrame, text: str) -> Column:
    """The expression as a column of `rows`, by Spark's own parser; SpecError where it calls more than a row needs.

    `sluice check` has refused the same before; here the parser that Spark uses has the last word on what is a call.
    """
    parser = rows.sparkSession._jsparkSession.sessionState().sqlParser()
    with _told(text):
        nodes = json.loads(parser.parseExpression(text).toJSON())
    columns = {name.lower() for name in rows.columns}
    for node in nodes:
        odd = _odd(str(node["class"]).rpartition(".")[2].rstrip("$"), _parts(node.get("nameParts")), columns)
        if odd is not None:
            raise SpecError(f"{text!r} calls {odd}, which is no function of a single row; leave it out")
    return fn.expr(text)


def _odd(kind: str, parts: list[str], columns: Collection[str]) -> str | None:
    """What a node of a parsed expression must not be, in words."""
    if kind == "UnresolvedFunction":
        name = parts[-1] if len(parts) == 1 else ".".join(parts)
        sound = name in OF_A_ROW or name in SYNTAX or not any(sign.isalnum() for sign in name)  # an operator
        return None if sound else name
    if kind == "UnresolvedAttribute" and len(parts) == 1 and parts[0] in MOVING and parts[0] not in columns:
        return parts[0]
    return kind if kind.endswith(_FOREIGN) else None


def _parts(shown: object) -> list[str]:
    """The parts of a name as Spark shows them: `[system, builtin, rand]`, or a list."""
    found = shown.strip("[]").split(", ") if isinstance(shown, str) else shown if isinstance(shown, list) else []
    return [str(part).lower() for part in found]


@contextmanager
def _told(text: str) -> Iterator[None]:
    """Spark's refusal of an expression in one line."""
    try:
        yield
    except AnalysisException as error:
        raise SpecError(f"{text!r} is refused by Spark: {innermost(error)}; fix it") from error
