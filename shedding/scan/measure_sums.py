"""What a scan sums for one measure, and whether the quick way to sum it was enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.scan.exact_sums import grid_below, last_bit
from shedding.scan.fixed_point import (
    FINE_EXPONENT,
    HALF_WORD,
    HIGH_UNIT,
    LOW_BITS,
    LOW_WORD,
    LOWEST,
    QUANTUM_EXPONENT,
    FixedPoint,
    high_half,
    low_half,
    square_rest,
    squares_below,
    tail,
    upper_bits,
    whole,
)
from shedding.spec.aggregates import State, Total
from shedding.spec.measure import MeasureSpec

if TYPE_CHECKING:
    from pyspark.sql import Column

Floats = npt.NDArray[np.float64]

WHOLE_TYPES = frozenset({"tinyint", "smallint", "int", "bigint"})
_MOST_HIGH = 2.0**52  # a factor of two below what doubles count exactly, for the rounding of the check itself
_MOST_ROWS = 2 ** (62 - LOW_BITS)
_IMPLIED_MAGNITUDE = 22  # squares that the short way can sum are below 2**44


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
    def _totals(self) -> tuple[Total, ...]:
        """What is summed."""
        return self.state.totals if self.state is not None else ()

    def _products(self, factors: int, *, exact: bool | None = None) -> list[str]:
        """The products of so many columns that are summed, by the names of the columns that hold them."""
        chosen = (t for t in self._totals if len(t.of) == factors and exact in (None, t.exact))
        return list(dict.fromkeys(total.of for total in chosen))

    def layers(self) -> list[dict[str, Column]]:
        """Columns that the aggregates read, the first layer made of raw columns and each other of those before it.

        NaN is null, and null sums as 0. The first layer has whole numbers as they are, all others are doubles.
        """
        numbers, zero = self.first_layer(), sf.lit(0.0)
        if not numbers:
            return [numbers]
        doubles = {
            self._name(v): sf.coalesce(self._col(x).cast("double"), zero)
            for x, v in (("x", "v"), ("y", "w"))[: len(numbers)]
        }
        exact = [] if self._is_whole("v") else self._products(2, exact=True)
        tops = {self._name(f"{part}_top"): upper_bits(self._col(part[0])) for part in exact}
        rests = {
            self._name(f"{part}_rest"): square_rest(*(self._col(name) for name in (part[0], part, f"{part}_top")))
            for part in exact
        }
        squares, cubes, fourths = ({
            self._name(part): self._col(part[:-1]) * self._col(part[-1]) for part in self._products(factors)
        } for factors in (2, 3, 4))  # fmt: skip
        highs, lows = self._halved() if self.short else ({}, {})
        return [numbers, doubles, squares | tops, highs | cubes | rests, lows | fourths]

    def first_layer(self) -> dict[str, Column]:
        """The measure's values, and a ratio's denominators after them; rows at hand are summed from these alone."""
        spec = self.measure
        if spec.column is None or self.state is None:
            return {}
        value = self._number(spec.column)
        if spec.over is None:
            return {self._name("x"): value}
        over = self._number(spec.over)  # a row counts where both parts are there
        return {
            self._name("x"): sf.when(over.isNotNull(), value),
            self._name("y"): sf.when(value.isNotNull(), over),
        }

    def _halved(self) -> tuple[dict[str, Column], dict[str, Column]]:
        """The halves of values and of rounded squares: the high ones, and of values the low ones."""
        values = [part for part in self._products(1) if not self._is_whole(part)]
        highs = {
            self._name(f"{part}_high"): high_half(self._col(part))
            for part in (*values, *self._products(2, exact=False))
        }
        lows = {self._name(f"{part}_low"): low_half(self._col(part), self._col(f"{part}_high")) for part in values}
        return highs, lows

    @property
    def numbers(self) -> list[str]:
        """The columns of the first layer that hold the measure's values, and a ratio's denominators after them."""
        if self.measure.column is None or self.state is None:
            return []
        return [self._name(part) for part in ("x", "y")[: 1 + (self.measure.over is not None)]]

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
        for total in self._totals:
            found += self._sums(f"{name}_{total.name}", total)
        return found

    def _sums(self, label: str, total: Total) -> list[Column]:
        part = total.of
        value = self._col(part)
        if len(part) > 2:
            return self._digit_sums(label, self._unit(part), [value])
        if len(part) == 2 and total.exact:
            return self._exact_squares(label, part)
        if self._is_whole(part):
            number = self._col("x" if part == "v" else "y")
            if self.short:  # where this wraps around, the squares are too large for the short way
                return [sf.sum(number).alias(f"{label}[0]")]
            words = {32: sf.shiftright(number, 32), 0: number.bitwiseAND(sf.lit(LOW_WORD))}
            return [sf.sum(word).alias(f"{label}[{exponent}]") for exponent, word in words.items()]
        if self.short:
            return self._halves(label, part)
        return self._digit_sums(label, self._unit(part), [value])

    def _unit(self, part: str) -> FixedPoint:
        """The digits of a product."""
        lowest = self.lowest if len(part) == 1 else LOWEST.get(len(part), QUANTUM_EXPONENT)
        return FixedPoint(self._bits * len(part), lowest)

    @property
    def _bits(self) -> int:
        """Values are below two to this: as the sums of the short way prove, or as the measure says."""
        return _IMPLIED_MAGNITUDE if self.short else self.measure.magnitude

    def _digit_sums(self, label: str, unit: FixedPoint, terms: Sequence[Column]) -> list[Column]:
        """The sums of the terms' digits, those of one exponent together.

        What is beyond is refused by its largest value; its digits must not end the scan with an overflow before.
        """
        within = [sf.when(sf.abs(term) < sf.lit(2.0**unit.magnitude), term) for term in terms]
        digits = zip(*(unit.digits(term) for term in within), strict=True)
        sums = [reduce(lambda one, other: one + other, same) for same in digits]
        return [sf.sum(one).alias(f"{label}[{exponent}]") for one, exponent in zip(sums, unit.exponents, strict=True)]

    def _exact_squares(self, label: str, part: str) -> list[Column]:
        """The sums of squares down to their last bits: of a product and what it was rounded by, or of words."""
        if not self._is_whole(part[0]):
            unit = FixedPoint(2 * self._bits, squares_below(self.lowest))
            return self._digit_sums(label, unit, [self._col(part), self._col(f"{part}_rest")])
        number = sf.when(sf.abs(self._col(part[0])) < sf.lit(2.0**self.measure.magnitude), self._col("x"))
        high, low = sf.shiftright(number, HALF_WORD), number.bitwiseAND(sf.lit((1 << HALF_WORD) - 1))
        (outer, below), (cross, inner), (above, last) = (
            (sf.shiftright(product, 32), product.bitwiseAND(sf.lit(LOW_WORD)))
            for product in (high * high, high * low, low * low)
        )
        words = {94: outer, 62: below, 64: cross, 32: inner + above, 0: last}
        return [sf.sum(word).alias(f"{label}[{exponent}]") for exponent, word in words.items()]

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
