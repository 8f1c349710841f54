"""From a scan's digit sums to the panes of one leg: classes merged as integers, then made doubles once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import Floats
from shedding.keys import Keys, align
from shedding.panes.groups import Columns, Groups, Index, Summed, totals
from shedding.panes.panes import Panes
from shedding.panes.states import Stat, state_of
from shedding.rates import Rates
from shedding.spec.measure import MeasureSpec


class Scanned:
    """A scan's groups, laid out over panes and keys once so that every leg can take its own of them.

    `counts` are the rows per pane and key counted at arrival (columns pane_start, keys, rows,
    rows_<column>), None where nobody counted. Then `expected` (the same key columns, pane_start: the slot's last pane)
    are the keys that had rates of their own: a leg remembers the rate of each, sampled or not.
    """

    def __init__(
        self, table: pa.Table, keys: Sequence[str], counts: pa.Table | None, expected: pa.Table | None = None
    ) -> None:
        self._columns = Columns(table)
        self._counts = None if counts is None else Columns(counts)
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
        groups = Groups(self._columns, chosen, place, len(start))
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
                measure.name: _stat(Summed(groups, measure), count, key)
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

    def __init__(self, counts: Columns, place: Index, size: int) -> None:
        self._counts, self._place, self._size = counts, place, size

    def column(self, name: str) -> Floats:
        """The counts of one column by pane and key."""
        return totals(self._counts.whole(name), self._place, self._size).astype(np.float64)

    def of(self, summed: Summed, key: Index) -> Floats:
        """How many rows have a value for the measure; of two columns the rows, of which it takes those with both.

        A column that a function makes is not there at arrival: the share of its rows with a value is the sample's, of
        the key, and of all keys where the key has no sampled row.
        """
        measure = summed.measure
        name = f"rows_{measure.column}"
        if measure.over is None and name in self._counts.table.column_names:
            return self.column(name)
        rows = self.column("rows")
        if measure.over is not None or measure.column is None:
            return rows
        sampled, valued = summed.rows, summed.count
        if float(valued.sum()) == float(sampled.sum()):
            return rows
        overall = float(valued.sum()) / float(sampled.sum())
        seen, there = np.bincount(key, sampled), np.bincount(key, valued)
        share = np.where(seen > 0, there / np.maximum(seen, 1.0), overall)
        return np.maximum(rows * share[key], valued)


def _stat(summed: Summed, counted: _Counted | None, key: Index) -> Stat:
    """The measure's state; where nobody counted, the exact leg's rows are all there are, and a sample's unknown."""
    if counted is not None:
        population = counted.of(summed, key)
    else:
        population = np.full(summed.size, np.nan) if summed.sampled else summed.count
    return state_of(summed.measure).of_scan(summed, population)
