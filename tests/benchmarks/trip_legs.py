"""The legs that several benchmarks time, each one call: read, group, make windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shedding.panes.from_scan import Scanned
from shedding.rates import Rates
from shedding.scan.scan import scan
from shedding.scan.spark_scans import FEW_ROWS
from tests.benchmarks.trips import MEAN, TIMELINE, counts, first_ranks, rates, windows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TripLegs:
    """Mean fares by window and route, of the tables that `write_apart` wrote into a directory.

    Shed legs are those of an aggregate job: of ranked files they read the ranks they need, and who sums the kept rows
    is decided as there, by their number.
    """

    def __init__(self, spark: SparkSession, directory: str) -> None:
        self.spark = spark
        self.plain, self.ranked = (
            spark.read.format("delta").load(f"{directory}/{kind}") for kind in ("plain", "ranked")
        )
        self.counted, self.keys, self.population = counts(self.plain)
        self.three = [rates(policy, self.keys, self.population, 0.05) for policy in ("optimal", "cod", "uniform")]

    def exact_by_panes(self) -> None:
        """The exact leg alone."""
        windows_of(self._scanned([], True, self.plain), None, MEAN, None)

    def side_by_side(self) -> None:
        """The exact leg and three samples of 5 % in one scan."""
        found = self._scanned(self.three, True, self.plain)
        windows_of(found, None, MEAN, None)
        for bit, leg in enumerate(self.three):
            windows_of(found, bit, MEAN, leg)

    def ranked_leg(self) -> None:
        """A sample of 5 % of ranked files."""
        self.sample(self.sampled_rows(), self.three[0])

    def plain_leg(self) -> None:
        """The same sample of plain files, of which it must read every row."""
        self.sample(self.plain, self.three[0])

    def sample(self, rows: DataFrame, leg: Rates, few: bool | None = None) -> None:
        """A leg alone; `few` says whether the driver sums what it keeps, by default by the number of rows."""
        kept = float(leg.of(self.keys) @ self.population)
        windows_of(self._scanned([leg], False, rows, kept <= FEW_ROWS if few is None else few), 0, MEAN, leg)

    def window(self) -> None:
        """Spark's own sliding `window()`."""
        from pyspark.sql import functions as sf

        sliding = sf.window("event_time", "30 minutes", "10 minutes")
        self.plain.groupBy(sliding, "route").agg(sf.avg("fare"), sf.count("*")).toArrow()

    def bare_scan(self) -> None:
        """What reading the columns of plain files takes."""
        from pyspark.sql import functions as sf

        largest = [sf.max(sf.unix_micros("event_time")), sf.max("u"), sf.max(sf.length("route")), sf.max("fare")]
        self.plain.agg(*largest).collect()

    def sampled_rows(self, legs: list[Rates] | None = None) -> DataFrame:
        """The rows of ranked files that some legs read, by default the sample's."""
        return first_ranks(self.ranked, self.counted, legs or self.three[:1])

    def _scanned(self, legs: list[Rates], exact: bool, rows: DataFrame, few: bool = False) -> Scanned:
        table = scan(
            self.spark, rows, timeline=TIMELINE, keys=["route"], measures=MEAN, legs=legs, exact=exact,
            few=few, counted=bool(legs),
        )  # fmt: skip
        return Scanned(table, ["route"], self.counted if legs else None)
