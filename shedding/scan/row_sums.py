"""Rows at hand summed by group: what a scan gives for them, the same bits, without Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import sorted_by
from shedding.keys import align
from shedding.scan.double_double import two_product
from shedding.scan.exact_sums import grid_below, last_bit
from shedding.scan.fixed_point import (
    FINE_EXPONENT,
    HALF_WORD,
    LOW_WORD,
    LOWEST,
    FixedPoint,
    split_halves,
    squares_below,
)
from shedding.spec.aggregates import State
from shedding.spec.measure import MeasureSpec

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
"""Doubles, or whole numbers of 64 bits."""

EXTREMES = {"min": np.minimum, "max": np.maximum}


def row_sums(
    rows: pa.Table, groups: Sequence[str], measures: Sequence[MeasureSpec], columns: Mapping[str, Sequence[str]]
) -> pa.Table:
    """One row a group: its columns, `rows`, and each measure's sums; of a quantile its sorted values too.

    A measure's largest values are told where one is at or above its magnitude: there the sums have no meaning.
    `columns` names, for each measure that has any, the column of its values, and of a ratio's denominators after it. A
    row without a value, or without both of a ratio's, counts as a row only.
    """
    keys, (place,) = align([rows], groups)
    size = len(keys)
    found: dict[str, Any] = dict(zip(keys.names, keys.columns, strict=True))
    found["rows"] = np.bincount(place, minlength=size)
    for measure in measures:
        given = [rows.column(name) for name in columns.get(measure.name, ())]
        state = measure.traits.state
        if given and state is not None:
            there = np.logical_and.reduce([_there(column) for column in given])
            parts, own = [_numbers(column) for column in given], place
            if not there.all():
                parts, own = [part[there] for part in parts], place[there]
            sums = _sums(measure, state, parts, own, size)
            found |= {f"{measure.name}_{name}": column for name, column in sums.items()}
    return pa.table(found)


def sorted_lists(values: Floats, place: Index, size: int) -> pa.ListArray:
    """The values of each of `size` places, sorted; negative zeros are zeros, since a sort cannot tell them apart."""
    order = sorted_by(values, place)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=size))])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values[order] + 0.0, pa.float64()))


def _there(column: pa.ChunkedArray) -> Flags:
    """Which rows have a value; NaN is none."""
    found: Flags = column.is_valid().to_numpy()
    return found & ~np.isnan(_numbers(column)) if pa.types.is_floating(column.type) else found


def _numbers(column: pa.ChunkedArray) -> Numbers:
    """The values, whole numbers as they are and all others as doubles; 0 where there is none."""
    is_whole = pa.types.is_integer(column.type)
    filled = column.cast(pa.int64() if is_whole else pa.float64()).fill_null(0)
    return np.asarray(filled.to_numpy())


def _sums(measure: MeasureSpec, state: State, numbers: list[Numbers], place: Index, size: int) -> dict[str, Any]:
    found: dict[str, Any] = {"n": np.bincount(place, minlength=size)}
    if state.extreme:
        return found | {measure.agg: _extreme(measure.agg, numbers[0], place, size)}
    doubles = {name: column.astype(np.float64) for name, column in zip("vw", numbers, strict=False)}
    for label, part in zip(("", "over_"), doubles.values(), strict=False):
        sizes = np.abs(part)
        if not sizes.max(initial=0.0) < 2.0**measure.magnitude:
            found[f"{label}largest"] = _extreme("max", sizes, place, size)
    for total in state.totals:
        own = numbers["vw".index(total.of[0])]
        if total.exact:
            digits = (_exact_parts if len(total.of) == 1 else _exact_squares)(own, measure.magnitude)
        else:
            product = reduce(np.multiply, [doubles[name] for name in total.of])
            digits = _parts(product, measure.magnitude * len(total.of), LOWEST.get(len(total.of)))
        found |= {f"{total.name}{part}": _added(digit, place, size) for part, digit in digits.items()}
    if state.values:
        found["values"] = sorted_lists(doubles["v"], place, size)
    return found


def _added(digit: Index, place: Index, size: int) -> Index:
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, place, digit)
    return total


def _exact_parts(numbers: Numbers, magnitude: int) -> dict[str, Index]:
    """The numbers cut into whole ones that lose no bit, by exponents."""
    if numbers.dtype == np.int64:
        return {"[32]": numbers >> 32, "[0]": numbers & LOW_WORD}
    return _digits(FixedPoint(magnitude, _lowest(numbers)), numbers)


def _lowest(numbers: Floats) -> int:
    """The exponent of a digit that no number has a bit below."""
    sizes = np.abs(numbers[numbers != 0])
    return min(grid_below(last_bit(float(sizes.min(initial=1.0)))), FINE_EXPONENT)


def _exact_squares(numbers: Numbers, magnitude: int) -> dict[str, Index]:
    """The squares cut into whole numbers that lose no bit, by exponents."""
    if numbers.dtype == np.int64:
        return _whole_squares(np.where(np.abs(numbers.astype(np.float64)) < 2.0**magnitude, numbers, 0))
    lowest = _lowest(numbers)
    unit = FixedPoint(2 * magnitude, squares_below(lowest))
    within = np.where(np.abs(numbers) < 2.0**magnitude, numbers, 0.0)
    digits = zip(*(unit.split(part) for part in two_product(within, within)), strict=True)
    return {f"[{exponent}]": sum(pair) for exponent, pair in zip(unit.exponents, digits, strict=True)}


def _whole_squares(numbers: Index) -> dict[str, Index]:
    """The squares of whole numbers below 2**62, as sums of words."""
    high, low = numbers >> HALF_WORD, numbers & ((1 << HALF_WORD) - 1)
    outer, cross, inner = high * high, high * low, low * low
    words = {94: outer >> 32, 62: outer & LOW_WORD, 64: cross >> 32, 32: (cross & LOW_WORD) + (inner >> 32)}
    return {f"[{exponent}]": word for exponent, word in (words | {0: inner & LOW_WORD}).items()}


def _parts(values: Floats, magnitude: int, lowest: int | None = None) -> dict[str, Index]:
    """The values, rounded to quanta, cut into whole numbers: halves where these are enough, else digits."""
    if lowest is not None:
        return _digits(FixedPoint(magnitude, lowest), values)
    halves = split_halves(values)
    if halves is not None:
        return dict(zip(("_high", "_low"), halves, strict=True))
    return _digits(FixedPoint(magnitude), values)


def _digits(unit: FixedPoint, values: Floats) -> dict[str, Index]:
    sizes = np.abs(values)
    largest = float(sizes.max(initial=0.0))
    if largest < 2.0**unit.magnitude:
        unit = unit.narrowed(largest)
    else:  # what is beyond is refused by its largest value
        values = np.where(sizes < 2.0**unit.magnitude, values, 0.0)
    return {f"[{exponent}]": digit for exponent, digit in zip(unit.exponents, unit.split(values), strict=True)}


def _extreme(kind: str, values: Numbers, place: Index, size: int) -> pa.Array:
    """The least or largest value of each place, null where there is none."""
    found = np.zeros(size, dtype=values.dtype)
    found[place] = values  # any value of the place; what is not smaller or larger stays
    EXTREMES[kind].at(found, place, values)
    return pa.array(found, mask=np.bincount(place, minlength=size) == 0)
