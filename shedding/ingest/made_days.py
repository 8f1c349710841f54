"""Days of made rows in a warehouse of their own: what calibration and benchmarks of slots compute."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.arrivals import HOUR
from shedding.ingest.arrivals_log import write_log
from shedding.ingest.key_counts import add_counts
from shedding.ingest.source_number import source_number
from shedding.spec.catalog import Catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = UNITS["day"]
_NAME = "made"


@dataclass(frozen=True, slots=True)
class MadeDays:
    """So many rows a day over so many keys, half of them spread evenly and half by Zipf's popularity."""

    rows: int
    keys: int
    days: int = 3
    layout: str = "plain"

    @property
    def dataset(self) -> DatasetSpec:
        """The dataset that the rows are of."""
        ranked = {"kind": "ranked", "keys": ["key"], "pane": "1 day"}
        return DatasetSpec.model_validate({
            "name": _NAME, "source": {"kind": "parquet", "path": "*.parquet"}, "schedule": {"every": "1 day"},
            "event_time": {"column": "at"}, "layout": ranked if self.layout == "ranked" else {"kind": "plain"},
            "columns": [{"name": "at", "type": "timestamp"}, {"name": "key"}, {"name": "value", "type": "double"}],
        })  # fmt: skip

    def query(self, name: str, policy: str, fraction: float = 1.0, *, unless_cheaper: bool = False) -> QuerySpec:
        """The mean value of a key and day; the first two days are audited."""
        shed = {"policy": policy, "budget": {"fraction": fraction}, "unless_cheaper": unless_cheaper}
        return QuerySpec.model_validate({
            "name": name, "dataset": _NAME, "window": {"size": "1 day"}, "group_by": ["key"],
            "measures": [{"name": "mean", "agg": "avg", "column": "value"}], "schedule": {"every": "1 day"},
            "shed": shed, "audit": {"one_in": 1000}, "gate": {"mean_relative_error": 100.0},
        })  # fmt: skip

    def catalog(self, *queries: QuerySpec) -> Catalog:
        """The dataset and its queries."""
        return Catalog({_NAME: self.dataset}, {query.name: query for query in queries}, ())

    def write(self, spark: SparkSession, settings: Settings) -> None:
        """Write the rows as ingest would: raw rows in the dataset's layout, counts of the keys, and the log."""
        from shedding.ingest.raw_table import count_keys

        for day in range(self.days):
            source = f"day-{day}"
            self._append(self._rows(spark, day), settings)
            stored = spark.read.format("delta").load(warehouse.raw(settings, _NAME).uri)
            keyset = keyset_of(self.query("any", "exact"))
            counts = count_keys(stored.where(f"_source = {source_number(source)}"), [source], keyset)
            add_counts(settings, keyset, counts)
            self._log(settings, day, source, keyset.id)

    def _rows(self, spark: SparkSession, day: int) -> DataFrame:
        from pyspark.sql import functions as fn

        def chance(salt: int) -> Any:
            return fn.shiftrightunsigned(fn.xxhash64("id", fn.lit(day), fn.lit(salt)), 11) / fn.lit(2.0**53)

        popular = fn.floor(fn.pow(fn.lit(float(self.keys)), chance(2))) - 1
        number = fn.when(fn.col("id") % 2 == 0, fn.floor(chance(2) * self.keys)).otherwise(popular).cast("bigint")
        moment = fn.lit(day * DAY) + fn.floor(fn.col("id") * fn.lit(DAY / self.rows)).cast("bigint")
        return spark.range(self.rows).select(
            fn.timestamp_micros(moment).alias("event_time"),
            chance(1).alias("u"),
            fn.col("id").alias("_identity"),
            fn.lit(source_number(f"day-{day}")).alias("_source"),
            fn.timestamp_micros(moment).alias("at"),
            fn.concat(fn.lit("key-"), number).alias("key"),
            (fn.floor((chance(3) * 40 + 2.5 + number % 50) * 100) / 100).alias("value"),
            fn.date_format(fn.timestamp_micros(moment), "yyyy-MM-dd").alias("event_date"),
        )

    def _append(self, rows: DataFrame, settings: Settings) -> None:
        from shedding.ingest.append import append
        from shedding.ingest.ranked_layout import file_rows, ranked

        uri = warehouse.raw(settings, _NAME).uri
        if self.layout == "ranked":
            append(ranked(rows, self.dataset, self.rows), uri, ["event_date"], {}, file_rows(self.rows))
        else:
            append(rows, uri, ["event_date"], {})

    def _log(self, settings: Settings, day: int, source: str, keyset: str) -> None:
        layout = self.dataset.layout.id
        row = {
            "source_id": source, "name": source, "content_hash": source, "kept": self.rows, "rows_read": self.rows,
            "hours": json.dumps({str(day * DAY + hour * HOUR): self.rows // 24 for hour in range(24)}),
            "concepts": [keyset, *([layout] if layout else [])], "first_event": day * DAY,
            "last_event": (day + 1) * DAY - 1, "reached": (day + 1) * DAY - 1,
        }  # fmt: skip
        moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(days=day + 1)
        write_log(settings, _NAME, [{**row, "state": "begun"}, {**row, "state": "committed"}], moment)
