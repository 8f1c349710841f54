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

from shedding.estimates.moments import Moments
from shedding.keys import Keys, align
from shedding.scan.exact_sums import ExactSums
from shedding.spec.query import MeasureSpec

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]
"""Doubles, or whole numbers of 64 bits."""
MICROS = pa.timestamp("us", tz="UTC")
LEVELS = ("below", "at", "above")
"""Columns of a quantile's exact values in a block: at a level below it, at its own, at one above it."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One measure over many panes; which parts are there depends on its aggregate.

    population: rows that have a value (nan where only estimated populations exist); moments: of the
    sampled values; total: their exact sum, of avg, sum and ratio; over, over_total, cross: the same for a
    ratio's denominator, and the centred sum of products; extreme: of min and max, whole numbers where the
    column has such, of no meaning where no row has a value; values: a quantile's sampled values, sorted, as
    an Arrow list array; levels (3, panes): a quantile's exact values of the blocks that begin with these panes,
    nan elsewhere (see `blocks`).
    """

    population: Floats
    moments: Moments
    total: ExactSums | None = None
    over: Moments | None = None
    over_total: ExactSums | None = None
    cross: Floats | None = None
    extreme: Numbers | None = None
    values: Any = None
    levels: Floats | None = None


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
        columns: dict[str, Any] = {name: pa.array([value] * len(self), pa.string()) for name, value in fixed.items()}
        columns["pane_start"] = pa.array(self.start, pa.int64()).cast(MICROS)
        columns |= self.keys.take(self.key)
        columns["population"] = _nullable(self.population)
        columns["known"] = pa.array(np.full(len(self), self.known))
        columns["sampled"] = pa.array(self.sampled.astype(np.int64))
        columns["rate"] = pa.array(self.rate)
        columns["unseen"] = pa.array(np.full(len(self), self.unseen))
        for name, stat in self.measures.items():
            columns |= {f"{name}_{part}": column for part, column in _stat_columns(stat).items()}
        return pa.table(columns)

    def since(self, instant: int, measures: Sequence[MeasureSpec]) -> Panes:
        """The panes that start at `instant` or later, and their keys alone."""
        rows = self.table({}).filter(pa.array(self.start >= instant))
        return Panes.of_table(rows, self.keys.names, measures)

    @classmethod
    def of_table(cls, rows: pa.Table, keys: Sequence[str], measures: Sequence[MeasureSpec]) -> Panes:
        """The inverse of `table`: the same bits again."""
        start = rows.column("pane_start").cast(MICROS).cast(pa.int64()).to_numpy()
        found, (key,) = align([rows], keys)
        order = np.lexsort((key, start))
        rows = rows.take(pa.array(order, pa.int64()))
        known = rows.column("known").to_numpy()
        return cls(
            keys=found,
            start=start[order],
            key=key[order],
            population=_floats(rows, "population"),
            known=bool(known.all()),
            sampled=_floats(rows, "sampled"),
            rate=_floats(rows, "rate"),
            measures={m.name: _stat_of(rows, m) for m in measures if f"{m.name}_n" in rows.column_names},
            unseen=float(_floats(rows, "unseen").min(initial=1.0)),
        )


def _stat_columns(stat: Stat) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "population": _nullable(stat.population),
        "n": pa.array(stat.moments.count.astype(np.int64)),
        "mean": pa.array(stat.moments.mean),
        "m2": pa.array(stat.moments.m2),
    }
    if stat.total is not None:
        columns["sum"] = stat.total.lists()
    if stat.over is not None and stat.over_total is not None and stat.cross is not None:
        columns |= {"over_mean": pa.array(stat.over.mean), "over_m2": pa.array(stat.over.m2)}
        columns |= {"over_sum": stat.over_total.lists(), "cross": pa.array(stat.cross)}
    if stat.extreme is not None:
        columns[f"{stat.extreme.dtype}_extreme"] = pa.array(stat.extreme, mask=stat.moments.count == 0)
    if stat.values is not None:
        columns["values"] = stat.values
    if stat.levels is not None:
        columns |= {part: _nullable(level) for part, level in zip(LEVELS, stat.levels, strict=True)}
    return columns


def _stat_of(rows: pa.Table, measure: MeasureSpec) -> Stat:
    name = measure.name
    count = _floats(rows, f"{name}_n")
    population = _floats(rows, f"{name}_population")
    moments = Moments(count, _floats(rows, f"{name}_mean"), _floats(rows, f"{name}_m2"))
    state = measure.traits.state
    if state == "extreme":
        return Stat(population, moments, extreme=_extreme(rows, name))
    if state == "pair":
        over = Moments(count, _floats(rows, f"{name}_over_mean"), _floats(rows, f"{name}_over_m2"))
        total, over_total = (_sums(rows, f"{name}_{part}") for part in ("sum", "over_sum"))
        return Stat(population, moments, total, over=over, over_total=over_total, cross=_floats(rows, f"{name}_cross"))
    if state == "values":
        given = f"{name}_values" in rows.column_names
        lists = rows.column(f"{name}_values").combine_chunks() if given else None
        exact = lists is None or lists.null_count  # the exact leg keeps none
        return Stat(population, moments, values=None if exact else lists, levels=_levels(rows, name))
    return Stat(population, moments, _sums(rows, f"{name}_sum"))


def _sums(rows: pa.Table, name: str) -> ExactSums:
    return ExactSums.of_lists(rows.column(name).combine_chunks())


def _extreme(rows: pa.Table, name: str) -> Numbers:
    """Least or largest values, of the type that has any where the column has changed its type."""
    names = [f"{name}_{kind}_extreme" for kind in ("int64", "float64")]
    columns = sorted((rows.column(one) for one in names if one in rows.column_names), key=lambda one: one.null_count)
    return np.asarray(columns[0].fill_null(0).to_numpy())


def _levels(rows: pa.Table, name: str) -> Floats | None:
    """A quantile's exact values by level; None where the leg keeps none."""
    if f"{name}_{LEVELS[0]}" not in rows.column_names:
        return None
    found = np.stack([_floats(rows, f"{name}_{part}") for part in LEVELS])
    return None if np.isnan(found).all() else found


def _floats(rows: pa.Table, name: str) -> Floats:
    """A numeric column as doubles, null as nan."""
    return np.asarray(rows.column(name).cast(pa.float64()).to_numpy(), dtype=np.float64)


def _nullable(values: Floats) -> Any:
    return pa.array(values, pa.float64(), mask=np.isnan(values))
