"""What a call costs by its item, learnt at audited slots by the rule of priors: the last three, decayed by age.

A sketch is made of what an audited slot's calls took (`enriched/<query>`) and kept in `costs/<query>`; the first one
stays. Slots that shed teach nothing: what they measure corrects their own forecast only (`rounds`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.enrich.items import items_of
from shedding.enrich.store import Enriched
from shedding.load.cost_sketch import CostSketch, cells_of
from shedding.load.rounds import calibrated_margin, round_ratios
from shedding.load.snapshots import Snapshots
from shedding.spec.fingerprints import digest
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DECAY = (100, 90, 81)
"""Weights of the audits, newest first: .9 per audit, as whole numbers, so that sketches stay exact."""
UNKNOWN = 1_000_000.0
"""Nanoseconds of a call of which no audit tells: where all calls are alike, only their number counts."""
_SECOND = 1e9


@dataclass(frozen=True, slots=True)
class SlotCost:
    """The sketch of an audited slot; `change` is that between its last snapshots, `stable` whether one was small."""

    sketch: CostSketch
    change: float
    stable: bool
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CostModel:
    """What calls are expected to take; `digests` name the sketches that it was made of, newest first."""

    query: QuerySpec
    sketch: CostSketch
    digests: tuple[str, ...]
    change: float
    stable: bool
    margin: float

    @property
    def known(self) -> bool:
        """Whether any call was measured."""
        return self.sketch.total_rows > 0

    def of_items(self, items: Ints) -> Floats:
        """Seconds of a call with each item."""
        if not self.known:
            return np.full(items.size, UNKNOWN / _SECOND)
        return np.maximum(self.sketch.estimate(cells_of(items)), 1.0) / _SECOND

    def of_rows(self, rows: pa.Table) -> Floats:
        """Seconds of all the query's functions for a row like each of these: key columns, and those costs go by."""
        total = np.zeros(rows.num_rows)
        for entry in self.query.enrich:
            total += self.of_items(items_of(entry.name, rows, entry.cost_by or self.query.group_by))
        return total


class Costs:
    """The sketches of a query's audited slots."""

    def __init__(self, settings: Settings, query: QuerySpec) -> None:
        self._settings, self._query = settings, query
        self._table = warehouse.costs(settings, query.name)
        self._functions = digest([query.functions, query.group_by])
        self._held: dict[int, SlotCost] = {}

    def model(self, audits: Sequence[int]) -> CostModel:
        """What these audits, newest first, teach; their exact panes must have been computed."""
        found = [self.at(audit) for audit in audits]
        sketch = CostSketch.empty()
        for weight, one in zip(DECAY, found, strict=False):
            sketch = sketch.merge(CostSketch(weight * one.sketch.rows, weight * one.sketch.cost))
        measured = [one for one in found if one.sketch.total_rows]
        return CostModel(
            query=self._query,
            sketch=sketch,
            digests=tuple(one.sketch.digest() for one in found),
            change=max((one.change for one in measured if np.isfinite(one.change)), default=0.0),
            stable=bool(measured) and all(one.stable for one in measured),
            margin=calibrated_margin([ratio for one in found for ratio in one.ratios]),
        )

    def at(self, slot: int) -> SlotCost:
        """The sketch of an audited slot, made of its measured calls where there is none yet."""
        if slot not in self._held:
            stored = self._stored(slot)
            self._held[slot] = stored if stored is not None else self._settled(slot)
        return self._held[slot]

    def _where(self, slot: int) -> dict[str, str | int | tuple[str, str]]:
        return {"slot": slot_name(slot), "functions": self._functions}

    def _stored(self, slot: int) -> SlotCost | None:
        if not self._table.exists():
            return None
        rows = self._table.read([(name, "=", value) for name, value in self._where(slot).items()]).to_pylist()
        return _slot_cost(rows[0]) if rows else None

    def _settled(self, slot: int) -> SlotCost:
        """Make the slot's sketch; where another run was first, its own is what stands."""
        made = self._made(slot)
        sketch = made.sketch
        row = {
            **self._where(slot), "depth": sketch.rows.shape[0], "width": sketch.rows.shape[1],
            "rows": sketch.rows.ravel().tolist(), "cost": sketch.cost.ravel().tolist(),
            "total_rows": sketch.total_rows, "total_ns": sketch.total_cost, "change": made.change,
            "stable": made.stable, "digest": sketch.digest(), "ratios": made.ratios, "made_at": dt.datetime.now(dt.UTC),
        }  # fmt: skip
        rows = pa.Table.from_pylist([row], schema=warehouse.costs.schema)
        counter = f"costs/{self._query.name}/{slot_name(slot)}/{self._functions}"
        stands = self._table.settle(rows, self._where(slot), counter, 1, {"slot": slot_name(slot)})
        return _slot_cost(stands.to_pylist()[0])

    def _made(self, slot: int) -> SlotCost:
        """From the slot's measured calls, in order of u, so that the order of runs and partitions does not matter."""
        parts = [Enriched(self._settings, self._query.name, entry).read([slot]) for entry in self._query.enrich]
        calls = pa.concat_tables([part.select(["u", "event_time", "item", "cost_ns"]) for part in parts])
        calls = calls.sort_by([(name, "ascending") for name in ("u", "event_time", "item", "cost_ns")])
        cells = cells_of(calls["item"].to_numpy())
        spent = calls["cost_ns"].to_numpy()
        snapshots = Snapshots()
        stable = bool(snapshots.add(cells, spent))
        sketch = CostSketch.of(cells, spent)
        ratios = round_ratios(spent.astype(np.float64), np.maximum(sketch.estimate(cells), 1.0))
        return SlotCost(sketch, snapshots.change, stable, tuple(ratios.tolist()))


def _slot_cost(row: dict[str, Any]) -> SlotCost:
    shape = row["depth"], row["width"]
    rows, cost = (np.array(row[name], dtype=np.int64).reshape(shape) for name in ("rows", "cost"))
    return SlotCost(CostSketch(rows, cost), float(row["change"]), bool(row["stable"]), tuple(row["ratios"]))


def seconds_by_item(model: CostModel, spent: pa.Table) -> tuple[float, float]:
    """Of calls by item, as scans sum them: the seconds that they took, and those that the model expects."""
    expected = model.of_items(spent["item"].to_numpy()) * spent["rows"].to_numpy()
    return float(spent["ns"].to_numpy().sum()) / _SECOND, float(expected.sum())
