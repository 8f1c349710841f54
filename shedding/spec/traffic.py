"""The knobs of the generators: how many rows when, which keys, and what changes over time."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from shedding.fields import Number, Spec, Whole
from shedding.spec.times import Duration, Instant

Weight = Annotated[Number, Field(ge=0)]


class Burst(Spec):
    """For a while, `factor` times the rows; with `every` it comes back, and `key` takes the rows that are added."""

    at: Instant
    lasts: Duration
    factor: Number = Field(gt=0)
    every: Duration | None = None
    key: Whole | None = Field(default=None, ge=0, description="rank of the one key that the added rows have")

    @model_validator(mode="after")
    def _ends_before_it_returns(self) -> Burst:
        if self.every is not None and self.every <= self.lasts:
            raise ValueError("a burst's `every` must be longer than it lasts")
        if self.key is not None and self.factor <= 1:
            raise ValueError("a burst's `key` takes added rows: factor must be above 1")
        return self


class Shift(Spec):
    """From an instant on, values times `factor` and the popularity of the keys moved on by `rotate` ranks."""

    at: Instant
    factor: Number = Field(default=1.0, gt=0)
    rotate: Whole = Field(default=0, ge=0)


class Traffic(Spec):
    """What all generators share. Weights are relative: a mean hour or day has weight 1."""

    columns: ClassVar[tuple[str, ...]] = ()

    keys: Whole = Field(default=3_000, gt=0, description="how many keys live at a time")
    skew: Number = Field(default=1.1, gt=0, description="exponent s of popularity (rank + flatten)^-s")
    flatten: Number = Field(default=3.0, ge=0, description="how flat the head of the popularity is")
    head: Number = Field(default=0.0, ge=0, lt=1, description="share of the rows that the first key has beforehand")
    churn: Number = Field(default=0.0, ge=0, le=1, description="share of the keys that die and are born anew")
    lifetime: Duration = Field(default=86_400_000_000, description="how long a mortal key lives")
    hours: list[Weight] = Field(default_factory=lambda: [1.0] * 24, description="rhythm of the day, from midnight")
    days: list[Weight] = Field(default_factory=lambda: [1.0] * 7, description="rhythm of the week, from Monday")
    noise: Number = Field(default=1.0, ge=0, description="spread of a minute's rows, in square roots of their mean")
    bursts: list[Burst] = Field(default_factory=list)
    shifts: list[Shift] = Field(default_factory=list)

    @model_validator(mode="after")
    def _rhythm_is_whole(self) -> Traffic:
        for name, weights, count in (("hours", self.hours, 24), ("days", self.days, 7)):
            if len(weights) != count or sum(weights) <= 0:
                raise ValueError(f"{name} needs {count} weights of which one is above 0, not {len(weights)}")
        return self


class TaxiTraffic(Traffic):
    """City taxi trips over routes."""

    columns: ClassVar[tuple[str, ...]] = (
        "pickup_datetime", "route", "pickup_zone", "dropoff_zone", "fare_amount",
        "trip_distance", "duration", "passenger_count", "payment_type", "tip_amount",
    )  # fmt: skip

    zones: Whole = Field(default=260, gt=1)


class ClusterTraffic(Traffic):
    """Task events of a compute cluster over users; a user submits in runs, so a minute belongs to few."""

    columns: ClassVar[tuple[str, ...]] = (
        "time", "job_id", "task_index", "event_type",
        "user_id", "scheduling_class", "priority", "cpu_request", "memory_request",
    )  # fmt: skip

    classes: Whole = Field(default=4, gt=0)
    runs: Number = Field(default=0.0, ge=0, lt=1, description="share of rows that follow the minute's own user")


class PacketTraffic(Traffic):
    """Packets over frame sizes."""

    columns: ClassVar[tuple[str, ...]] = ("time", "size", "source_host", "destination_host")

    smallest: Whole = Field(default=64, gt=0)
    largest: Whole = Field(default=1_518, gt=0)


class BasketTraffic(Traffic):
    """Baskets of items; a row is one item of a basket."""

    columns: ClassVar[tuple[str, ...]] = ("time", "transaction", "item")

    basket: Number = Field(default=8.0, ge=1, description="mean items of a basket")


class ReviewTraffic(Traffic):
    """Reviews over products; the words of a text have a lognormal law, so a few texts are very long."""

    columns: ClassVar[tuple[str, ...]] = ("time", "product", "text", "stars", "longitude", "latitude")

    words: Number = Field(default=30.0, ge=1, description="median words of a text")
    spread: Number = Field(default=1.2, ge=0, le=3, description="standard deviation of their logarithm")
    longest: Whole = Field(default=5_000, gt=0, description="no text has more words")


TRAFFIC: dict[str, type[Traffic]] = {
    "taxi": TaxiTraffic,
    "cluster": ClusterTraffic,
    "packets": PacketTraffic,
    "transactions": BasketTraffic,
    "reviews": ReviewTraffic,
}
