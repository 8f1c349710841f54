"""`panes/<query>` as a memory: panes are read where they are fresh, and what is computed is written back.

A partition is fresh when the raw rows it was made from and the part of the specification that it depends on are the
ones of now. What a run sees never depends on whether panes were read or computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.side import Side
from shedding.panes.panes import Panes
from shedding.panes.side_scan import LegPanes
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name

TAIL = ".tail"
"""Suffix of a leg of which only the last panes of a slot are kept: those that the next slot's windows reach into."""


@dataclass(frozen=True, slots=True)
class Prints:
    """What a partition of panes is a function of: certain raw rows, and certain parts of the specification."""

    raw_fingerprint: str
    spec_fingerprint: str


PrintsOf = Callable[[int, str], Prints]


@dataclass(frozen=True, slots=True)
class Demand:
    """Legs of a slot that are missing from the instant `start` on; one scan answers all of them."""

    slot: int
    start: int
    legs: Sequence[str]


class Memory:
    """The panes of one side of a query that were read or computed so far; `suffix` tells the sides of a join apart.

    `computed_rows` counts the rows that had to be processed because no fresh panes were there,
    `scanned_rows` and `scanned_bytes` what was read for it.
    """

    def __init__(
        self, settings: Settings, query: QuerySpec, side: Side, measures: Sequence[MeasureSpec], suffix: str = ""
    ) -> None:
        self.query, self.side, self.measures = query, side, list(measures)
        self._table = warehouse.panes(settings, query.name)
        self._suffix = suffix
        self._cache: dict[tuple[int, str], Panes] = {}
        self._sought: set[tuple[int, str]] = set()
        self.computed_rows = 0.0
        self.scanned_rows = 0.0
        self.scanned_bytes = 0

    def missing(self, slot: int, legs: Sequence[str], since: int | None = None) -> Demand | None:
        """What of these legs was neither fetched nor filled yet; None where all is there."""
        start = slot if since is None else max(slot, since)
        lacking = [leg for leg in legs if self._held(slot, leg, start) is None]
        return Demand(slot, start, lacking) if lacking else None

    def legs(self, slot: int, legs: Sequence[str], since: int | None = None) -> dict[str, Panes]:
        """The panes of legs that are all there, from the instant `since` on.

        Whether the whole slot or only its tail was remembered makes no difference to what is returned.
        """
        start = slot if since is None else max(slot, since)
        held = {leg: self._cache[slot, self._held(slot, leg, start) or leg] for leg in legs}
        return held if start == slot else {leg: panes.since(start, self.measures) for leg, panes in held.items()}

    def fetch(self, slots: Sequence[int], legs: Sequence[str], prints: PrintsOf) -> None:
        """Read what is fresh of these slots and legs, whole or tail, in one go."""
        wanted = [(slot, leg + part) for slot in slots for leg in legs for part in ("", TAIL)]
        wanted = [key for key in wanted if key not in self._sought and key not in self._cache]
        self._sought.update(wanted)  # what was not there once is computed, not looked for again
        for (slot, leg), rows in self._stored(wanted):
            now = prints(slot, leg.removesuffix(TAIL))
            first = rows.slice(0, 1).to_pylist()[0]
            if (first["raw_fingerprint"], first["spec_fingerprint"]) == (now.raw_fingerprint, now.spec_fingerprint):
                self._cache[slot, leg] = Panes.of_table(rows, self.side.keyset.keys, self.measures)

    def fill(self, demand: Demand, computed: LegPanes, prints: PrintsOf) -> None:
        """Remember what a scan answered, and what it cost."""
        for leg, panes in computed.panes.items():
            name = leg if demand.start == demand.slot else leg + TAIL
            self._cache[demand.slot, name] = panes
            self._write(demand.slot, name, panes, prints(demand.slot, leg))
        self.computed_rows += computed.processed_rows
        self.scanned_rows += computed.scanned_rows
        self.scanned_bytes += computed.scanned_bytes

    def _held(self, slot: int, leg: str, start: int) -> str | None:
        """The name that panes of the leg from `start` on are cached under."""
        names = [leg] if start == slot else [leg, leg + TAIL]
        return next((name for name in names if (slot, name) in self._cache), None)

    def _stored(self, wanted: Sequence[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], pa.Table]]:
        """The partitions that the table has, fresh or not."""
        if not wanted or not self._table.exists():
            return
        names = sorted({slot_name(slot) for slot, _ in wanted})
        legs = sorted({leg + self._suffix for _, leg in wanted})
        rows = self._table.read([("slot", "in", names), ("leg", "in", legs)])
        if not rows.num_rows:
            return
        for slot, leg in wanted:
            mine = (_text(rows, "slot") == slot_name(slot)) & (_text(rows, "leg") == leg + self._suffix)
            part = rows.filter(pa.array(mine))
            if part.num_rows:
                yield (slot, leg), part

    def _write(self, slot: int, leg: str, panes: Panes, made_of: Prints) -> None:
        where = {"slot": slot_name(slot), "leg": leg + self._suffix}
        prints = {"raw_fingerprint": made_of.raw_fingerprint, "spec_fingerprint": made_of.spec_fingerprint}
        self._table.replace(panes.table(where | prints), where, {})


def _text(rows: pa.Table, name: str) -> Any:
    return rows.column(name).cast(pa.string()).to_numpy(zero_copy_only=False)
