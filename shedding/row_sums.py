"""Rows at hand summed by group: what a scan gives for them, the same bits, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.keys import align
from shedding.spark.fixed_point import FixedPoint, split_halves
from shedding.spec.query import MeasureSpec

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


def row_sums(
    rows: pa.Table, groups: Sequence[str], measures: Sequence[MeasureSpec], columns: Mapping[str, Sequence[str]]
) -> pa.Table:
    """One row a group: its columns, `rows`, and each measure's sums; of a quantile its sorted values too.

    `columns` names, for each measure that has any, the column of its values, and of a ratio's denominators after it. A
    row without a value, or without both of a ratio's, counts as a row only.
    """
    keys, (place,) = align([rows], groups)
    size = len(keys)
    found: dict[str, Any] = dict(zip(keys.names, keys.columns, strict=True))
    found["rows"] = np.bincount(place, minlength=size)
    for measure in measures:
        parts = [np.asarray(rows.column(name).to_numpy(), dtype=np.float64) for name in columns.get(measure.name, ())]
        if parts and measure.agg != "count_distinct":
            there = ~np.isnan(np.sum(parts, axis=0))
            sums = _sums(measure, [part[there] for part in parts], place[there], size)
            found |= {f"{measure.name}_{name}": column for name, column in sums.items()}
    return pa.table(found)


def sorted_lists(values: Floats, place: Index, size: int) -> pa.ListArray:
    """The values of each of `size` places, sorted; negative zeros are zeros, since a sort cannot tell them apart."""
    order = np.lexsort((values, place))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=size))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values[order] + 0.0, pa.float64()))


def _sums(measure: MeasureSpec, parts: list[Floats], place: Index, size: int) -> dict[str, Any]:
    value = parts[0]
    found: dict[str, Any] = {"n": np.bincount(place, minlength=size)}
    if measure.agg in ("min", "max"):
        sign = 1.0 if measure.agg == "max" else -1.0
        return found | {measure.agg: _largest(sign * value, place, size, sign)}
    found["largest"] = _largest(np.abs(value), place, size)
    factors: dict[str, tuple[Floats, ...]] = {"s": (value,), "q": (value, value)}
    if measure.over is not None:
        over = parts[1]
        found["over_largest"] = _largest(np.abs(over), place, size)
        factors |= {"over_s": (over,), "over_q": (over, over), "cross": (value, over)}
    for name, numbers in factors.items():
        for part, digits in _parts(np.prod(numbers, axis=0), measure.magnitude * len(numbers)).items():
            total = np.zeros(size, dtype=np.int64)
            np.add.at(total, place, digits)
            found[f"{name}{part}"] = total
    if measure.agg == "quantile":
        found["values"] = sorted_lists(value, place, size)
    return found


def _parts(values: Floats, magnitude: int) -> dict[str, Index]:
    """The values cut into whole numbers: halves where these are enough, else digits."""
    halves = split_halves(values)
    if halves is not None:
        return dict(zip(("_high", "_low"), halves, strict=True))
    unit = FixedPoint(magnitude)
    within = np.where(np.abs(values) < 2.0**magnitude, values, 0.0)  # what is beyond is refused by its largest value
    return {str(place): digits for place, digits in enumerate(unit.split(within))}


def _largest(values: Floats, place: Index, size: int, sign: float = 1.0) -> pa.Array:
    """`sign` times the largest value of each place, null where there is none."""
    found = np.full(size, -np.inf)
    np.maximum.at(found, place, values)
    return pa.array(sign * found, mask=np.bincount(place, minlength=size) == 0)
