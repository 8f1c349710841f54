"""What a scan sums for one measure, and whether the quick way to sum it was enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.spark.fixed_point import HIGH_UNIT, LOW_BITS, FixedPoint, high_half, low_half
from shedding.spec.query import MeasureSpec

if TYPE_CHECKING:
    from pyspark.sql import Column

Floats = npt.NDArray[np.float64]

SUMMED = frozenset({"avg", "sum", "quantile", "ratio"})
"""Aggregates that keep sums and squares (estimates and priors need them)."""
_MOST_HIGH = 2.0**52  # a factor of two below what doubles count exactly, for the rounding of the check itself
_MOST_ROWS = 2 ** (62 - LOW_BITS)
_IMPLIED_MAGNITUDE = 22  # squares that the short way can sum are below 2**44


@dataclass(frozen=True, slots=True)
class Field:
    """One measure in a scan.

    The short way makes two numbers of a value, enough where the squares of a group sum to less than 2**44; the
    long way holds up to the measure's magnitude. Both give the same bits.
    """

    measure: MeasureSpec
    short: bool = True

    @property
    def _products(self) -> dict[str, str]:
        """What is summed, by the names of the sums and of the columns that hold it."""
        if self.measure.agg not in SUMMED:
            return {}
        products = {"s": "v", "q": "vv"}
        return products | ({"over_s": "w", "over_q": "ww", "cross": "vw"} if self.measure.over else {})

    def layers(self) -> list[dict[str, Column]]:
        """Columns that the aggregates read, the first layer made of raw columns and each other of those before it.

        NaN is null, and null sums as 0.
        """
        spec = self.measure
        if spec.column is None or spec.agg == "count_distinct":
            return [{}]
        value, zero = _number(spec.column), sf.lit(0.0)
        numbers = {self._name("x"): value}
        if spec.over is not None:  # a row counts where both parts are there
            over = _number(spec.over)
            numbers = {
                self._name("x"): sf.when(over.isNotNull(), value),
                self._name("y"): sf.when(value.isNotNull(), over),
            }
        whole = {self._name(v): sf.coalesce(self._col(x), zero) for x, v in (("x", "v"), ("y", "w"))[: len(numbers)]}
        parts = [part for part in self._products.values() if len(part) == 2]
        squares = {self._name(part): self._col(part[0]) * self._col(part[1]) for part in parts}
        highs = {self._name(f"{part}_high"): high_half(self._col(part)) for part in self._products.values()}
        return [numbers, whole, squares, highs if self.short else {}]

    @property
    def numbers(self) -> list[str]:
        """The columns of the first layer that hold the measure's values, and a ratio's denominators after them."""
        return list(self.layers()[0])

    def aggregates(self) -> list[Column]:
        """The aggregate columns of this measure, named `<measure>_...`."""
        name, kind = self.measure.name, self.measure.agg
        if kind in ("count", "count_distinct"):
            return []
        found = [sf.count(self._col("x")).alias(f"{name}_n")]
        if kind in ("min", "max"):
            extreme = sf.min if kind == "min" else sf.max
            return [*found, extreme(self._col("x")).alias(f"{name}_{kind}")]
        if not self.short or self.measure.magnitude <= _IMPLIED_MAGNITUDE:
            parts = {"largest": "v"} | ({"over_largest": "w"} if self.measure.over else {})
            found += [sf.max(sf.abs(self._col(part))).alias(f"{name}_{label}") for label, part in parts.items()]
        for label, part in self._products.items():
            found += self._sums(f"{name}_{label}", part)
        return found

    def _sums(self, label: str, part: str) -> list[Column]:
        value = self._col(part)
        if self.short:
            high = self._col(f"{part}_high")
            return [sf.sum(high).alias(f"{label}_high"), sf.sum(low_half(value, high)).alias(f"{label}_low")]
        magnitude = self.measure.magnitude * len(part)
        # What is beyond is refused by its largest value; its digits must not end the scan with an overflow before.
        within = sf.when(sf.abs(value) < sf.lit(2.0**magnitude), value)
        return [sf.sum(digit).alias(f"{label}{i}") for i, digit in enumerate(FixedPoint(magnitude).digits(within))]

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
    if measure.agg not in SUMMED or not table.num_rows:
        return True
    count = _floats(table, f"{measure.name}_n")
    squares = [_floats(table, f"{measure.name}_{label}_high") for label in ("q", "over_q")[: 1 + bool(measure.over)]]
    sizes = [*squares]
    sums = [(high + count) * HIGH_UNIT for high in squares]
    # Cauchy and Schwarz bound the sum of |x| by the sum of squares, and that of |x y| by the two.
    bounds = [np.sqrt(count * total) for total in sums] + ([np.sqrt(sums[0] * sums[1])] if measure.over else [])
    sizes += [bound / HIGH_UNIT + count for bound in bounds]
    return bool(count.max() * classes < _MOST_ROWS) and all(bool((size < _MOST_HIGH / classes).all()) for size in sizes)


def _floats(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _number(column: str) -> Column:
    value = sf.col(column).cast("double")
    return sf.when(~sf.isnan(value), value)
