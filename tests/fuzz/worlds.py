"""Random datasets and queries, all of a seed: rows that are hard to group, to add up or to date."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from shedding.spec.times import parse_instant

MINUTE = 60_000_000
ERAS = {
    "this one": "2024-02-28T22:00:00Z",
    "the epoch": "1969-12-31T23:00:00Z",
    "the days that Rome left out": "1582-10-08T23:00:00Z",
    "before Gregory": "1491-02-28T23:00:00Z",
    "three digits": "0999-12-31T23:00:00Z",
    "the first year": "0001-06-01T23:00:00Z",
    "far ahead": "9998-12-31T23:00:00Z",
}
TEXTS = [
    "a", "A", "a ", "ä", "a\u0308", "ß", "SS", "\U0001f9ff", "\u202ex", "it's", 'q"`\\', "null", "{}", "e\u0301", None
]  # fmt: skip
NUMBERS = [0.0, -0.0, 1.5, -1.5, 0.1, 1e300, 5e-324, None]
IDS = [0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, None]
DAYS = [dt.date(1, 1, 1), dt.date(999, 12, 31), dt.date(1582, 10, 10), dt.date(1970, 1, 1), dt.date(9999, 12, 31), None]
CODES = 7
ODD = (
    "element_at(array(0.0D, -0.0D, CAST('NaN' AS DOUBLE), CAST('Infinity' AS DOUBLE), CAST('-Infinity' AS DOUBLE), "
    "1.5D, NULL), code + 1)"
)
DATASET: dict[str, Any] = {
    "name": "facts",
    "source": {"kind": "parquet", "path": "*.parquet"},
    "schedule": {"every": "1 hour"},
    "event_time": {"column": "at", "not_before": "0001-01-01", "not_after": "9999-12-31"},
    "columns": [
        {"name": "at", "type": "timestamp"},
        {"name": "k_text"},
        {"name": "k_id", "type": "bigint"},
        {"name": "k_num", "type": "double"},
        {"name": "k_day", "type": "date"},
        {"name": "k_flag", "type": "boolean"},
        {"name": "code", "type": "int"},
        {"name": "x", "type": "double"},
        {"name": "y", "type": "double"},
        {"name": "n", "type": "bigint"},
    ],
    "derived": {"odd": ODD, "price": "CAST(code AS DECIMAL(9, 2)) / 4", "slight": "CAST(k_num AS FLOAT)"},
}
KEYS = ["k_text", "k_id", "k_num", "k_day", "k_flag", "odd", "price", "slight"]
CONDITIONS = [
    None, None, "x > 0", "k_id IS NOT NULL", "k_text <> 'a'", "code IN (1, 2, 5)", "NOT k_flag", "x > 0 OR code = 3",
    "n % 2 = 0", "k_num = 0", "k_day < DATE '1600-01-01'", "k_text = 'it''s' OR x IS NULL",
]  # fmt: skip
WINDOWS = [(20, 20), (40, 20), (60, 20), (30, 30), (10, 20)]
"""Size and slide in minutes, of slots of an hour; the last leaves gaps."""
SLOT = 60 * MINUTE


@dataclass(frozen=True)
class World:
    """The rows of a seed, as a file has them and as their kept values are, and where they begin (microseconds)."""

    rows: pa.Table
    start: int


@dataclass(frozen=True)
class Shape:
    """What all queries of one comparison share."""

    group_by: list[str]
    where: str | None
    size: int
    slide: int
    magnitude: int

    def query(self, name: str, measures: list[dict[str, Any]], shed: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """One query of this shape."""
        window = {"size": f"{self.size} minutes", "slide": f"{self.slide} minutes"}
        content = {
            "name": name, "dataset": "facts", "window": window, "group_by": self.group_by, "measures": measures,
            "schedule": {"every": "1 hour"}, "shed": shed, "gate": {"missing_keys": None, "allow_empty": True},
            "audit": {"one_in": 1000},
        }  # fmt: skip
        return content | ({"where": self.where} if self.where else {}) | changes

    @property
    def estimated(self) -> list[dict[str, Any]]:
        """Measures that a sample can tell."""
        own = {"magnitude": self.magnitude}
        return [
            {"name": "rows_there", "agg": "count"},
            {"name": "mean_x", "agg": "avg", "column": "x", **own},
            {"name": "sum_x", "agg": "sum", "column": "x", **own},
            {"name": "mean_n", "agg": "avg", "column": "n", **own},
            {"name": "share", "agg": "ratio", "column": "x", "over": "y", **own},
            {"name": "spread_x", "agg": "stddev", "column": "x", **own},
            {"name": "spread_n", "agg": "variance", "column": "n", **own},
            {"name": "middle", "agg": "quantile", "q": 0.37, "column": "x", **own},
        ]

    @property
    def exact(self) -> list[dict[str, Any]]:
        """All kinds of measures."""
        columns = {"x": "x", "n": "n", "odd": "odd", "k_num": "k_num"}
        extremes = [
            {"name": f"{agg}_{name}", "agg": agg, "column": column}
            for name, column in columns.items()
            for agg in ("min", "max")
        ]
        texts = {"name": "texts", "agg": "count_distinct", "column": "k_text"}
        return [*self.estimated, *extremes, texts]


def world_of(rng: np.random.Generator) -> World:
    """Rows of four slots, their values all of one scale or of several."""
    start = parse_instant(ERAS[str(rng.choice(list(ERAS)))])
    size = int(rng.integers(80, 500))
    at = start + rng.integers(0, 4 * SLOT, size)
    scale = [1.0, 0.01, 1e-15, 1e-300, 1e6, 1e11, None][int(rng.integers(7))]
    scales = rng.choice([1e-12, 0.01, 1.0, 1e9], size) if scale is None else np.full(size, scale)
    x = np.round(rng.normal(0, 50, size)) * scales
    if rng.random() < 0.3:
        x = np.round(np.abs(x) * 100) / 100
    lows, highs = [(-50, 50), (2**30, 2**40 - 1), (2**53, 2**55)][int(rng.integers(3))]
    columns = {
        "at": pa.array(at, pa.timestamp("us")),
        "k_text": _drawn(rng, TEXTS, size, pa.string()),
        "k_id": _drawn(rng, IDS, size, pa.int64()),
        "k_num": _drawn(rng, NUMBERS, size, pa.float64()),
        "k_day": _drawn(rng, DAYS, size, pa.date32()),
        "k_flag": _drawn(rng, [True, False, None], size, pa.bool_()),
        "code": pa.array(rng.integers(0, CODES, size), pa.int32()),
        "x": pa.array(x, mask=rng.random(size) < 0.1),
        "y": pa.array(rng.integers(1, 9, size) / 8, mask=rng.random(size) < 0.1),
        "n": pa.array(rng.integers(lows, highs, size), mask=rng.random(size) < 0.1),
    }
    return World(pa.table(columns), start)


def shape_of(rng: np.random.Generator) -> Shape:
    """Up to three keys, a condition or none, and windows with or without overlap."""
    size, slide = WINDOWS[int(rng.integers(len(WINDOWS)))]
    chosen = rng.permutation(KEYS)[: int(rng.integers(0, 4))]
    where = CONDITIONS[int(rng.integers(len(CONDITIONS)))]
    return Shape([str(key) for key in chosen], where, size, slide, 60)


def derived(rows: pa.Table) -> pa.Table:
    """The rows with their derived columns, as this file's own words for them say."""
    odd = [0.0, 0.0, float("nan"), float("inf"), float("-inf"), 1.5, None]
    codes = rows["code"].to_pylist()
    numbers = np.array([np.nan if value is None else value for value in rows["k_num"].to_pylist()], dtype=np.float64)
    with np.errstate(over="ignore"):
        slight = numbers.astype(np.float32)
    return (
        rows.append_column("odd", pa.array([odd[code] for code in codes], pa.float64()))
        .append_column("price", pa.array([Decimal(code) / 4 for code in codes], pa.decimal128(20, 6)))
        .append_column("slight", pa.array(slight, mask=np.isnan(slight)))
    )


def _drawn(rng: np.random.Generator, values: list[Any], size: int, kind: pa.DataType) -> pa.Array:
    """Values by chance, of a few or of all that there are."""
    few = [values[i] for i in rng.permutation(len(values))[: int(rng.integers(1, len(values) + 1))]]
    return pa.array([few[i] for i in rng.integers(0, len(few), size)], kind)
