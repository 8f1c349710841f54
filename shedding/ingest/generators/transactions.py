"""Baskets of items: a row is one item of a basket, popularity as in click streams and shops."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.popularity import key_of
from shedding.ingest.generators.rhythm import MINUTE, uniform
from shedding.spec.dataset import GeneratorSource
from shedding.spec.traffic import BasketTraffic


def baskets(source: GeneratorSource) -> dict[str, Column]:
    """Columns of an item in a basket, from `minute`, `index` and `calm`."""
    traffic, seed = source.traffic, source.seed
    assert isinstance(traffic, BasketTraffic)
    minute, index = fn.col("minute"), fn.col("index")
    item = key_of(traffic, uniform(seed, "item", minute, index), minute, index, fn.col("calm"), seed)
    basket = fn.floor(index / traffic.basket)
    # All items of a basket share its instant.
    moment = minute * MINUTE + fn.floor(uniform(seed, "second", minute, basket) * MINUTE)
    return {
        "time": fn.timestamp_micros(moment.cast("bigint")),
        "transaction": (minute * 1_000_000 + basket).cast("bigint"),
        "item": item.cast("string"),
    }
