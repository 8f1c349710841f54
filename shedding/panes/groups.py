"""The groups of a scan that one leg keeps, laid out over panes and keys: classes merged as integers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import Floats
from shedding.scan.double_double import Pair
from shedding.scan.exact_sums import ExactSums
from shedding.scan.fixed_point import FINE_EXPONENT, HIGH_EXPONENT, QUANTUM_EXPONENT, total_of_digits, total_of_halves
from shedding.scan.row_sums import EXTREMES, sorted_lists
from shedding.spec.measure import MeasureSpec

Index = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]
"""Doubles, or whole numbers of 64 bits."""


class Columns:
    """A table's columns of whole numbers, each made an array once for all legs; null counts as 0."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._made: dict[str, Index] = {}

    def whole(self, name: str, unit: float = 1.0) -> Index:
        """The column, once multiplied by `unit`."""
        if name not in self._made:
            column = self.table.column(name)
            numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
            self._made[name] = (numbers if unit == 1 else numbers * unit).astype(np.int64, copy=False)
        return self._made[name]


class Groups:
    """The rows of a scan that one leg keeps (all where `chosen` is None), and the pane and key that each belongs to."""

    def __init__(self, columns: Columns, chosen: Index | None, place: Index, size: int) -> None:
        self._columns, self._table, self._chosen = columns, columns.table, chosen
        self.place = place
        self.size = size

    @property
    def sampled(self) -> bool:
        """Whether the leg keeps some of the rows; the exact leg keeps all."""
        return self._chosen is not None

    def column(self, name: str) -> Any:
        """A column of the groups."""
        column = self._table.column(name)
        return column if self._chosen is None else column.take(pa.array(self._chosen))

    def total(self, name: str, unit: float = 1.0) -> Index:
        """The column of whole numbers, once multiplied by `unit`, summed by pane and key."""
        numbers = self._columns.whole(name, unit)
        return totals(numbers if self._chosen is None else numbers[self._chosen], self.place, self.size)

    def names(self, prefix: str) -> list[str]:
        """The columns that begin so."""
        return [name for name in self._table.column_names if name.startswith(prefix)]


class Summed:
    """What a scan's groups say of one measure, by pane and key."""

    def __init__(self, groups: Groups, measure: MeasureSpec) -> None:
        self._groups, self.measure = groups, measure
        self.size, self.sampled = groups.size, groups.sampled

    @cached_property
    def rows(self) -> Floats:
        """All rows, with a value or without."""
        return self._groups.total("rows").astype(np.float64)

    @cached_property
    def count(self) -> Floats:
        """Rows that have a value."""
        return self._groups.total(f"{self.measure.name}_n").astype(np.float64)

    def rounded(self, label: str) -> Pair:
        """A sum of values rounded to quanta: its halves are the columns `<label>_high` and `_low`, or its digits
        `<label>[16]`, ...
        """
        prefix = f"{self.measure.name}_{label}"
        if self._groups.names(f"{prefix}_high"):
            return total_of_halves(self._groups.total(f"{prefix}_high"), self._groups.total(f"{prefix}_low"))
        exponents = sorted((exponent for exponent, _ in self._digits(prefix)), reverse=True)
        return total_of_digits([self._groups.total(f"{prefix}[{exponent}]") for exponent in exponents], exponents)

    def exact(self, label: str) -> ExactSums:
        """An exact sum of values: of halves and tail, or of digits by their exponents."""
        prefix, total = f"{self.measure.name}_{label}", self._groups.total
        if self._groups.names(f"{prefix}_high"):
            high, low = total(f"{prefix}_high"), total(f"{prefix}_low")
            fine = total(f"{prefix}_tail", 2.0**-FINE_EXPONENT)
            return ExactSums.of_parts([(high, HIGH_EXPONENT), (low, QUANTUM_EXPONENT), (fine, FINE_EXPONENT)])
        return ExactSums.of_parts([(total(name), exponent) for exponent, name in self._digits(prefix)])

    def _digits(self, prefix: str) -> list[tuple[int, str]]:
        """The exponents and names of the columns that hold a sum's digits."""
        return [(int(name[len(prefix) + 1 : -1]), name) for name in self._groups.names(f"{prefix}[")]

    def extreme(self) -> Numbers:
        """Least or largest value, 0 where there is none; whole numbers stay whole."""
        kind = self.measure.agg
        column = self._groups.column(f"{self.measure.name}_{kind}")
        valid = column.is_valid().to_numpy()
        values = (column.fill_null(0).to_numpy() + 0)[valid]  # a negative zero is zero
        place = self._groups.place[valid]
        extreme = np.zeros(self.size, dtype=values.dtype)
        extreme[place] = values
        EXTREMES[kind].at(extreme, place, values)
        return extreme

    def values(self) -> Any:
        """The lists of sampled values merged and sorted, as an Arrow list array."""
        lists = self._groups.column(f"{self.measure.name}_values").combine_chunks()
        lengths = lists.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        if (np.diff(self._groups.place) > 0).all():  # one list a place, sorted already
            offsets = np.zeros(self.size + 1, dtype=np.int32)
            offsets[self._groups.place + 1] = lengths
            return pa.ListArray.from_arrays(pa.array(np.cumsum(offsets, dtype=np.int32)), lists.flatten())
        return sorted_lists(lists.flatten().to_numpy(), np.repeat(self._groups.place, lengths), self.size)


def totals(numbers: Index, place: Index, size: int) -> Index:
    """Whole numbers summed by place."""
    summed = np.zeros(size, dtype=np.int64)
    np.add.at(summed, place, numbers)
    return summed
