"""What a scan sums for one measure, and whether the quick way to sum it was enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.scan.exact_sums import grid_below, last_bit
from shedding.scan.fixed_point import (
    FINE_EXPONENT,
    HIGH_UNIT,
    LOW_BITS,
    FixedPoint,
    high_half,
    low_half,
    tail,
    whole,
)
from shedding.spec.aggregates import State
from shedding.spec.query import MeasureSpec

if TYPE_CHECKING:
    from pyspark.sql import Column

Floats = npt.NDArray[np.float64]

WHOLE_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})
_MOST_HIGH = 2.0**52  # a factor of two below what doubles count exactly, for the rounding of the check itself
_MOST_ROWS = 2 ** (62 - LOW_BITS)
_IMPLIED_MAGNITUDE = 22  # squares that the short way can sum are below 2**44
_LOW_WORD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Field:
    """One measure in a scan; `wholes` are the columns of whole numbers, which are summed as such.

    The short way makes three numbers of a value, enough where the squares of a group sum to less than 2**44 and no
    value is tiny; the long way holds up to the measure's magnitude and down to 2**lowest. Both give the same bits. Sums
    that are cut by exponents are named `<measure>_<sum>[<exponent>]`.
    """

    measure: MeasureSpec
    wholes: frozenset[str] = frozenset()
    short: bool = True
    lowest: int = FINE_EXPONENT

    @property
    def state(self) -> State | None:
        """What panes keep of the measure."""
        return self.measure.traits.state

    @property
    def _products(self) -> dict[str, str]:
        """What is summed, by the names of the sums and of the columns that hold it."""
        return {total.name: total.of for total in self.state.totals} if self.state is not None else {}

    def layers(self) -> list[dict[str, Column]]:
        """Columns that the aggregates read, the first layer made of raw columns and each other of those before it.

        NaN is null, and null sums as 0. The first layer has whole numbers as they are, all others are doubles.
        """
        spec = self.measure
        if spec.column is None or self.state is None:
            return [{}]
        value, zero = self._number(spec.column), sf.lit(0.0)
        numbers = {self._name("x"): value}
        if spec.over is not None:  # a row counts where both parts are there
            over = self._number(spec.over)
            numbers = {
                self._name("x"): sf.when(over.isNotNull(), value),
                self._name("y"): sf.when(value.isNotNull(), over),
            }
        doubles = {
            self._name(v): sf.coalesce(self._col(x).cast("double"), zero)
            for x, v in (("x", "v"), ("y", "w"))[: len(numbers)]
        }
        squares = {
            self._name(part): self._col(part[0]) * self._col(part[1])
            for part in self._products.values()
            if len(part) == 2
        }
        if not self.short:
            return [numbers, doubles, squares]
        halved = [part for part in self._products.values() if not self._is_whole(part)]
        highs = {self._name(f"{part}_high"): high_half(self._col(part)) for part in halved}
        lows = {
            self._name(f"{part}_low"): low_half(self._col(part), self._col(f"{part}_high"))
            for part in halved
            if len(part) == 1
        }
        return [numbers, doubles, squares, highs, lows]

    @property
    def numbers(self) -> list[str]:
        """The columns of the first layer that hold the measure's values, and a ratio's denominators after them."""
        return list(self.layers()[0])

    def aggregates(self) -> list[Column]:
        """The aggregate columns of this measure, named `<measure>_...`."""
        name, kind = self.measure.name, self.measure.agg
        if self.state is None:
            return []
        found = [sf.count(self._col("x")).alias(f"{name}_n")]
        if self.state.extreme:
            extreme = {"min": sf.min, "max": sf.max}[kind]
            return [*found, extreme(self._col("x")).alias(f"{name}_{kind}")]
        parts = {"": "v"} | ({"over_": "w"} if self.measure.over else {})
        if not self.short or self.measure.magnitude <= _IMPLIED_MAGNITUDE:
            found += [sf.max(sf.abs(self._col(part))).alias(f"{name}_{label}largest") for label, part in parts.items()]
        if not self.short:
            sizes = {label: sf.abs(self._col(part)) for label, part in parts.items()}
            found += [sf.min(sf.when(size > 0, size)).alias(f"{name}_{label}least") for label, size in sizes.items()]
        for label, part in self._products.items():
            found += self._sums(f"{name}_{label}", part)
        return found

    def _sums(self, label: str, part: str) -> list[Column]:
        value = self._col(part)
        if self._is_whole(part):
            number = self._col("x" if part == "v" else "y")
            if self.short:  # where this wraps around, the squares are too large for the short way
                return [sf.sum(number).alias(f"{label}[0]")]
            words = {32: sf.shiftright(number, 32), 0: number.bitwiseAND(sf.lit(_LOW_WORD))}
            return [sf.sum(word).alias(f"{label}[{exponent}]") for exponent, word in words.items()]
        if self.short:
            return self._halves(label, part)
        magnitude = self.measure.magnitude * len(part)
        # What is beyond is refused by its largest value; its digits must not end the scan with an overflow before.
        within = sf.when(sf.abs(value) < sf.lit(2.0**magnitude), value)
        unit = FixedPoint(magnitude, self.lowest) if len(part) == 1 else FixedPoint(magnitude)
        digits = zip(unit.exponents, unit.digits(within), strict=True)
        return [sf.sum(digit).alias(f"{label}[{exponent}]") for exponent, digit in digits]

    def _halves(self, label: str, part: str) -> list[Column]:
        """The sums of a value's halves and tail; a square, which is rounded, has no tail."""
        value, high = self._col(part), self._col(f"{part}_high")
        if len(part) == 2:
            return [sf.sum(high).alias(f"{label}_high"), sf.sum(whole(low_half(value, high))).alias(f"{label}_low")]
        low = self._col(f"{part}_low")
        sums = {"high": high, "low": whole(low), "tail": tail(value, high, low)}
        return [sf.sum(column).alias(f"{label}_{name}") for name, column in sums.items()]

    def _is_whole(self, part: str) -> bool:
        """Whether the values themselves, no products of them, are whole numbers."""
        column = {"v": self.measure.column, "w": self.measure.over}.get(part)
        return column is not None and column in self.wholes

    def _number(self, column: str) -> Column:
        if column in self.wholes:
            return sf.col(f"`{column}`").cast("bigint")
        value = sf.col(f"`{column}`").cast("double")
        return sf.when(~sf.isnan(value), value)

    def _name(self, part: str) -> str:
        """Named by the columns it comes from: what two measures of one column share is summed once."""
        spec = self.measure
        return (
            f"_{spec.column}_{part}" if spec.over is None else f"_{spec.column}/{spec.over}_{part}"
        )  # no name has one

    def _col(self, part: str) -> Column:
        return sf.col(self._name(part))


def fits(table: pa.Table, measure: MeasureSpec, classes: int) -> bool:
    """Whether the short way's sums of a scan are proven exact, also when up to `classes` of its groups are merged."""
    state = measure.traits.state
    if state is None or not state.totals or not table.num_rows:
        return True
    count = _floats(table, f"{measure.name}_n")
    squares = [_floats(table, f"{measure.name}_{label}_high") for label in ("q", "over_q")[: 1 + bool(measure.over)]]
    sizes = [*squares]
    sums = [(high + count) * HIGH_UNIT for high in squares]
    # Cauchy and Schwarz bound the sum of |x| by the sum of squares, and that of |x y| by the two.
    bounds = [np.sqrt(count * total) for total in sums] + ([np.sqrt(sums[0] * sums[1])] if measure.over else [])
    sizes += [bound / HIGH_UNIT + count for bound in bounds]
    tails = [name for name in (f"{measure.name}_s_tail", f"{measure.name}_over_s_tail") if name in table.column_names]
    if not all(np.isfinite(_floats(table, name)).all() for name in tails):
        return False
    return bool(count.max() * classes < _MOST_ROWS) and all(bool((size < _MOST_HIGH / classes).all()) for size in sizes)


def finest(table: pa.Table, measures: Sequence[MeasureSpec]) -> int:
    """The exponent of a digit that the last bits of all values which the long way has met are not below."""
    names = [f"{measure.name}_{part}least" for measure in measures for part in ("", "over_")]
    found = [table.column(name).drop_null().to_numpy() for name in names if name in table.column_names]
    return grid_below(min((last_bit(float(sizes.min())) for sizes in found if sizes.size), default=FINE_EXPONENT))


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
