"""A dataset as its owner writes it: where rows come from, what they must look like, how they are kept."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from shedding.fields import Column, Expression, Name, Number, Spec, Tag, Whole, Words
from shedding.spec.notations import DatePattern, Delimiter, Glob, RegularExpression, TimeZone
from shedding.spec.reserved_names import RESERVED
from shedding.spec.times import UNITS, Duration, Instant, format_duration, parse_instant
from shedding.spec.traffic import TRAFFIC, Traffic

ColumnType = Literal["string", "int", "bigint", "double", "boolean", "timestamp", "date", "array<string>"]


class ColumnSpec(Spec):
    """A declared column: its type and the constraints a row must meet, else it is quarantined."""

    name: Column
    type: ColumnType = "string"
    source: Words | None = Field(default=None, description="the column's name in the file, where it differs")
    format: DatePattern | None = Field(default=None, description="pattern of a timestamp or date in text")
    required: bool = Field(default=False, description="a missing value is a broken row")
    min: Number | None = None
    max: Number | None = None
    one_of: list[str] | None = Field(default=None, min_length=1)
    matches: RegularExpression | None = Field(default=None, description="regular expression the whole text must match")

    @model_validator(mode="after")
    def _constraints_fit_the_type(self) -> ColumnSpec:
        numeric = self.type in ("int", "bigint", "double")
        if (self.min is not None or self.max is not None) and not numeric:
            raise ValueError(f"min and max are for numbers and column {self.name} is a {self.type}; remove them")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max} on column {self.name}; swap them")
        if self.format is not None and self.type not in ("timestamp", "date"):
            raise ValueError(f"format is for timestamps and dates and column {self.name} is a {self.type}; remove it")
        if (self.matches is not None or self.one_of is not None) and self.type != "string":
            raise ValueError(f"one_of and matches are for strings and column {self.name} is a {self.type}")
        return self


class GeneratorSource(Spec):
    """Rows made by the project itself: those of [from, to) depend on this block and the interval only."""

    kind: Literal["generator"]
    generator: Literal["taxi", "cluster", "packets", "transactions", "reviews"] = "taxi"
    rows_per_hour: Whole = Field(default=20_000, gt=0)
    seed: Whole = 0
    parameters: dict[str, Any] = Field(default_factory=dict, description="the generator's own knobs")

    @model_validator(mode="after")
    def _knobs_are_known(self) -> GeneratorSource:
        _ = self.traffic
        return self

    @property
    def traffic(self) -> Traffic:
        """The knobs, checked and with their defaults."""
        return TRAFFIC[self.generator].model_validate(self.parameters)

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that a dataset may declare."""
        return self.traffic.columns


class FileSource(Spec):
    """Files dropped into the landing directory."""

    path: Glob = Field(description="glob below the landing directory")

    @property
    def made(self) -> tuple[str, ...] | None:
        """The columns that a dataset may declare, where every file has the same."""
        return None


class DelimitedSource(FileSource):
    """Lines of text, one record a line; gzip by the file's ending."""

    kind: Literal["csv"]
    delimiter: Delimiter = Field(default=",", description="one character, or the words 'whitespace' or 'tab'")
    header: bool = True
    ragged: bool = Field(
        default=False, description="missing last fields are missing values, empty fields too many are ignored"
    )


class ParquetSource(FileSource):
    """Parquet files; a column may change between integer and floating point from file to file."""

    kind: Literal["parquet"]


class TransactionSource(FileSource):
    """One basket of items a line; the columns `transaction` and `item` (or `items`) come from it."""

    kind: Literal["transactions"]
    delimiter: Literal["whitespace", "comma", "any"] = Field(default="any", description="any: blanks or commas")
    items: Literal["exploded", "kept"] = "exploded"

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that a dataset may declare."""
        own = ("item", "position") if self.items == "exploded" else ("items", "size")
        return (*own, "transaction", "file")


Source = Annotated[GeneratorSource | DelimitedSource | ParquetSource | TransactionSource, Field(discriminator="kind")]


class ArrivalSpec(Spec):
    """Event time made from the order of the lines, for data that has none."""

    starts: Instant
    per_second: Number = Field(gt=0, description="records that arrive in a second")


class EventTimeSpec(Spec):
    """How a row's event time is read, and the range outside which it is an error."""

    column: Column | None = None
    unit: Literal["timestamp", "seconds", "milliseconds", "microseconds", "nanoseconds"] = "timestamp"
    since: Instant = Field(default=0, description="the instant that a numeric time counts from")
    zone: TimeZone = Field(default="UTC", description="zone of texts and timestamps that carry none")
    arrival: ArrivalSpec | None = None
    not_before: Instant = parse_instant("1980-01-01")
    not_after: Instant = parse_instant("2100-01-01")

    @model_validator(mode="after")
    def _one_origin(self) -> EventTimeSpec:
        if (self.column is None) == (self.arrival is None):
            raise ValueError("event_time needs exactly one of column and arrival")
        if self.not_before >= self.not_after:
            raise ValueError("event_time: not_before must be earlier than not_after")
        return self


class DatasetSchedule(Spec):
    """How often the dataset's DAG ingests."""

    every: Duration


class LayoutSpec(Spec):
    """`ranked` orders files by each row's rank within (pane, key): few bytes for small samples.

    The best pane is the slot of the queries: a slot has one rate a key, so then no fuller pane asks for deeper ranks.
    """

    kind: Literal["plain", "ranked"] = "plain"
    keys: list[Column] = Field(default_factory=list)
    pane: Duration | None = None

    @model_validator(mode="after")
    def _ranked_names_its_keys(self) -> LayoutSpec:
        if self.kind == "ranked" and (not self.keys or self.pane is None):
            raise ValueError(
                "layout: ranked needs keys (the columns its queries group by) and pane (their slot), e.g. '1 hour'"
            )
        return self

    @property
    def id(self) -> str | None:
        """What the arrivals log notes of a source whose rows were ranked like this; None for plain.

        Several keys were once ranked by a hash that mistook keys with nulls for each other: such sources have another
        note, and their ranks bound nothing.
        """
        if self.kind == "plain":
            return None
        nulls = ", nulls apart" if len(self.keys) > 1 else ""
        return f"ranked by {', '.join(self.keys)} in {self.pane}{nulls}"


class DatasetSpec(Spec):
    """One dataset, one file `datasets/<name>.yaml`."""

    name: Name
    description: str = ""
    owner: Words = "data-platform"
    tags: list[Tag] = Field(default_factory=list)
    source: Source
    schedule: DatasetSchedule
    event_time: EventTimeSpec
    columns: list[ColumnSpec] = Field(min_length=1)
    derived: dict[Column, Expression] = Field(default_factory=dict, description="name: Spark SQL expression")
    exclude: dict[Words, Expression] = Field(default_factory=dict, description="reason: condition of rows not counted")
    identity: list[Column] = Field(default_factory=list, description="columns that identify a row; none: its place")
    partition: Literal["date", "hour"] = "date"
    layout: LayoutSpec = LayoutSpec()
    allowed_lateness: Duration = Field(default=86_400_000_000)
    retention: Duration = Field(default=7 * 86_400_000_000, description="VACUUM keeps this much history")

    @model_validator(mode="after")
    def _names_are_consistent(self) -> DatasetSpec:
        names = self.column_names
        lower = [name.lower() for name in names]  # Spark's names do not differ by case
        doubled = sorted({name for name in names if lower.count(name.lower()) > 1})
        if doubled:
            raise ValueError(f"columns and derived declare {', '.join(doubled)} more than once; rename one")
        reserved = sorted(name for name in names if name.startswith("_") or name.lower() in RESERVED)
        if reserved:
            raise ValueError(f"column name {', '.join(reserved)} is reserved by Sluice; rename it with `source:`")
        for key, used in (("identity", self.identity), ("layout.keys", self.layout.keys)):
            for name in used:
                if name not in names:
                    raise ValueError(f"{key} names {name!r}, which is no declared column; declared: {', '.join(names)}")
            if len(set(used)) != len(used):
                raise ValueError(f"{key} names a column twice; remove one")
        return self

    @model_validator(mode="after")
    def _schedule_fits_the_source(self) -> DatasetSpec:
        if self.source.kind == "generator" and self.schedule.every % UNITS["minute"]:
            raise ValueError(
                f"schedule.every is {format_duration(self.schedule.every)}, and a generator makes whole minutes; "
                f"write e.g. 1 minute"
            )
        return self

    @model_validator(mode="after")
    def _event_time_can_be_read(self) -> DatasetSpec:
        name, unit = self.event_time.column, self.event_time.unit
        if name is None:
            return self
        types = {column.name: column.type for column in self.columns}
        if name not in types:
            raise ValueError(
                f"event_time.column names {name!r}, which is no declared column; declared: {', '.join(types)}"
            )
        if unit == "timestamp" and types[name] not in ("timestamp", "date"):
            remedy = "declare it a timestamp" if types[name] == "string" else "write its unit, e.g. unit: seconds"
            raise ValueError(f"event_time.column names {name!r}, a {types[name]}, not a timestamp; {remedy}")
        if unit != "timestamp" and types[name] not in ("int", "bigint", "double"):
            raise ValueError(f"event_time.unit is {unit} and {name!r} a {types[name]}; declare it a number, or no unit")
        return self

    @model_validator(mode="after")
    def _columns_come_from_the_source(self) -> DatasetSpec:
        wanted = [column.source or column.name for column in self.columns]
        doubled = sorted({name for name in wanted if wanted.count(name) > 1})
        if doubled:
            raise ValueError(f"two columns read {doubled[0]!r} of the source; declare it once and derive the other")
        made = self.source.made
        missing = [name for name in wanted if made is not None and name not in made]
        if made is not None and missing:
            raise ValueError(f"its source makes no column {missing[0]!r}; it makes: {', '.join(made)}")
        lists = [column.name for column in self.columns if column.type == "array<string>"]
        if lists and self.source.kind not in ("parquet", "transactions"):
            raise ValueError(f"column {lists[0]} is a list, which {self.source.kind} cannot hold; declare a string")
        return self

    @property
    def column_names(self) -> list[str]:
        """Every column a query may use: declared, then derived."""
        return [column.name for column in self.columns] + list(self.derived)
