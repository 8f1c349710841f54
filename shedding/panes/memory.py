"""`panes/<query>` as a memory: panes are read where they are fresh and computed where they are not.

A pane partition is fresh when the raw rows it was made from and the part of the specification that it
depends on are the ones of now. What is computed is written back, so the next run finds it; what a run
sees never depends on which of the two happened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.ingest.side import Side, deepest_of, needed_counts
from shedding.keys import align
from shedding.panes.blocks import level_measures, with_levels
from shedding.panes.from_scan import Scanned
from shedding.panes.panes import Panes
from shedding.panes.states import state_of
from shedding.rates import Rates
from shedding.spec.query import MeasureSpec, QuerySpec
from shedding.spec.timeline import Block, slot_blocks, slot_name

EXACT = "exact"
TAIL = ".tail"
"""Suffix of a leg of which only the last panes of a slot are kept: those that the next slot's windows reach into."""
FORMAT = 5  # raise it when the meaning of a pane's columns or a policy's rates change


class Scans(Protocol):
    """What a memory asks of Spark."""

    def panes(
        self, side: Side, measures: Sequence[MeasureSpec], start: int, end: int, legs: Sequence[Rates], exact: bool
    ) -> pa.Table:
        """The rows of [start, end) grouped by pane, key and class of legs."""

    def windows(self, side: Side, measures: Sequence[MeasureSpec], windows: Sequence[tuple[int, int]]) -> pa.Table:
        """Exact values that do not merge over panes, per window and key."""

    def blocks(self, side: Side, measures: Sequence[MeasureSpec], blocks: Sequence[Block]) -> pa.Table:
        """Exact values that do not merge over panes, per block (window_start) and key; blocks do not overlap."""


class PaneSource(Protocol):
    """Where panes come from: a memory, or an experiment that keeps its panes to itself."""

    side: Side
    measures: list[MeasureSpec]

    def panes(self, slot: int, leg: str) -> Panes:
        """The panes of one slot and leg."""

    def legs(self, slot: int, legs: Sequence[str]) -> dict[str, Panes]:
        """The panes of several legs of a slot."""

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """A hint that these will be wanted."""


Allocate = Callable[[int, Sequence[str]], Mapping[str, Rates]]
"""allocate(slot, legs): the rates of shed legs, a function of earlier exact panes and the slot's counts."""


class Memory:
    """The panes of one side of a query; `suffix` tells the sides of a join apart.

    `computed_rows` counts the rows that had to be processed because no fresh panes were there,
    `scanned_rows` and `scanned_bytes` what was read for it.
    """

    def __init__(
        self,
        settings: Settings,
        query: QuerySpec,
        side: Side,
        measures: Sequence[MeasureSpec],
        scans: Scans,
        suffix: str = "",
    ) -> None:
        self.query, self.side, self.measures = query, side, list(measures)
        self._table = warehouse.panes(settings, query.name)
        self._scans, self._suffix = scans, suffix
        self._cache: dict[tuple[int, str], Panes] = {}
        self._sought: set[tuple[int, str]] = set()
        self.allocate: Allocate | None = None
        self.prior_slots: Callable[[int], Sequence[int]] = lambda _: ()
        self.beside: Sequence[Side] = ()  # a join's other side: rates follow from the counts of both
        self.metadata: Mapping[str, Any] = {}
        self.computed_rows = 0.0
        self.scanned_rows = 0.0
        self.scanned_bytes = 0

    def panes(self, slot: int, leg: str) -> Panes:
        """The panes of one slot and leg."""
        return self.legs(slot, [leg])[leg]

    def legs(self, slot: int, legs: Sequence[str], since: int | None = None) -> dict[str, Panes]:
        """The panes of several legs of a slot, from the instant `since` on; those that are missing come from one scan.

        Whether the whole slot or only its tail was remembered makes no difference to what is returned.
        """
        start = slot if since is None else max(slot, since)
        self.fetch([slot], legs)
        names = {leg: leg if start == slot or (slot, leg) in self._cache else leg + TAIL for leg in legs}
        missing = [leg for leg in legs if (slot, names[leg]) not in self._cache]
        if missing:
            self._compute(slot, missing, start)
        found = {leg: self._cache[slot, names[leg]] for leg in legs}
        return found if start == slot else {leg: panes.since(start, self.measures) for leg, panes in found.items()}

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """Read what is fresh of these slots and legs, whole or tail, in one go."""
        wanted = [(slot, leg + part) for slot in slots for leg in legs for part in ("", TAIL)]
        wanted = [key for key in wanted if key not in self._sought and key not in self._cache]
        self._sought.update(wanted)  # what was not there once is computed, not looked for again
        if not wanted or not self._table.exists():
            return
        names = sorted({slot_name(slot) for slot, _ in wanted})
        rows = self._table.read([("slot", "in", names), ("leg", "in", sorted({self._name(leg) for _, leg in wanted}))])
        if not rows.num_rows:
            return
        for slot, leg in wanted:
            mine = (_text(rows, "slot") == slot_name(slot)) & (_text(rows, "leg") == self._name(leg))
            part = rows.filter(pa.array(mine))
            if part.num_rows and self._is_fresh(part, slot, leg.removesuffix(TAIL)):
                self._cache[slot, leg] = Panes.of_table(part, self.side.keyset.keys, self.measures)

    def raw_fingerprint(self, slot: int, leg: str) -> str:
        """Of all the raw rows that the panes depend on: the slot's, and for a shed leg those of its priors.

        The rates of a join's shed leg follow from both sides, so its fingerprint does too.
        """
        if leg == EXACT:
            return self._fingerprint([slot], [self.side])
        return self._fingerprint([slot, *self.prior_slots(slot)], [self.side, *self.beside])

    def _fingerprint(self, slots: Sequence[int], sides: Sequence[Side]) -> str:
        length = self.query.timeline.slot
        return digest([side.fingerprint(slot, slot + length) for side in sides for slot in slots])

    def spec_fingerprint(self, leg: str) -> str:
        """Of what the specification says about these panes; for the exact leg that is not its shedding."""
        spec = self.query.model_dump(mode="json")
        parts = ["where", "join", "group_by", "measures", "window", "schedule"]
        if leg != EXACT:
            parts += ["shed", "audit"]
        content: dict[str, Any] = {part: spec[part] for part in parts} | self.query.functions
        if leg != EXACT:
            content["shed"] = {**spec["shed"], "policy": leg, "compare": []}
        keyset = self.side.keyset
        return digest([FORMAT, keyset.dataset, keyset.keys, keyset.where, content])

    def _name(self, leg: str) -> str:
        return leg + self._suffix

    def _is_fresh(self, rows: pa.Table, slot: int, leg: str) -> bool:
        found = {(row["raw_fingerprint"], row["spec_fingerprint"]) for row in rows.slice(0, 1).to_pylist()}
        return found == {(self.raw_fingerprint(slot, leg), self.spec_fingerprint(leg))}

    def _compute(self, slot: int, legs: Sequence[str], start: int) -> None:
        end = slot + self.query.timeline.slot
        if not self.side.arrivals.rows(slot, end):
            for leg in legs:
                self._remember(slot, leg, start, self._empty())
            return
        shed = [leg for leg in legs if leg != EXACT]
        rates: Mapping[str, Rates] = {}
        if shed:
            assert self.allocate is not None, "shed legs need an allocator"
            rates = self.allocate(slot, shed)
        drawn = [rates[leg] for leg in shed]
        if not self.measures and EXACT not in legs and all(leg.constant == 0 for leg in drawn):
            scanned = self._nothing()  # a side whose counts say it all is not read
        else:
            scanned = self._scans.panes(self.side, self.measures, start, end, drawn, EXACT in legs)
            self.scanned_rows += self.side.arrivals.rows(start, end)
            self.scanned_bytes += self.side.bytes(start, end, deepest=deepest_of(scanned))
        counts = needed_counts(self.side, self.query.timeline, start, end) if shed else None
        expected = _expected(drawn, end - self.query.timeline.pane) if self.side.keyset.keys else None
        laid_out = Scanned(scanned, self.side.keyset.keys, counts, expected)
        for leg in legs:
            bit = None if leg == EXACT else shed.index(leg)
            panes = laid_out.panes(bit, self.measures, rates.get(leg))
            self._remember(
                slot, leg, start, self._with_levels(panes, slot) if leg == EXACT and start == slot else panes
            )
        self.computed_rows += float(scanned.column("rows").to_numpy().sum())

    def _with_levels(self, panes: Panes, slot: int) -> Panes:
        """Exact panes with the quantiles of their blocks, which panes cannot tell; one scan where there are any."""
        wanted = level_measures(self.measures)
        if not wanted:
            return panes
        blocks = slot_blocks(self.query.timeline, slot)
        return with_levels(panes, self._scans.blocks(self.side, wanted, blocks), blocks, self.measures)

    def _remember(self, slot: int, leg: str, start: int, panes: Panes) -> None:
        name = leg if start == slot else leg + TAIL
        self._cache[slot, name] = panes
        where = {"slot": slot_name(slot), "leg": self._name(name)}
        prints = {
            "raw_fingerprint": self.raw_fingerprint(slot, leg),
            "spec_fingerprint": self.spec_fingerprint(leg),
        }
        self._table.replace(panes.table(where | prints), where, self.metadata)

    def _nothing(self) -> pa.Table:
        """What a scan of no rows finds, for a side without measures."""
        none = pa.array([], pa.int64())
        keys = self.side.no_keys()
        return pa.table({"pane_start": none, **dict(zip(keys.column_names, keys.columns, strict=True)),
                         "mask": none, "rows": none})  # fmt: skip

    def _empty(self) -> Panes:
        nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        keys = align([self.side.no_keys()], self.side.keyset.keys)[0]
        types = self.side.types()
        stats = {
            m.name: state_of(m).empty(whole=pa.types.is_integer(types.get(m.column, pa.float64())))
            for m in self.measures
            if m.column is not None and m.traits.state is not None
        }
        return Panes(keys, none, none, nothing, True, nothing, nothing, stats)


def _expected(legs: Sequence[Rates], pane: int) -> pa.Table | None:
    """The keys that the legs have rates for, all legs the same, in one pane of the slot: its last, which tails keep."""
    if not legs:
        return None
    keys = legs[0].keys
    return pa.table({"pane_start": pa.array([pane] * len(keys), pa.int64()), **keys.take(np.arange(len(keys)))})


def _text(rows: pa.Table, name: str) -> Any:
    return rows.column(name).cast(pa.string()).to_numpy(zero_copy_only=False)


def digest(content: Any) -> str:
    """A short name of some JSON content: equal for equal content, stable for ever."""
    return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=12).hexdigest()
