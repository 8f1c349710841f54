"""Packets of a local network: few frame sizes carry most, and a minute's mix leans its own way."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.popularity import key_of, value_factor
from shedding.ingest.generators.rhythm import MINUTE, uniform
from shedding.spec.dataset import GeneratorSource
from shedding.spec.traffic import PacketTraffic


def packets(source: GeneratorSource) -> dict[str, Column]:
    """Columns of a packet, from `minute`, `index` and `calm`."""
    traffic, seed = source.traffic, source.seed
    assert isinstance(traffic, PacketTraffic)
    minute, index = fn.col("minute"), fn.col("index")

    def draw(name: str) -> Column:
        return uniform(seed, name, minute, index)

    kind = key_of(traffic, draw("kind"), minute, index, fn.col("calm"), seed)
    span = traffic.largest - traffic.smallest + 1
    # Steps of a prime spread the popular kinds over all sizes, each kind with a size of its own.
    size = fn.lit(traffic.smallest) + fn.pmod(kind * 7_919 + 86, fn.lit(span))
    bytes_sent = fn.least(fn.floor(size * value_factor(traffic, minute)), fn.lit(traffic.largest))
    return {
        "time": fn.timestamp_micros((minute * MINUTE + fn.floor(draw("second") * MINUTE)).cast("bigint")),
        "size": bytes_sent.cast("int"),
        "source_host": fn.floor(fn.pow(draw("source"), fn.lit(3.0)) * 120).cast("int"),
        "destination_host": fn.floor(fn.pow(draw("destination"), fn.lit(3.0)) * 120).cast("int"),
    }
