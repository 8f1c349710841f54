"""The generators by name, and the one way to call them."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.ingest.generators.cluster import task_events
from shedding.ingest.generators.packets import packets
from shedding.ingest.generators.reviews import reviews
from shedding.ingest.generators.rhythm import minutes
from shedding.ingest.generators.taxi import taxi_trips
from shedding.ingest.generators.transactions import baskets
from shedding.spec.dataset import GeneratorSource

GENERATORS: dict[str, Callable[[GeneratorSource], dict[str, Column]]] = {
    "taxi": taxi_trips,
    "cluster": task_events,
    "packets": packets,
    "transactions": baskets,
    "reviews": reviews,
}


def generate(spark: SparkSession, source: GeneratorSource, start: int, end: int) -> DataFrame:
    """The rows of [start, end), whole minutes, with the generator's columns, `_minute`, `_line` and `_identity`.

    Guarantee: a function of the source's specification and the interval; the rows of two adjoining intervals are
    the rows of their union.
    """
    rows = minutes(spark, start, end, source.traffic, source.rows_per_hour, source.seed)
    columns = GENERATORS[source.generator](source)
    return rows.select(
        *[column.alias(name) for name, column in columns.items()],
        fn.col("minute").alias("_minute"),
        (fn.col("index") + 1).alias("_line"),
        fn.xxhash64(fn.lit(source.seed), fn.lit(source.generator), "minute", "index").alias("_identity"),
    )
