"""What DuckDB answers: rows chosen and grouped by it, its lists of values added up without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa

from tests.fuzz.worlds import Shape, World, derived

Answer = dict[tuple[Any, ...], dict[str, Any]]


def answers(
    world: World, shape: Shape, windows: Sequence[tuple[int, int]], measures: Sequence[dict[str, Any]]
) -> Answer:
    """By window start and key, each measure's exact value; NaN is no value."""
    rows = derived(world.rows)
    rows = rows.append_column("moment", rows["at"].cast(pa.int64()))
    spans = pa.table({"window_start": [w[0] for w in windows], "window_end": [w[1] for w in windows]})
    columns = ("x", "y", "n", "odd", "k_num", "k_text")
    lists = ", ".join(f"list({name} ORDER BY moment) AS values_{name}" for name in columns)
    keys = ", ".join(shape.group_by)
    where = f"AND ({shape.where})" if shape.where else ""
    text = f"""
        SELECT window_start{", " if keys else ""}{keys}, count(*) AS rows_there, sum(n) AS sum_n, {lists}
        FROM rows JOIN spans ON moment >= window_start AND moment < window_end {where}
        GROUP BY ALL
    """
    with duckdb.connect() as base:
        base.register("rows", rows)
        base.register("spans", spans)
        found = base.sql(text).to_arrow_table().to_pylist()
    made: Answer = {}
    for row in found:
        key = row["window_start"], *(plain(row[name]) for name in shape.group_by)
        made[key] = {measure["name"]: _value(row, measure) for measure in measures}
    return made


def plain(value: Any) -> Any:
    """A key or value that equals itself: NaN as a word, a zero without a sign, a decimal without its scale."""
    if isinstance(value, Decimal):
        return value.normalize()
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def _value(row: dict[str, Any], measure: dict[str, Any]) -> Any:
    agg = measure["agg"]
    if agg == "count":
        return row["rows_there"]
    values = _there(row[f"values_{measure['column']}"])
    if agg == "count_distinct":
        return len(set(values))
    return _of_values(row, measure, values) if values else None


def _of_values(row: dict[str, Any], measure: dict[str, Any], values: list[Any]) -> Any:
    match measure["agg"]:
        case "min" | "max" as agg:
            found = (min if agg == "min" else max)(values) + 0
        case "quantile":
            found = _percentile(sorted(values), measure["q"])
        case "ratio":
            pairs = zip(row[f"values_{measure['column']}"], row[f"values_{measure['over']}"], strict=True)
            both = [pair for pair in pairs if None not in pair]
            below = math.fsum(y for _, y in both)
            found = math.fsum(x for x, _ in both) / below if below else None
        case "stddev" | "variance" as agg:
            found = _variance(values)
            found = math.sqrt(found) if agg == "stddev" and found is not None else found
        case "sum":
            found = _sum(row, measure["column"], values)
        case _:
            found = float(_sum(row, measure["column"], values)) / len(values)
    return found


def _sum(row: dict[str, Any], column: str, values: list[Any]) -> Any:
    if column != "n":
        return math.fsum(values) + 0.0
    assert int(row["sum_n"]) == sum(values), "DuckDB and Python add whole numbers alike"
    return sum(values)


def _variance(values: list[Any]) -> float | None:
    """The double nearest to SQL's var_samp, of fractions: DuckDB's own rounds at every row."""
    if len(values) < 2:
        return None
    terms = [Fraction(value) for value in values]
    mean = sum(terms) / len(terms)
    return float(sum((term - mean) ** 2 for term in terms) / (len(terms) - 1))


def _there(values: list[Any]) -> list[Any]:
    return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]


def _percentile(values: list[float], q: float) -> float:
    """SQL's percentile in Spark's own words: DuckDB interpolates in another order, with other last bits."""
    place = (len(values) - 1) * q
    lower, higher = math.floor(place), math.ceil(place)
    if values[lower] == values[higher]:
        return values[lower] + 0.0
    return (higher - place) * values[lower] + (place - lower) * values[higher]
