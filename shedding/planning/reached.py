"""How far a slot's budget of seconds went, settled in its plan: a re-run needs no clock and gives the same bits."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from shedding import warehouse
from shedding.config import Settings
from shedding.load.delay import MEMORY, DelayLimit, MeanDelay, MostDelay, next_delay
from shedding.load.rounds import Rounds
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import UNITS

_OFF = 1.5
"""A speed beyond this factor, or below its inverse, is told: the machine is not the audits' one."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The factor of the budget, in forecast seconds, whose rows are the slot's sample; and how it came to that."""

    factor: float
    seconds: float
    spent: float
    speed: float
    margin: float
    delay: float
    basis: str
    revision: int
    reason: str

    @property
    def forecast_seconds(self) -> float:
        """What the slot's rates are allocated within: seconds as the audits' costs have them."""
        return self.factor * self.seconds


class SecondsPlans:
    """The plans of a query that spends seconds: read where they are settled, else decided by rounds and settled."""

    def __init__(self, settings: Settings, query: QuerySpec, run_id: str, cores: int) -> None:
        self._query, self._run_id, self._cores = query, run_id, cores
        self._table = warehouse.plans(settings, query.name)

    def recorded(self, slot: int) -> Reached | None:
        """The plan that stands."""
        rows = self._rows([slot])
        return _reached(rows[0]) if rows else None

    def settle(self, slot: int, basis: str, costs: Sequence[str], rounds: Callable[[float], Rounds]) -> Reached:
        """Let `rounds(seconds)` run, and settle how far they came; where another run was first, its plan."""
        delay, seconds = self._seconds(self._earlier(slot))
        done = rounds(seconds)
        revision = 1 + max((row["revision"] for row in self._stored([slot])), default=0)
        name, timeline = slot_name(slot), self._query.timeline
        starts = [start for start, _ in timeline.windows(slot)]
        row = {
            "slot": name, "revision": revision, "mode": "exact" if done.reached >= done.whole else "shed",
            "kept": starts, "windows": len(starts), "size": timeline.size, "slide": timeline.slide,
            "reason": _reason(done), "run_id": self._run_id, "made_at": dt.datetime.now(dt.UTC), "basis": basis,
            "cost_version": list(costs), "budget_seconds": seconds, "reached": done.settled, "speed": done.speed,
            "margin": done.margin, "forecast_seconds": done.forecast, "spent_seconds": done.spent,
            "delay_seconds": delay, "rounds": done.ratios,
        }  # fmt: skip
        rows = pa.Table.from_pylist([row], schema=warehouse.plans.schema)
        metadata = {"run_id": self._run_id, "slot": name, "reached": done.settled}
        counter = f"plan/{self._query.name}/{name}"
        return _reached(self._table.settle(rows, {"slot": name}, counter, revision, metadata).to_pylist()[0])

    def _seconds(self, earlier: Sequence[dict[str, Any]]) -> tuple[float, float]:
        """How long the slot's work waits for that of earlier slots, and the core seconds it may spend."""
        budget, length = self._query.shed.budget, self._query.timeline.slot / UNITS["second"]
        delays = [float(row["delay_seconds"] or 0.0) for row in earlier]
        if earlier:
            work = float(earlier[-1]["spent_seconds"] or 0.0) / self._cores
            delays.append(next_delay(delays[-1], work, length))
        now = delays[-1] if delays else 0.0
        if budget.seconds is not None:
            return now, budget.seconds
        assert budget.delay is not None
        mean, most = budget.delay.mean, budget.delay.max
        limit: DelayLimit = (
            MeanDelay((mean or 0) / UNITS["second"]) if most is None else MostDelay(most / UNITS["second"])
        )
        return now, limit.room(delays[-MEMORY:], length) * self._cores

    def _earlier(self, slot: int) -> list[dict[str, Any]]:
        """The settled plans of the slots before this one, oldest first, those that nobody ran filled in as idle."""
        length = self._query.timeline.slot
        slots = [slot - age * length for age in range(MEMORY, 0, -1)]
        rows = {row["slot"]: row for row in self._rows(slots)}
        first = next((i for i, one in enumerate(slots) if slot_name(one) in rows), len(slots))
        found: list[dict[str, Any]] = []
        for one in slots[first:]:
            row = rows.get(slot_name(one))
            if row is None:
                last = found[-1]
                idle = next_delay(last["delay_seconds"], last["spent_seconds"] / self._cores, length / UNITS["second"])
                row = {"delay_seconds": idle, "spent_seconds": 0.0}
            found.append(row)
        return found

    def _rows(self, slots: Sequence[int]) -> list[dict[str, Any]]:
        """Plans of seconds, by slot."""
        rows = [row for row in self._stored(slots) if row.get("basis") is not None]
        return sorted(rows, key=lambda row: str(row["slot"]))

    def _stored(self, slots: Sequence[int]) -> list[dict[str, Any]]:
        if not self._table.exists():
            return []
        rows: list[dict[str, Any]] = self._table.read([("slot", "in", [slot_name(slot) for slot in slots])]).to_pylist()
        return rows


def _reason(done: Rounds) -> str:
    how = f"{done.spent:.3g} s of {done.seconds:.3g} spent, calls {done.speed:.2g} times their forecast"
    off = ", beyond what audits measured" if not 1 / _OFF <= done.speed <= _OFF else ""
    return f"{'all rows fit' if done.reached >= done.whole else 'stopped at the budget'}: {how}{off}"


def _reached(row: dict[str, Any]) -> Reached:
    return Reached(
        factor=float(row["reached"]), seconds=float(row["budget_seconds"]), spent=float(row["spent_seconds"]),
        speed=float(row["speed"]), margin=float(row["margin"]), delay=float(row["delay_seconds"]),
        basis=str(row["basis"]), revision=int(row["revision"]), reason=str(row["reason"]),
    )  # fmt: skip
