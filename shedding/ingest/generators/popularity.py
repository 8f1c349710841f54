"""Which key a row has: heavy-tailed ranks, keys that die and are born, and days on which all changes."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.rhythm import MINUTE, burst_key, uniform
from shedding.spec.traffic import Traffic


def rank_of(traffic: Traffic, place: Column) -> Column:
    """The rank in 0 .. keys - 1 at `place` in [0, 1): popularity (rank + 1 + flatten)^-skew.

    Zipf and Mandelbrot's law, inverted in closed form on the continuous rank.
    """
    whole, place = place, (place - traffic.head) / (1.0 - traffic.head) if traffic.head else place
    low, high = 1.0 + traffic.flatten, 1.0 + traffic.flatten + traffic.keys
    if abs(traffic.skew - 1.0) < 1e-9:
        value = fn.lit(low) * fn.pow(fn.lit(high / low), place)
    else:
        power = 1.0 - traffic.skew
        value = fn.pow(fn.lit(low**power) + place * fn.lit(high**power - low**power), fn.lit(1.0 / power))
    rank = fn.floor(value - low).cast("bigint")
    rank = fn.least(fn.greatest(rank, fn.lit(0)), fn.lit(traffic.keys - 1)).cast("bigint")
    return fn.when(whole < traffic.head, fn.lit(0)).otherwise(rank) if traffic.head else rank


def key_of(traffic: Traffic, place: Column, minute: Column, index: Column, calm: Column, seed: int) -> Column:
    """The key, a number: its rank after shifts and bursts, and the generation of a mortal one above it."""
    rank = fn.coalesce(burst_key(traffic, minute, index, calm), rank_of(traffic, place))
    for shift in sorted(traffic.shifts, key=lambda s: s.at):
        if shift.rotate:
            moved = fn.pmod(rank + shift.rotate, fn.lit(traffic.keys))
            rank = fn.when(minute * MINUTE >= shift.at, moved).otherwise(rank)
    if not traffic.churn:
        return rank
    # Each mortal key dies at a time of its own, so that births and deaths are spread evenly.
    birthday = fn.floor(uniform(seed, "birthday", rank) * traffic.lifetime)
    generation = fn.floor((minute * MINUTE + birthday) / traffic.lifetime).cast("bigint")
    mortal = uniform(seed, "mortal", rank) < traffic.churn
    return rank + fn.when(mortal, generation * traffic.keys).otherwise(0)


def value_factor(traffic: Traffic, minute: Column) -> Column:
    """What the shifts up to a minute multiply values by."""
    factor = fn.lit(1.0)
    for shift in traffic.shifts:
        factor = factor * fn.when(minute * MINUTE >= shift.at, fn.lit(shift.factor)).otherwise(1.0)
    return factor
