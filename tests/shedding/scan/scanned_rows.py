"""Rows for tests of the scan, and a digest of what it makes of them; run as a program it scans on another master."""

from __future__ import annotations

import hashlib
import sys

import numpy as np
import pyarrow as pa

from shedding.keys import align
from shedding.panes.from_scan import Scanned
from shedding.rates import Rates
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline

SIZE = 6000
TIMELINE = Timeline(size=30, slide=10, slot=60)
MEASURES = [
    MeasureSpec(name="mean", agg="avg", column="fare"),
    MeasureSpec(name="share", agg="ratio", column="tip", over="fare"),
    MeasureSpec(name="middle", agg="quantile", q=0.5, column="fare"),
    MeasureSpec(name="n", agg="count"),
]


def raw_rows(spark, partitions: int):
    """Six thousand rows over two minutes of microseconds: null keys, null fares and NaN tips among them."""
    from pyspark.sql import functions as sf

    def chance(salt: int):
        return sf.shiftrightunsigned(sf.xxhash64("id", sf.lit(salt)), 11) / sf.lit(2.0**53)

    key = sf.floor(sf.pow(sf.lit(60.0), chance(2))).cast("int")
    return (
        spark.range(SIZE)
        .repartition(partitions)
        .select(
            sf.timestamp_micros((sf.col("id") % 120).cast("bigint")).alias("event_time"),
            chance(1).alias("u"),
            sf.when(key != 7, sf.concat(sf.lit("k"), key)).alias("key"),
            (key % 3).alias("zone"),
            sf.when(sf.col("id") % 17 != 0, sf.round(chance(3) * 50 + key, 2)).alias("fare"),
            sf.when(sf.col("id") % 13 != 0, chance(4) * 5).otherwise(sf.lit(float("nan"))).alias("tip"),
        )
    )


def rates(keys, names, fraction: float) -> list[Rates]:
    """A uniform leg and one whose rates differ by key; the second one nested in itself over fractions."""
    varying = np.minimum(1.0, fraction * np.linspace(0.5, 4.0, len(keys)))
    return [
        Rates("uniform", keys, np.full(len(keys), fraction), fraction),
        Rates("varying", keys, varying, 1.0),
    ]


def scanned(spark, partitions: int, fraction: float = 0.2, names=("key", "zone")) -> dict[str, pa.Table]:
    """The panes of the exact, the uniform and the varying leg, from one scan."""
    from shedding.scan.scan import scan

    rows = raw_rows(spark, partitions)
    keys, _ = align([rows.select(*names).distinct().toArrow()], names)
    legs = rates(keys, names, fraction)
    table = scan(spark, rows, timeline=TIMELINE, keys=names, measures=MEASURES, legs=legs, exact=True)
    found, fixed = Scanned(table, names, None), {"slot": "s"}
    made = {"exact": found.panes(None, MEASURES, None).table(fixed)}
    for bit, leg in enumerate(legs):
        made[leg.leg] = found.panes(bit, MEASURES, leg).table(fixed)
    return made


def digest(tables: dict[str, pa.Table]) -> str:
    """A hash of every bit of every cell."""
    content = hashlib.blake2b()
    for name, table in sorted(tables.items()):
        content.update(name.encode())
        for column in table.columns:
            content.update(repr(column.to_pylist()).encode())
    return content.hexdigest()


if __name__ == "__main__":
    from shedding.config import Settings
    from shedding.spark.session import start_session

    session = start_session(Settings(master=sys.argv[1]), "scan-on-another-master")
    print(digest(scanned(session, int(sys.argv[2]))))
    session.stop()
