"""Panes: what is remembered of a slot, per pane, key and leg. Partial result and prior in one.

A pane holds the rows that were sampled, the rows there are, and each measure's moments. Panes of the
exact leg are a function of the raw rows alone; those of a shed leg also of the slot's rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import Floats
from shedding.keys import Keys, align
from shedding.panes.states import Kept, Stat, state_of
from shedding.panes.states.stat import nullable
from shedding.spec.measure import MeasureSpec
from shedding.stretches import Stretches

Index = npt.NDArray[np.int64]
MICROS = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class Panes:
    """The panes of one slot and leg, sorted by pane and key; rows with nothing sampled are there too.

    `known` says that `population` was counted at arrival; otherwise it is nan. `unseen` is the rate of the keys that
    have no pane here: 1 where nothing of them was left out.
    """

    keys: Keys
    start: Index
    key: Index
    population: Floats
    known: bool
    sampled: Floats
    rate: Floats
    measures: Mapping[str, Stat]
    unseen: float = 1.0

    def __len__(self) -> int:
        return len(self.start)

    def table(self, fixed: Mapping[str, str]) -> pa.Table:
        """As rows of `panes/<query>`; `fixed` are columns with one value (slot, leg, fingerprints)."""
        columns: dict[str, Any] = {name: pa.repeat(value, len(self)) for name, value in fixed.items()}
        columns["pane_start"] = pa.array(self.start, pa.int64()).cast(MICROS)
        columns |= self.keys.take(self.key)
        columns["population"] = nullable(self.population)
        columns["known"] = pa.array(np.full(len(self), self.known))
        columns["sampled"] = pa.array(self.sampled.astype(np.int64))
        columns["rate"] = pa.array(self.rate)
        columns["unseen"] = pa.array(np.full(len(self), self.unseen))
        for name, stat in self.measures.items():
            columns |= {f"{name}_{part}": column for part, column in stat.columns().items()}
        return pa.table(columns)

    def within(self, stretches: Stretches, measures: Sequence[MeasureSpec]) -> Panes:
        """The panes that start in the stretches, and their keys alone."""
        inside = stretches.hold(self.start)
        return (
            self if inside.all() else Panes.of_table(self.table({}).filter(pa.array(inside)), self.keys.names, measures)
        )

    def joined(self, others: Panes, measures: Sequence[MeasureSpec]) -> Panes:
        """These panes and others of the same slot and leg, none of which is here."""
        rows = pa.concat_tables([self.table({}), others.table({})])
        return Panes.of_table(rows, self.keys.names, measures)

    @classmethod
    def of_table(cls, rows: pa.Table, keys: Sequence[str], measures: Sequence[MeasureSpec]) -> Panes:
        """The inverse of `table`: the same bits again."""
        start = rows.column("pane_start").cast(MICROS).cast(pa.int64()).to_numpy()
        found, (key,) = align([rows], keys)
        if not _ordered(start, key):
            order = np.lexsort((key, start))
            rows, start, key = rows.take(pa.array(order, pa.int64())), start[order], key[order]
        known = rows.column("known").to_numpy()
        return cls(
            keys=found,
            start=start,
            key=key,
            population=_floats(rows, "population"),
            known=bool(known.all()),
            sampled=_floats(rows, "sampled"),
            rate=_floats(rows, "rate"),
            measures={
                m.name: state_of(m).of_columns(Kept(rows, m.name))
                for m in measures
                if f"{m.name}_n" in rows.column_names
            },
            unseen=float(_floats(rows, "unseen").min(initial=1.0)),
        )


def _ordered(start: Index, key: Index) -> bool:
    """Whether panes are sorted by their start and key already, as they were written."""
    later = np.diff(start)
    return bool(np.all((later > 0) | ((later == 0) & (np.diff(key) > 0))))


def _floats(rows: pa.Table, name: str) -> Floats:
    """A numeric column as doubles, null as nan."""
    return np.asarray(rows.column(name).cast(pa.float64()).to_numpy(), dtype=np.float64)
