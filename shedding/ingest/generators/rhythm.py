"""How many rows a minute has: rhythm of day and week, bursts, and noise, each a function of the minute alone.

The minute is the grain of all generators: the rows of [a, c) are those of [a, b) and of [b, c), whatever a, b and c
are in whole minutes.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from shedding.errors import SourceError
from shedding.spec.times import UNITS
from shedding.spec.traffic import Burst, Traffic

MINUTE = UNITS["minute"]
ROWS_PER_TASK = 150_000
_MONDAY = 4 * 24 * 60  # minutes from the epoch, a Thursday, to the first Monday


def uniform(seed: int, *parts: Column | str) -> Column:
    """A number in [0, 1) that depends on the seed and the parts only."""
    bits: Column = fn.shiftrightunsigned(
        fn.xxhash64(fn.lit(seed), *[fn.lit(p) if isinstance(p, str) else p for p in parts]), 11
    )
    share: Column = bits / fn.lit(float(2**53))
    return share


def normal(seed: int, name: str, *parts: Column) -> Column:
    """Nearly standard normal, within six standard deviations: a sum of four uniforms, exact on every platform."""
    total = uniform(seed, f"{name}.0", *parts)
    for number in range(1, 4):
        total = total + uniform(seed, f"{name}.{number}", *parts)
    deviate: Column = (total - 2.0) * 3.0**0.5
    return deviate


def minutes(spark: SparkSession, start: int, end: int, traffic: Traffic, rows_per_hour: int, seed: int) -> DataFrame:
    """One row per record of [start, end): `minute` since the epoch and `index` within it.

    Spark makes the rows in parallel; the driver holds none of them. Raises SourceError for parts of minutes.
    """
    if start % MINUTE or end % MINUTE:
        raise SourceError("a generator's interval must begin and end on whole minutes; round --from and --to")
    first, last = start // MINUTE, end // MINUTE
    parts = max(1, min(last - first, (last - first) * rows_per_hour // 60 // ROWS_PER_TASK))
    minute = fn.col("id")
    mean = fn.lit(rows_per_hour / 60) * _rhythm(minute, traffic)
    calm = _noisy(mean, minute, traffic.noise, seed)
    frame = spark.range(first, last, 1, parts).withColumn("calm", calm)
    added = fn.lit(0).cast("bigint")
    for burst in traffic.bursts:
        added = added + fn.when(_in_burst(minute, burst), fn.floor(fn.col("calm") * (burst.factor - 1))).otherwise(0)
    rows = fn.greatest(fn.col("calm") + added, fn.lit(0)).cast("bigint")
    # An empty minute has no index at all; sequence(0, -1) would count downwards.
    indices = fn.when(rows > 0, fn.sequence(fn.lit(0).cast("bigint"), rows - 1))
    return frame.select(minute.alias("minute"), "calm", fn.explode(indices).alias("index"))


def burst_key(traffic: Traffic, minute: Column, index: Column, calm: Column) -> Column:
    """The rank that a burst gives to the rows it adds; null for all others."""
    rank = fn.lit(None).cast("bigint")
    for burst in traffic.bursts:
        if burst.key is not None:
            rank = fn.when(_in_burst(minute, burst) & (index >= calm), fn.lit(burst.key)).otherwise(rank)
    return rank


def _rhythm(minute: Column, traffic: Traffic) -> Column:
    """Weight of a minute: straight lines between the hours' weights, times the day's."""
    hours = [weight * 24 / sum(traffic.hours) for weight in traffic.hours]
    days = [weight * 7 / sum(traffic.days) for weight in traffic.days]
    hour = fn.pmod(fn.floor(minute / 60), fn.lit(24)).cast("int")
    within = fn.pmod(minute, fn.lit(60)) / 60.0
    now, later = _pick(hours, hour), _pick(hours[1:] + hours[:1], hour)
    day = fn.pmod(fn.floor((minute - _MONDAY) / 1440), fn.lit(7)).cast("int")
    return (now + (later - now) * within) * _pick(days, day)


def _pick(values: list[float], index: Column) -> Column:
    return fn.get(fn.array(*[fn.lit(value) for value in values]), index)


def _noisy(mean: Column, minute: Column, noise: float, seed: int) -> Column:
    spread = fn.sqrt(mean) * normal(seed, "rows", minute) * noise
    return fn.floor(fn.greatest(mean + spread, fn.lit(0.0)) + uniform(seed, "rounding", minute))


def _in_burst(minute: Column, burst: Burst) -> Column:
    passed = minute * MINUTE - burst.at
    if burst.every is not None:
        return (passed >= 0) & (fn.pmod(passed, fn.lit(burst.every)) < burst.lasts)
    return (passed >= 0) & (passed < burst.lasts)
