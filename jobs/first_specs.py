"""A dataset and a query, written down for the first time from a sample of the rows.

The guesses are plain and said in comments beside what they chose: the first timestamp is the event time, the text or
whole number with the most values that still repeat is the key, the first number that is no key is averaged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shedding.errors import SourceError, SpecError
from shedding.spec.times import UNITS, format_duration

ROWS = 200_000
"""How many rows of a file are looked at."""
WINDOWS = [UNITS["minute"] * 5, UNITS["minute"] * 30, UNITS["hour"], UNITS["hour"] * 6, UNITS["day"]]
ROWS_A_WINDOW = 1000
REPEATS = 20
"""A key has at least so many rows on average in the sample, else it looks like an identifier."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the owner named; None: chosen here."""

    time: str | None = None
    key: str | None = None
    measure: str | None = None


@dataclass(frozen=True)
class Sample:
    """The first rows of a file."""

    file: Path
    kind: str
    rows: pa.Table

    @classmethod
    def of(cls, file: Path) -> Sample:
        """Read the beginning of a CSV or Parquet file; SourceError where it is neither."""
        import pyarrow.csv
        import pyarrow.parquet

        try:
            if file.suffix == ".parquet":
                batches = pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=ROWS)
                return cls(file, "parquet", pa.Table.from_batches([next(batches)]))
            with pyarrow.csv.open_csv(file, pyarrow.csv.ReadOptions(block_size=1 << 24)) as reader:
                return cls(file, "csv", pa.Table.from_batches([reader.read_next_batch()]).slice(0, ROWS))
        except (pa.ArrowInvalid, OSError, StopIteration) as error:
            text = str(error) or "it has no rows"
            raise SourceError(
                f"{file} cannot be read as {file.suffix or 'CSV'}: {text}; name a CSV or Parquet file"
            ) from error


def first_specs(name: str, sample: Sample, choices: Choices) -> dict[str, str]:
    """The texts of `datasets/<name>.yaml` and `queries/<query>.yaml`, by path."""
    time, key, measure = _time(sample, choices), _key(sample, choices), _measure(sample, choices)
    window, per_window, keys = _window(sample.rows, time, key)
    query = f"{name}_by_{_plain(key)}"[:63]
    return {
        f"datasets/{name}.yaml": _dataset(name, sample, time, window),
        f"queries/{query}.yaml": _query(query, name, key, measure, window, per_window, keys),
    }


def _dataset(name: str, sample: Sample, time: str, window: int) -> str:
    columns = "\n".join(_column(field, field.name == time) for field in sample.rows.schema)
    return f"""name: {name}
description: Rows of {sample.file.name}
source: {{kind: {sample.kind}, path: "{name}/*{sample.file.suffix}"}}   # a glob below the landing directory
schedule: {{every: {format_duration(max(window, UNITS["hour"]))}}}   # how often the landing directory is looked at
event_time: {{column: {_plain(time)}}}   # when the row's event happened; windows are cut by it
# allowed_lateness: 1 day   # rows later than this change nothing that is published
columns:   # a row that breaks a type or a constraint goes to quarantine/{name}, with the reason
{columns}
"""


def _column(field: pa.Field, is_time: bool) -> str:
    own = _plain(field.name)
    parts = [f"name: {own}"] + ([f'source: "{field.name}"'] if own != field.name else [])
    kind = _type(field.type)
    parts += [f"type: {kind}"] if kind != "string" else []
    hint = "   # min: 0, max: 10000 say what a sound value is" if kind == "double" else ""
    return f"  - {{{', '.join([*parts, *(['required: true'] if is_time else [])])}}}{hint}"


def _query(query: str, dataset: str, key: str, measure: str, window: int, per_window: float, keys: float) -> str:
    floor = keys / per_window
    budget = min(0.5, max(0.02, math.ceil(150 * floor) / 100))
    slot = max(window, UNITS["hour"])
    return f"""name: {query}
dataset: {dataset}
window: {{size: {format_duration(window)}}}   # add slide: for windows that overlap
group_by: [{_plain(key)}]
measures:
  - {{name: mean_{_plain(measure)}, agg: avg, column: {_plain(measure)}}}   # or sum, ratio, stddev, variance, quantile
  - {{name: rows_seen, agg: count}}
schedule: {{every: {format_duration(slot)}}}   # one run computes the windows that end in it
shed:
  policy: posterior   # or exact (no shedding), uniform, proportional, cod, optimal, k_optimal, load_aware
  # The sample has {per_window:.0f} rows and {keys:.0f} keys in its median window: no sampler shows every key below
  # {floor:.1%} of the rows. `sluice profile {dataset}` says it of all rows, `sluice compare {query}` compares budgets.
  budget: {{fraction: {budget:g}}}
audit: {{one_in: 4}}   # one slot in four is exact too, and its errors are measured
gate:
  mean_relative_error: 0.10   # over the keys of a window; what is over it is repaired, or kept back
  missing_keys: 0
  on_failure: repair   # or quarantine, widen, ask
objective: {{share: 0.99, over: 28 days}}   # of all windows, published and within their limits
"""


def _time(sample: Sample, choices: Choices) -> str:
    times = [field.name for field in sample.rows.schema if pa.types.is_timestamp(field.type)]
    return _chosen("time", choices.time, times, sample, "no column holds timestamps; write ISO ones into the file")


def _key(sample: Sample, choices: Choices) -> str:
    if choices.key is not None:
        return _chosen("by", choices.key, sample.rows.column_names, sample, "")
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_dictionary)
    fields = [field.name for field in sample.rows.schema if any(kind(field.type) for kind in kinds)]
    values = {name: pc.count_distinct(sample.rows[name]).as_py() for name in fields}
    fit = [name for name in fields if 1 < values[name] <= max(2, sample.rows.num_rows // REPEATS)]
    best = sorted(fit, key=lambda name: -values[name])
    return _chosen("by", None, best, sample, "no column repeats its values; name the key with --by")


def _measure(sample: Sample, choices: Choices) -> str:
    floats = [field.name for field in sample.rows.schema if pa.types.is_floating(field.type)]
    whole = [field.name for field in sample.rows.schema if pa.types.is_integer(field.type)]
    numbers = [*floats, *whole]
    return _chosen("measure", choices.measure, numbers, sample, "no column holds numbers; name one with --measure")


def _chosen(option: str, named: str | None, fit: Sequence[str], sample: Sample, nothing: str) -> str:
    if named is not None and named not in fit:
        there = ", ".join(fit) or "none"
        raise SpecError(f"--{option} {named}: no such column of {sample.file.name} would do; these would: {there}")
    if named is None and not fit:
        raise SpecError(f"{sample.file.name}: {nothing}")
    return named or fit[0]


def _window(rows: pa.Table, time: str, key: str) -> tuple[int, float, float]:
    """A length of windows with enough rows each, and the rows and keys of the median one."""
    instants = rows[time].cast(pa.timestamp("us", rows[time].type.tz), safe=False).cast(pa.int64()).drop_null()
    at = np.asarray(instants.to_numpy(), dtype=np.int64)
    if not at.size:
        raise SpecError(f"column {time} has no value in the sample; name another with --time")
    codes = np.asarray(rows.filter(pc.is_valid(rows[time]))[key].combine_chunks().dictionary_encode().indices)
    for length in WINDOWS:
        window, counts = np.unique(at // length, return_counts=True)
        if np.median(counts) >= ROWS_A_WINDOW or length == WINDOWS[-1]:
            break
    pairs = np.unique(np.stack([np.searchsorted(window, at // length), codes.astype(np.int64)]), axis=1)
    keys = np.bincount(pairs[0], minlength=window.size)
    return length, float(np.median(counts)), float(np.median(keys))


def _type(kind: pa.DataType) -> str:
    if pa.types.is_timestamp(kind):
        return "timestamp"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "double"
    return "bigint" if pa.types.is_integer(kind) else "string"


def _plain(name: str) -> str:
    """A column's name as specifications may write it."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower() or "column"
    return plain if plain[0].isalpha() else f"c_{plain}"
