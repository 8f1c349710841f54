"""From what a file holds to what a dataset declares: typed columns, and the first thing wrong with a row.

Every failing row gets one number, the place of its check in a list that follows the order of the columns; good
rows get 0. Numbers cost little per row, and the words are made only for the rows that are quarantined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.spec.dataset import ColumnSpec, EventTimeSpec
from shedding.spec.notations import has_zone, without_optional_zone
from shedding.spec.times import format_instant

_MICROS_PER_UNIT = {"seconds": 1e6, "milliseconds": 1e3, "microseconds": 1.0, "nanoseconds": 1e-3}
_WRONG_TYPE = {
    "int": "not a whole number that fits 32 bits",
    "bigint": "not a whole number that fits 64 bits",
    "double": "not a finite number",
    "boolean": "not true or false",
    "timestamp": "not a timestamp",
    "date": "not a date",
}
_INFINITE = [float("inf"), float("-inf")]


@dataclass(frozen=True)
class Check:
    """A way for a row to be broken: when, in which column, and the words for it."""

    broken: Column
    column: Column
    reason: Column


def raw_name(index: int) -> str:
    """The column that holds what the source gave for the declared column number `index`."""
    return f"_r{index}"


def parsed(column: ColumnSpec, raw: Column, kind: str, zone: str) -> Column:
    """The declared value of what the source gave, null where that is missing or cannot be read.

    `kind` is Spark's type name of what the source gave; texts and timestamps without zone are read in `zone`. A
    negative zero is zero: rows have their keys in one form (`normal_form`).
    """
    value = _value(column, raw, kind, zone)
    return value + fn.lit(0.0) if column.type == "double" else value


def _value(column: ColumnSpec, raw: Column, kind: str, zone: str) -> Column:
    if kind == "string":
        return _from_text(column, raw, zone)
    if column.type == "string":
        return raw.cast("string")
    if column.type == "timestamp":
        moment = raw.cast("timestamp")
        return moment if kind == "timestamp" else _to_utc(moment, zone)
    if kind in ("double", "float"):
        number = fn.when(~fn.isnan(raw), raw)
        if column.type in ("int", "bigint"):
            number = fn.when(raw == fn.floor(raw), raw)
        return number.try_cast(column.type)
    if kind.startswith("decimal") and column.type in ("int", "bigint"):
        return fn.when(raw == fn.floor(raw), raw).try_cast(column.type)
    return raw.try_cast(column.type)


def is_given(raw: Column, kind: str) -> Column:
    """Whether the source gave a value at all: blank text and NaN are missing values, not broken ones."""
    if kind == "string":
        return raw.isNotNull() & (fn.trim(raw) != "") & (fn.lower(fn.trim(raw)) != "nan")
    if kind in ("double", "float"):
        return raw.isNotNull() & ~fn.isnan(raw)
    return raw.isNotNull()


def column_checks(columns: list[ColumnSpec], kinds: Mapping[str, str]) -> list[Check]:
    """Every way a declared column can be broken, in the order of the columns; the parsed columns must be there."""
    checks: list[Check] = []
    for index, column in enumerate(columns):
        value, raw, kind = fn.col(f"`{column.name}`"), fn.col(raw_name(index)), kinds[column.name]

        def check(broken: Column, words: str, shown: Column | None = None, name: str = column.name) -> None:
            reason = fn.lit(words) if shown is None else fn.concat(fn.lit(f"{words}: "), shown.cast("string"))
            checks.append(Check(broken, fn.lit(name), reason))

        if column.type in _WRONG_TYPE and (kind != column.type or kind == "double"):
            checks.append(unreadable(column, value, raw, kind))
        if column.required:
            check(value.isNull(), "missing")
        if column.min is not None:
            check(value < column.min, f"below the minimum {column.min:.15g}", value)
        if column.max is not None:
            check(value > column.max, f"above the maximum {column.max:.15g}", value)
        if column.one_of is not None:
            check(~value.isin(column.one_of), f"not one of {', '.join(column.one_of)}", value)
        if column.matches is not None:
            # Not $, which also stands before an end of line: the whole text must match, one at its end among it.
            check(~value.rlike(rf"\A(?:{column.matches})\z"), f"does not match {column.matches}", value)
    return checks


def unreadable(column: ColumnSpec, value: Column, raw: Column, kind: str) -> Check:
    """The source gave something that is no value of the declared type."""
    broken = value.isNull() & is_given(raw, kind) if kind != column.type else fn.lit(False)
    if column.type == "double":
        broken = broken | value.isin(_INFINITE)
    reason = fn.concat(fn.lit(f"{_WRONG_TYPE[column.type]}: "), raw.cast("string"))
    return Check(broken, fn.lit(column.name), reason)


def micros_of(nanos: Column) -> Column:
    """Whole microseconds of whole nanoseconds, cut and never rounded up: the last instant of a window stays in it."""
    return fn.call_function("div", nanos - fn.pmod(nanos, fn.lit(1000)), fn.lit(1000))


def event_time(spec: EventTimeSpec, types: Mapping[str, str], line: Column) -> Column:
    """A row's event time, null where it has none; `line` counts a file's records from 1."""
    if spec.arrival is not None:
        passed = fn.floor((line - 1) * (1e6 / spec.arrival.per_second))
        return fn.timestamp_micros(fn.lit(spec.arrival.starts) + passed)
    assert spec.column is not None
    value = fn.col(f"`{spec.column}`")
    if spec.unit == "timestamp":
        return value.cast("timestamp")
    factor, whole = _MICROS_PER_UNIT[spec.unit], types[spec.column] in ("int", "bigint")
    if whole and spec.unit == "nanoseconds":
        passed = micros_of(value.cast("bigint"))
    elif whole:
        passed = fn.try_multiply(value.cast("bigint"), fn.lit(int(factor)))
    else:
        passed = fn.round(value * factor).try_cast("bigint")
    return fn.timestamp_micros(fn.try_add(fn.lit(spec.since), passed))


def event_checks(spec: EventTimeSpec) -> list[Check]:
    """Event time is there and inside the declared range."""
    moment, name = fn.col("event_time"), fn.lit(spec.column or "event_time")
    return [
        Check(moment.isNull(), name, fn.lit("missing or unreadable event time")),
        Check(
            moment < fn.timestamp_micros(fn.lit(spec.not_before)),
            name,
            fn.concat(fn.lit(f"event time before {format_instant(spec.not_before)}: "), moment.cast("string")),
        ),
        Check(
            moment >= fn.timestamp_micros(fn.lit(spec.not_after)),
            name,
            fn.concat(fn.lit(f"event time not before {format_instant(spec.not_after)}: "), moment.cast("string")),
        ),
    ]


def verdict_of(checks: list[Check], exclusions: list[Column], timing: list[Check]) -> Column:
    """0 for a row to keep; the number of the first check it breaks, `timing` counted after `checks`; minus the number
    of the exclusion it meets. Checks come before exclusions and these before timing; all are counted from 1. Null for
    what is no record (`_idle`).
    """
    cases = [(check.broken, number) for number, check in enumerate(checks, 1)]
    cases += [(condition, -number) for number, condition in enumerate(exclusions, 1)]
    cases += [(check.broken, number) for number, check in enumerate(timing, len(checks) + 1)]
    verdict = fn.when(fn.col("_idle"), None)
    for broken, number in cases:
        verdict = verdict.when(broken, number)
    return verdict.otherwise(0)


def words_for(number: Column, checks: list[Check], part: Callable[[Check], Column]) -> Column:
    """What `part` says of the check that `number` names."""
    words = fn.when(number == 1, part(checks[0]))
    for place, check in enumerate(checks[1:], 2):
        words = words.when(number == place, part(check))
    return words


def _from_text(column: ColumnSpec, raw: Column, zone: str) -> Column:
    if column.type == "string":
        return fn.when(raw != "", raw)
    if column.type == "double":
        # Java also takes 1d, 2.5F and 0x1p3 for numbers. Six searches are faster than one regular expression.
        odd = reduce(or_, (fn.contains(raw, fn.lit(letter)) for letter in "dDfFxX"))
        return fn.nanvl(fn.when(~odd, raw.try_cast("double")), fn.lit(None))
    if column.type in ("timestamp", "date"):
        moment = _moment(column, raw)
        if column.type == "date":
            return moment.cast("date")
        return moment if zone == "UTC" else fn.when(_zoned(column, raw), moment).otherwise(_to_utc(moment, zone))
    return raw.try_cast(column.type)


_ZONED = (
    r"(?i)(\d\s*(z|utc|gmt|[+-]\d{1,2}:?\d{2})"
    r"|:\d{1,2}([.]\d+)?\s*([a-z][a-z0-9_/+-]*|[+-]\d{1,2}(:?\d{2}){0,2}))\s*$"  # also a zone's name, or hours alone
)


def _zoned(column: ColumnSpec, raw: Column) -> Column:
    """Whether the text has a zone of its own: the pattern requires one, or the text does not parse without it.

    The pattern says so, not the text: the year of 15-11-2024 is no offset, nor is the PM of 10:15:00 PM a zone.
    """
    if column.format is None:
        return raw.rlike(_ZONED)
    bare = without_optional_zone(column.format)
    if bare == column.format or has_zone(bare):
        return fn.lit(has_zone(bare))
    return fn.try_to_timestamp(raw, fn.lit(bare)).isNull()


def _moment(column: ColumnSpec, raw: Column) -> Column:
    if column.format is not None:
        return fn.try_to_timestamp(raw, fn.lit(column.format))
    # Spark would also read a bare year or a time of "today"; neither is a timestamp here.
    dated = (fn.octet_length(fn.trim(raw)) >= 10) & (fn.substring(fn.trim(raw), 5, 1) == "-")
    return fn.when(dated, raw.try_cast("timestamp"))


def _to_utc(moment: Column, zone: str) -> Column:
    return moment if zone == "UTC" else fn.to_utc_timestamp(moment, zone)
