"""From a scan's digit sums to the panes of one leg: classes merged as integers, then made doubles once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.estimates.moments import Moments
from shedding.keys import Keys, align
from shedding.panes.panes import Numbers, Panes, Stat
from shedding.rates import Rates
from shedding.scan.double_double import Pair, centred
from shedding.scan.exact_sums import ExactSums
from shedding.scan.fixed_point import FINE_EXPONENT, HIGH_EXPONENT, QUANTUM_EXPONENT, FixedPoint, total_of_halves
from shedding.scan.row_sums import EXTREMES, sorted_lists
from shedding.spec.query import MeasureSpec

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

_ROUNDING = 2.0**-52


class _Columns:
    """A table's columns of whole numbers, each made an array once for all legs; null counts as 0."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self._made: dict[str, Index] = {}

    def whole(self, name: str, unit: float = 1.0) -> Index:
        if name not in self._made:
            column = self.table.column(name)
            numbers = (column.fill_null(0) if column.null_count else column).to_numpy()
            self._made[name] = (numbers if unit == 1 else numbers * unit).astype(np.int64, copy=False)
        return self._made[name]


class _Groups:
    """The rows of a scan that one leg keeps (all where `chosen` is None), and the pane and key that each belongs to."""

    def __init__(self, columns: _Columns, chosen: Index | None, place: Index, size: int) -> None:
        self._columns, self._table, self._chosen = columns, columns.table, chosen
        self.place = place
        self.size = size

    def _column(self, name: str) -> Any:
        column = self._table.column(name)
        return column if self._chosen is None else column.take(pa.array(self._chosen))

    def total(self, name: str, unit: float = 1.0) -> Index:
        """The column of whole numbers, once multiplied by `unit`, summed by pane and key."""
        numbers = self._columns.whole(name, unit)
        return _totals(numbers if self._chosen is None else numbers[self._chosen], self.place, self.size)

    def fixed(self, prefix: str, magnitude: int) -> Pair:
        """The sum of values rounded to quanta: its halves are the columns `<prefix>_high` and `_low`, or its digits
        `<prefix>[16]`, ...
        """
        if f"{prefix}_high" in self._table.column_names:
            return total_of_halves(self.total(f"{prefix}_high"), self.total(f"{prefix}_low"))
        unit = FixedPoint(magnitude)
        return unit.total([self.total(f"{prefix}[{exponent}]") for exponent in unit.exponents])

    def exact(self, prefix: str) -> ExactSums:
        """The exact sum of values: of halves and tail, or of digits by their exponents."""
        if f"{prefix}_high" in self._table.column_names:
            high, low = self.total(f"{prefix}_high"), self.total(f"{prefix}_low")
            fine = self.total(f"{prefix}_tail", 2.0**-FINE_EXPONENT)
            return ExactSums.of_parts([(high, HIGH_EXPONENT), (low, QUANTUM_EXPONENT), (fine, FINE_EXPONENT)])
        digits = (name for name in self._table.column_names if name.startswith(f"{prefix}["))
        return ExactSums.of_parts([(self.total(name), int(name[len(prefix) + 1 : -1])) for name in digits])

    def extreme(self, name: str, kind: str) -> Numbers:
        """Least or largest value by pane and key, 0 where there is none; whole numbers stay whole."""
        column = self._column(name)
        there = column.is_valid().to_numpy()
        values = (column.fill_null(0).to_numpy() + 0)[there]  # a negative zero is zero
        place = self.place[there]
        found = np.zeros(self.size, dtype=values.dtype)
        found[place] = values
        EXTREMES[kind].at(found, place, values)
        return found

    def values(self, name: str) -> Any:
        """The lists merged and sorted by pane and key, as an Arrow list array."""
        lists = self._column(name).combine_chunks()
        lengths = lists.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        return sorted_lists(lists.flatten().to_numpy(), np.repeat(self.place, lengths), self.size)


class Scanned:
    """A scan's groups, laid out over panes and keys once so that every leg can take its own of them.

    `counts` are the rows per pane and key counted at arrival (columns pane_start, keys, rows,
    rows_<column>), None where nobody counted. Then `expected` (the same key columns, pane_start: the slot's last pane)
    are the keys that had rates of their own: a leg remembers the rate of each, sampled or not.
    """

    def __init__(
        self, table: pa.Table, keys: Sequence[str], counts: pa.Table | None, expected: pa.Table | None = None
    ) -> None:
        self._columns = _Columns(table)
        self._counts = None if counts is None else _Columns(counts)
        more = expected if counts is None else counts
        tables = [table] if more is None else [table, more]
        self._keys, places = align(tables, keys)
        numbered = [
            pa.table({"pane_start": one.column("pane_start"), "key": key})
            for one, key in zip(tables, places, strict=True)
        ]
        pairs, places = align(numbered, ["pane_start", "key"])
        self._start, self._key = (column.to_numpy().astype(np.int64) for column in pairs.columns)
        self._place = places[0]
        self._more = places[1] if more is not None else None

    def panes(self, bit: int | None, measures: Sequence[MeasureSpec], rates: Rates | None) -> Panes:
        """The panes of the leg with mask bit `bit` (None: the exact leg, all rows).

        Every pane and key that the counts or the sample know has a row. The result does not depend on which other legs
        shared the scan.
        """
        chosen = None if bit is None else np.flatnonzero(self._columns.whole("mask") & np.int64(1 << bit))
        place = self._place if chosen is None else self._place[chosen]
        more = None if bit is None else self._more
        there = np.zeros(len(self._start), dtype=bool)
        there[place] = True
        if more is not None:
            there[more] = True
        start, keys, key = self._start, self._keys, self._key
        if not there.all():
            number = np.cumsum(there) - 1
            place, more = number[place], None if more is None else number[more]
            start, keys, key = self._only(there)
        groups = _Groups(self._columns, chosen, place, len(start))
        count = None if more is None or self._counts is None else _Counted(self._counts, more, len(start))
        sampled = groups.total("rows").astype(np.float64)
        return Panes(
            keys=keys,
            start=start,
            key=key,
            population=sampled if bit is None else count.column("rows") if count else np.full(len(start), np.nan),
            known=bit is None or count is not None,
            sampled=sampled,
            rate=np.ones(len(start)) if rates is None else rates.of(keys)[key],
            measures={
                measure.name: _stat(groups, measure, count.of(measure) if count else None, exact=bit is None)
                for measure in measures
                if measure.traits.state is not None
            },
            unseen=1.0 if rates is None or count is not None else rates.unseen,
        )

    def _only(self, there: npt.NDArray[np.bool_]) -> tuple[Index, Keys, Index]:
        """Of some of the panes and keys each pane's start and key's number, and the keys that are among them."""
        key = self._key[there]
        found = np.zeros(len(self._keys), dtype=bool)
        found[key] = True
        return self._start[there], self._keys.only(found), (np.cumsum(found) - 1)[key]


class _Counted:
    """The arrival counts laid out over the panes and keys of a leg."""

    def __init__(self, counts: _Columns, place: Index, size: int) -> None:
        self._counts, self._place, self._size = counts, place, size

    def column(self, name: str) -> Floats:
        """The counts of one column by pane and key."""
        return _totals(self._counts.whole(name), self._place, self._size).astype(np.float64)

    def of(self, measure: MeasureSpec) -> Floats:
        """How many rows have a value for the measure; for a ratio the rows, of which it takes both parts."""
        name = f"rows_{measure.column}"
        use = name if name in self._counts.table.column_names and measure.traits.state != "pair" else "rows"
        return self.column(use)


def _totals(numbers: Index, place: Index, size: int) -> Index:
    """Whole numbers summed by place."""
    found = np.zeros(size, dtype=np.int64)
    np.add.at(found, place, numbers)
    return found


def _stat(groups: _Groups, measure: MeasureSpec, population: Floats | None, *, exact: bool) -> Stat:
    name = measure.name
    count = groups.total(f"{name}_n").astype(np.float64)
    if population is None:
        population = count if exact else np.full(groups.size, np.nan)
    state = measure.traits.state
    if state == "extreme":
        zeros = np.zeros(groups.size)
        extreme = groups.extreme(f"{name}_{measure.agg}", measure.agg)
        return Stat(population, Moments(count, zeros, zeros), extreme=extreme)
    total = groups.exact(f"{name}_s")
    pair = total.pair()
    squares = groups.fixed(f"{name}_q", 2 * measure.magnitude)
    moments = _moments(count, pair, squares)
    if state == "pair":
        over_total = groups.exact(f"{name}_over_s")
        over_pair = over_total.pair()
        over = _moments(count, over_pair, groups.fixed(f"{name}_over_q", 2 * measure.magnitude))
        cross = centred(groups.fixed(f"{name}_cross", 2 * measure.magnitude), pair, over_pair, count)
        return Stat(population, moments, total, over=over, over_total=over_total, cross=cross)
    if state == "values":
        return Stat(population, moments, values=None if exact else groups.values(f"{name}_values"))
    return Stat(population, moments, total)


def _moments(count: Floats, total: Pair, squares: Pair) -> Moments:
    m2 = centred(squares, total, total, count)
    # Each square was rounded to a double once: what is within that rounding is no spread.
    noise = np.abs(squares[0]) * _ROUNDING
    return Moments.from_sums(count, total[0], np.where(m2 > noise, m2, 0.0))
