"""`panes/<query>` as a memory: panes are read where they are fresh, and what is computed is written back.

A partition is fresh when the raw rows it was made from and the part of the specification that it depends on are the
ones of now. What a run sees never depends on whether panes were read or computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.side import Side
from shedding.panes.blocks import level_measures
from shedding.panes.panes import Panes
from shedding.panes.side_scan import LegPanes, empty_panes
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.stopwatch import Stopwatch
from shedding.stretches import Stretches


@dataclass(frozen=True, slots=True)
class Prints:
    """What a partition of panes is a function of: certain raw rows, and certain parts of the specification."""

    raw_fingerprint: str
    spec_fingerprint: str


PrintsOf = Callable[[int, str, Stretches], Prints]
"""Of the panes of a slot, a leg and certain stretches."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Legs of a slot that are missing in some stretches; one scan answers all of them."""

    slot: int
    stretches: Stretches
    legs: Sequence[str]


@dataclass(frozen=True, slots=True)
class Held:
    """The panes of a slot and leg that are there, and the stretches that these are all the panes of."""

    panes: Panes
    stretches: Stretches


class Memory:
    """The panes of one side of a query that were read or computed so far; `suffix` tells the sides of a join apart.

    `computed_rows` counts the rows that had to be processed because no fresh panes were there,
    `scanned_rows` and `scanned_bytes` what was read for it.
    """

    def __init__(
        self,
        settings: Settings,
        query: QuerySpec,
        side: Side,
        measures: Sequence[MeasureSpec],
        suffix: str = "",
        watch: Stopwatch | None = None,
    ) -> None:
        self._watch = watch or Stopwatch()
        self.query, self.side, self.measures = query, side, list(measures)
        self._table = warehouse.panes(settings, query.name)
        self._suffix = suffix
        self._cache: dict[tuple[int, str], Held] = {}
        self._sought: set[tuple[int, str]] = set()
        self.computed_rows = 0.0
        self.scanned_rows = 0.0
        self.scanned_bytes = 0

    def missing(self, slot: int, legs: Sequence[str], within: Stretches | None = None) -> Demand | None:
        """What of these legs was neither fetched nor filled yet; None where all is there."""
        wanted = self._wanted(slot, within)
        lacking = {leg: self._lacking(slot, leg, wanted) for leg in legs}
        stretches = Stretches.union(lacking.values())
        return Demand(slot, stretches, [leg for leg in legs if lacking[leg]]) if stretches else None

    def legs(self, slot: int, legs: Sequence[str], within: Stretches | None = None) -> dict[str, Panes]:
        """The panes of legs that are all there; what else was remembered makes no difference to what is returned."""
        wanted = self._wanted(slot, within)
        if not wanted:
            return dict.fromkeys(legs, empty_panes(self.side, self.measures))
        return {leg: self._cache[slot, leg].panes.within(wanted, self.measures) for leg in legs}

    def fetch(self, slots: Sequence[int], legs: Sequence[str], prints: PrintsOf) -> None:
        """Read what is fresh of these slots and legs, in one go."""
        wanted = [(slot, leg) for slot in slots for leg in legs]
        wanted = [key for key in wanted if key not in self._sought and key not in self._cache]
        self._sought.update(wanted)  # what was not there once is computed, not looked for again
        with self._watch.part("plan"):
            for (slot, leg), rows in self._stored(wanted):
                first = rows.slice(0, 1).to_pylist()[0]
                text = first.get("stretches")  # a table that an older version wrote has whole slots
                stretches = self._wanted(slot) if text is None else Stretches.of_text(text)
                now = prints(slot, leg, stretches)
                if (first["raw_fingerprint"], first["spec_fingerprint"]) == (now.raw_fingerprint, now.spec_fingerprint):
                    self._cache[slot, leg] = Held(Panes.of_table(rows, self.side.keyset.keys, self.measures), stretches)

    def fill(self, demand: Demand, computed: LegPanes, prints: PrintsOf) -> None:
        """Remember what a scan answered, and what it cost."""
        for leg, panes in computed.panes.items():
            held = self._with_held(demand, leg, panes)
            self._cache[demand.slot, leg] = held
            self._write(demand.slot, leg, held, prints(demand.slot, leg, held.stretches))
        self.computed_rows += computed.processed_rows
        self.scanned_rows += computed.scanned_rows
        self.scanned_bytes += computed.scanned_bytes

    def _wanted(self, slot: int, within: Stretches | None = None) -> Stretches:
        needed = self.query.timeline.slot_needed(slot)
        return needed if within is None else needed.within(within)

    def _lacking(self, slot: int, leg: str, wanted: Stretches) -> Stretches:
        """The stretches that a scan must read so that all of a leg's wanted panes are there."""
        held = self._cache.get((slot, leg))
        if held is None:
            return wanted
        missing = wanted.minus(held.stretches)
        return missing if self._adds_up(leg) or not missing else wanted

    def _adds_up(self, leg: str) -> bool:
        """Whether panes of several scans are those of one: exact ones without quantiles of whole blocks in them."""
        return leg == EXACT and not level_measures(self.measures)

    def _with_held(self, demand: Demand, leg: str, panes: Panes) -> Held:
        held = self._cache.get((demand.slot, leg))
        if held is None or not self._adds_up(leg):
            return Held(panes, demand.stretches)
        new = panes.within(demand.stretches.minus(held.stretches), self.measures)
        return Held(held.panes.joined(new, self.measures), Stretches.union([held.stretches, demand.stretches]))

    def _stored(self, wanted: Sequence[tuple[int, str]]) -> Iterator[tuple[tuple[int, str], pa.Table]]:
        """The partitions that the table has, fresh or not."""
        if not wanted or not self._table.exists():
            return
        names = sorted({slot_name(slot) for slot, _ in wanted})
        legs = sorted({leg + self._suffix for _, leg in wanted})
        rows = self._table.read([("slot", "in", names), ("leg", "in", legs)])
        if not rows.num_rows:
            return
        asked = {(slot_name(slot), leg + self._suffix): (slot, leg) for slot, leg in wanted}
        for partition, part in _partitions(rows):
            if partition in asked:
                yield asked[partition], part

    def _write(self, slot: int, leg: str, held: Held, made_of: Prints) -> None:
        where = {"slot": slot_name(slot), "leg": leg + self._suffix}
        prints = {"raw_fingerprint": made_of.raw_fingerprint, "spec_fingerprint": made_of.spec_fingerprint}
        with self._watch.part("write"):
            self._table.replace(held.panes.table(where | prints | {"stretches": held.stretches.text}), where, {})


def _partitions(rows: pa.Table) -> Iterator[tuple[tuple[str, str], pa.Table]]:
    """The rows of each slot and leg; no copy where they stand together, as a reader of partitions hands them over."""
    slots, legs = (rows.column(name).cast(pa.string()).combine_chunks().dictionary_encode() for name in ("slot", "leg"))
    code = slots.indices.to_numpy().astype(np.int64) * len(legs.dictionary) + legs.indices.to_numpy()
    borders = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist(), len(code)]
    runs = [(int(code[start]), start, end) for start, end in itertools.pairwise(borders)]
    for one in dict.fromkeys(number for number, _, _ in runs):
        slot, leg = divmod(one, len(legs.dictionary))
        parts = [rows.slice(start, end - start) for number, start, end in runs if number == one]
        yield (slots.dictionary[slot].as_py(), legs.dictionary[leg].as_py()), pa.concat_tables(parts)
