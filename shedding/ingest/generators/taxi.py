"""City taxi trips: heavy-tailed over routes, each with a length of its own; speed follows the hour."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.popularity import key_of, value_factor
from shedding.ingest.generators.rhythm import MINUTE, normal, uniform
from shedding.spec.dataset import GeneratorSource
from shedding.spec.traffic import TaxiTraffic


def taxi_trips(source: GeneratorSource) -> dict[str, Column]:
    """Columns of a trip, from `minute`, `index` and `calm`."""
    traffic, seed = source.traffic, source.seed
    assert isinstance(traffic, TaxiTraffic)
    minute, index = fn.col("minute"), fn.col("index")

    def draw(name: str) -> Column:
        return uniform(seed, name, minute, index)

    route = key_of(traffic, draw("route"), minute, index, fn.col("calm"), seed)
    # A route's own numbers hang on the route alone, so that its fare has a mean to be estimated.
    pickup = fn.floor(fn.pow(uniform(seed, "pickup", route), fn.lit(1.6)) * traffic.zones) + 1
    dropoff = fn.floor(uniform(seed, "dropoff", route) * traffic.zones) + 1
    length = fn.exp(fn.lit(0.9) + normal(seed, "length", route) * 0.7)
    miles = fn.greatest(length * fn.exp(normal(seed, "miles", minute, index) * 0.12), fn.lit(0.1))
    hour = fn.pmod(fn.floor(minute / 60), fn.lit(24))
    busy = fn.when(hour.between(7, 9) | hour.between(16, 19), 0.65).otherwise(1.0)
    minutes_long = miles / (busy * 12.0) * 60 * fn.exp(normal(seed, "pace", minute, index) * 0.25)
    fare = (2.5 + miles * 2.5 + minutes_long * 0.2) * value_factor(traffic, minute)
    paid = draw("payment")
    seconds = fn.floor(draw("second") * MINUTE)
    return {
        "pickup_datetime": fn.timestamp_micros((minute * MINUTE + seconds).cast("bigint")),
        "route": fn.concat(
            pickup.cast("string"), fn.lit("-"), dropoff.cast("string"), fn.lit("-"), route.cast("string")
        ),
        "pickup_zone": pickup.cast("int"),
        "dropoff_zone": dropoff.cast("int"),
        "fare_amount": fn.round(fare, 2),
        "trip_distance": fn.round(miles, 2),
        "duration": fn.round(minutes_long * 60).cast("int"),
        "passenger_count": (fn.floor(fn.pow(draw("passengers"), fn.lit(3.0)) * 6) + 1).cast("int"),
        "payment_type": fn.when(paid < 0.55, "card").when(paid < 0.985, "cash").otherwise("other"),
        "tip_amount": fn.when(paid < 0.55, fn.round(fare * draw("tip") * 0.4, 2)).otherwise(0.0),
    }
