"""One scan of a slot's raw rows, and the panes of all the legs that it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from shedding.arrays import Floats
from shedding.ingest.side import Side
from shedding.keys import align
from shedding.panes.blocks import level_measures, with_levels
from shedding.panes.from_scan import Scanned
from shedding.panes.panes import Panes
from shedding.panes.scans import Scans
from shedding.panes.states import state_of
from shedding.rates import Rates
from shedding.scan.ask import Ask
from shedding.scan.read import Read
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_blocks
from shedding.stretches import Stretches

STEPS = 16
"""How many rates are tried for a leg whose keys nobody counted: down to .54 of its rates."""
LEGS_TRIED = 62 // STEPS
"""A scan marks each row with a bit for every rate tried: so many such legs go into one."""


@dataclass(frozen=True, slots=True)
class LegPanes:
    """The panes of legs that came from one scan, the rows it processed, and the rows and bytes it read."""

    panes: Mapping[str, Panes]
    processed_rows: float = 0.0
    scanned_rows: float = 0.0
    scanned_bytes: int = 0

    def and_those_of(self, other: LegPanes) -> LegPanes:
        """With the legs of another scan of the same rows."""
        return LegPanes(
            {**self.panes, **other.panes},
            self.processed_rows + other.processed_rows,
            self.scanned_rows + other.scanned_rows,
            self.scanned_bytes + other.scanned_bytes,
        )


@dataclass(frozen=True, slots=True)
class SideScan:
    """Scans of one side of a query, a slot at a time."""

    query: QuerySpec
    side: Side
    measures: Sequence[MeasureSpec]
    scans: Scans

    def has_rows(self, stretches: Stretches) -> bool:
        """Whether there may be rows, known without a scan."""
        return bool(self.side.arrivals.rows(stretches))

    def empty(self, legs: Sequence[str]) -> LegPanes:
        """The panes of a slot without rows."""
        return LegPanes(dict.fromkeys(legs, empty_panes(self.side, self.measures)))

    def legs(
        self, slot: int, stretches: Stretches, rates: Sequence[Rates], exact: bool, budget: float | None = None
    ) -> LegPanes:
        """The panes of the slot's stretches: of a leg for each of the rates, and of all rows with `exact`.

        With a `budget`, a leg whose rates keep more rows than that has thinner ones (`thinner`), of the same scan.
        """
        whole_slot = self.query.timeline.slot_needed(slot)
        if not self.has_rows(whole_slot if rates else stretches):
            return self.empty([leg.leg for leg in rates] + [EXACT] * exact)
        ask = self.ask(stretches, rates, exact)
        if self.is_silent(ask):
            return self.laid_out(slot, ask, Read(self._nothing(), 0))
        if budget is not None and len(rates) > LEGS_TRIED:
            first = self.legs(slot, stretches, rates[:LEGS_TRIED], exact, budget)
            return first.and_those_of(self.legs(slot, stretches, rates[LEGS_TRIED:], False, budget))
        tried = [one for leg in rates for one in ([leg] if budget is None else thinner(leg))]
        read = self.scans.panes(self.side, self.measures, stretches, tried, exact)
        table, rates = _within(read.table, tried, rates, budget)
        return self.laid_out(slot, replace(ask, legs=rates), replace(read, table=table))

    def ask(self, stretches: Stretches, rates: Sequence[Rates], exact: bool) -> Ask:
        """What is asked of the rows of the stretches."""
        return Ask(self.query, self.side, self.measures, stretches, rates, exact)

    def is_silent(self, ask: Ask) -> bool:
        """Whether the counts of arrival say it all, so that no row is read."""
        silent = all(measure.traits.state is None for measure in self.measures)
        return silent and not ask.exact and all(leg.constant == 0 for leg in ask.legs)

    def laid_out(self, slot: int, ask: Ask, read: Read) -> LegPanes:
        """What a scan found for an ask, as the panes of its legs."""
        stretches, rates, whole_slot = ask.stretches, ask.legs, self.query.timeline.slot_needed(slot)
        rows = 0.0 if self.is_silent(ask) else self.side.arrivals.rows(stretches)
        counts = self.side.counts(stretches) if rates else None
        expected = _expected(rates, whole_slot.end - self.query.timeline.pane) if self.side.keyset.keys else None
        laid_out = Scanned(read.table, self.side.keyset.keys, counts, expected)
        panes = {leg.leg: laid_out.panes(bit, self.measures, leg) for bit, leg in enumerate(rates)}
        if ask.exact:
            whole = laid_out.panes(None, self.measures, None)
            panes[EXACT] = self._with_levels(whole, slot) if stretches == whole_slot else whole
        return LegPanes(panes, float(read.table.column("rows").to_numpy().sum()), rows, read.bytes)

    def _with_levels(self, panes: Panes, slot: int) -> Panes:
        """Exact panes with the quantiles of their blocks, which panes cannot tell; one scan where there are any."""
        wanted = level_measures(self.measures)
        if not wanted:
            return panes
        blocks = slot_blocks(self.query.timeline, slot)
        return with_levels(panes, self.scans.blocks(self.side, wanted, blocks), blocks, self.measures)

    def _nothing(self) -> pa.Table:
        """What a scan of no rows finds, for a side without measures."""
        none = pa.array([], pa.int64())
        keys = self.side.no_keys()
        return pa.table({"pane_start": none, **dict(zip(keys.column_names, keys.columns, strict=True)),
                         "mask": none, "rows": none})  # fmt: skip


def thinner(leg: Rates) -> list[Rates]:
    """The leg's rates and smaller ones in the same proportions, each sample nested in the one before.

    The rows that they keep are those of least u / rate, as many as the budget has room for to a step of 4 %. Keys that
    are kept whole stay whole: with a row less they are estimates, and their number is no longer known.
    """

    def scaled(rate: Floats, part: float) -> Floats:
        return np.where(rate < 1.0, rate * part, rate)

    parts = (0.96 ** np.arange(STEPS)).tolist()
    return [
        replace(leg, values=scaled(leg.values, part), unseen=float(scaled(np.array(leg.unseen), part)))
        for part in parts
    ]


def _within(
    scanned: pa.Table, tried: Sequence[Rates], rates: Sequence[Rates], budget: float | None
) -> tuple[pa.Table, Sequence[Rates]]:
    """Of each leg the first of its rates whose rows are within the budget, and what the scan found by their bits."""
    if budget is None:
        return scanned, rates
    mask, rows = (scanned.column(name).to_numpy() for name in ("mask", "rows"))
    kept = [int(rows[mask >> bit & 1 == 1].sum()) for bit in range(len(tried))]
    bits = [
        next((bit for bit in range(first, first + STEPS) if kept[bit] <= budget), first + STEPS - 1)
        for first in range(0, len(tried), STEPS)
    ]
    chosen = np.zeros(len(mask), dtype=np.int64)
    for place, bit in enumerate(bits):
        chosen |= (mask >> bit & 1) << place
    at = scanned.schema.get_field_index("mask")
    return scanned.set_column(at, "mask", pa.array(chosen)), [tried[bit] for bit in bits]


def empty_panes(side: Side, measures: Sequence[MeasureSpec]) -> Panes:
    """Panes of no row, with the types that the side's columns have."""
    nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
    keys = align([side.no_keys()], side.keyset.keys)[0]
    types = side.types()
    stats = {
        m.name: state_of(m).empty(whole=pa.types.is_integer(types.get(m.column, pa.float64())))
        for m in measures
        if m.column is not None and m.traits.state is not None
    }
    return Panes(keys, none, none, nothing, True, nothing, nothing, stats)


def _expected(legs: Sequence[Rates], pane: int) -> pa.Table | None:
    """The keys that the legs have rates for, all legs the same, in one pane: the slot's last that windows need."""
    if not legs:
        return None
    keys = legs[0].keys
    starts = pa.repeat(pa.scalar(pane, pa.int64()), len(keys))
    return pa.table({"pane_start": starts, **dict(zip(keys.names, keys.columns, strict=True))})
