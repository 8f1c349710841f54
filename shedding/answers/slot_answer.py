"""The answers of a slot, and how they are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shedding import warehouse
from shedding.answers.near_zero import near_zero_advice
from shedding.answers.run_record import LegWindow, omitted_rows, results_rows, run_rows
from shedding.config import Settings
from shedding.risk import SpotCheck
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.stopwatch import Stopwatch


@dataclass(frozen=True)
class SlotAnswer:
    """The answers of a slot's windows for every leg, and the run's own columns."""

    query: QuerySpec
    slot: int
    windows: Sequence[LegWindow]
    shared: Mapping[str, Any]
    audited: bool
    spots: Mapping[str, SpotCheck] = field(default_factory=dict)
    told: Sequence[str] = ()
    watch: Stopwatch = field(default_factory=Stopwatch)

    @property
    def shown_keys(self) -> int:
        """Rows of the leg that is to be published."""
        return sum(int(w.answer.shown.sum()) for w in self.windows if w.extra["published"])

    @property
    def processed_rows(self) -> float:
        """Rows that the published leg processed."""
        return float(next(w.extra["processed_rows"] for w in self.windows if w.extra["published"]))

    @property
    def advice(self) -> list[str]:
        """What an audit's exact answers say that the specification should say too."""
        exact = [window.answer for window in self.windows if window.leg == EXACT]
        return [*self.told, *(near_zero_advice(exact, self.query.measures) if self.audited else [])]

    @property
    def total_rows(self) -> float:
        """All rows that this run processed, audits and priors among them."""
        return float(self.shared["total_rows"])

    def write(self, settings: Settings, run_id: str, seconds: float) -> tuple[int, int]:
        """Replace the slot's rows of results and runs; their new versions."""
        query, where = self.query, {"slot": slot_name(self.slot)}
        budget = query.shed.budget.model_dump(exclude_none=True)
        metadata = {"run_id": run_id, "policy": query.shed.policy, "budget": budget, "salt": query.dataset}
        shared = {**self.shared, "run_id": run_id, "seconds": seconds}
        results = warehouse.results(settings, query.name)
        runs = warehouse.runs(settings, query.name)
        with self.watch.part("write"):
            left_out = omitted_rows(self.slot, self.windows)
            rows = pa.concat_tables(
                [results_rows(self.slot, self.windows, query.measures), *left_out], promote_options="default"
            )
            version = results.replace(rows, where, metadata)
        shared |= {"results_version": version, **self.watch.columns()}
        told = run_rows(self.slot, self.windows, query.measures, shared)
        return version, runs.replace(told, where, metadata)
