"""Slots of a stream answered, bounded, judged and repaired by the pipeline's own code, then compared with the truth.

Rows are in memory and tables are not written; everything else is what a scheduled run does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from expectations.evidence import Evidence
from expectations.repair_plan import plan_repair
from expectations.repair_rounds import repair_in_rounds
from expectations.verdict import Check, Verdict
from shedding.answers.answer import Answer
from shedding.answers.last_audit import Trust
from shedding.answers.run_record import LegWindow, results_rows, run_rows
from shedding.answers.scores import Score, measured
from shedding.answers.slot import SlotWork
from shedding.answers.whole_values import whole_values
from shedding.answers.window import exact_window
from shedding.config import Settings
from shedding.keys import align
from shedding.panes.exact_panes import ExactPanes
from shedding.panes.memory import Memory, Prints, PrintsOf
from shedding.panes.panes import Panes
from shedding.panes.windows import PaneRun
from shedding.planning.drift_audits import AuditPlans
from shedding.spec.keyset import keyset_of
from shedding.spec.query import QuerySpec
from shedding.stretches import Stretches
from tests.shedding.rows_in_memory import RowsScans, RowsSide

CHECK = Check("mean_relative_error", None, None, "fail", False, "estimated", "")


class SortedSide(RowsSide):
    """Rows sorted by time, so that a slot is a slice, counted once; nobody asks for fingerprints here."""

    @cached_property
    def _counted(self) -> tuple[pa.Table, NDArray[np.int64]]:
        counted = super().counts(Stretches.of((int(self.data.time.iloc[0]), int(self.data.time.iloc[-1]) + 1)))
        assert counted is not None
        return counted, counted.column("pane_start").to_numpy()

    def counts(self, stretches: Stretches) -> pa.Table:
        counted, pane = self._counted
        first, last = np.searchsorted(pane, [stretches.start, stretches.end])
        return counted.slice(first, last - first)

    def within(self, stretches: Stretches) -> pd.DataFrame:
        first, last = np.searchsorted(self.data.time.to_numpy(), [stretches.start, stretches.end])
        return self.data.iloc[first:last]

    def fingerprint(self, stretches: Stretches) -> str:
        return ""


class Kept(Memory):
    """Panes kept in memory for the whole replay."""

    def fetch(self, slots: Sequence[int], legs: Sequence[str], prints: PrintsOf) -> None:
        """Nothing to fetch."""

    def _write(self, slot: int, leg: str, panes: Panes, made_of: Prints) -> None:
        """Nothing to write."""


@dataclass(frozen=True)
class Slot:
    """An unaudited slot: what the gate sees, the windows to publish, and their exact answers."""

    evidence: Evidence
    windows: Sequence[LegWindow]
    exact: Sequence[Answer]

    @cached_property
    def bounds(self) -> pd.DataFrame:
        """Measure and bound of the mean error, a row for every window and measure."""
        bounds = {name: [window.mean for window in windows] for name, windows in self.evidence.judged.items()}
        return pd.DataFrame(bounds).melt(var_name="measure", value_name="mean_relative_error")

    @cached_property
    def _exact_table(self) -> pa.Table:
        pairs = zip(self.windows, self.exact, strict=True)
        windows = [
            replace(window, answer=exact, scores=_exact_scores(exact, self.evidence.query)) for window, exact in pairs
        ]
        return results_rows(self.evidence.slot, windows, self.evidence.query.measures).drop_columns(["slot", "leg"])

    def exact_rows(self, keys: pa.Table) -> pa.Table:
        """The exact rows of some keys, as a repair computes them."""
        _, (here, wanted) = align([self._exact_table, keys], keys.column_names)
        return self._exact_table.filter(pa.array(np.isin(here, wanted)))

    def cells(self) -> Iterator[tuple[str, LegWindow, Answer]]:
        """Every measure that is estimated, window by window."""
        names = [m.name for m in self.evidence.query.measures if m.agg != "count"]
        for window, exact in zip(self.windows, self.exact, strict=True):
            yield from ((name, window, exact) for name in names)


@dataclass
class Replay:
    """One query over one stream: its unaudited slots, and the mean errors that its audits measured."""

    query: QuerySpec
    rows: pd.DataFrame
    slots: list[Slot] = field(default_factory=list)
    audited: dict[str, list[float]] = field(default_factory=dict)
    all_rows: float = 0.0
    read_rows: float = 0.0

    def run(self) -> Replay:
        """Answer every slot that has rows, in order."""
        query = self.query
        side, scans, settings = SortedSide(self.rows, keyset_of(query)), RowsScans(query), Settings(warehouse="")
        plans, exact = AuditPlans(query, [side]), ExactPanes(Kept(settings, query, side, query.measures), scans)
        trust = Trust(settings, plans, lambda _: [])
        length = query.timeline.slot
        begin, end = (int(self.rows.time.iloc[at]) // length * length for at in (0, -1))
        for slot in range(begin, end + 1, length):
            rows = len(side.within(Stretches.of((slot, slot + length))))
            if not rows:
                continue
            made = SlotWork(plans, slot, scans, [exact]).answer()
            self.all_rows += rows
            self.read_rows += rows if made.audited else made.processed_rows
            if made.audited:
                self._learn(trust, slot, made.windows)
                continue
            windows = trust.bounded(slot, made.windows, made.spots)
            shared = {**made.shared, **trust.columns(slot, windows)}
            told = run_rows(slot, windows, query.measures, shared)
            answer = results_rows(slot, windows, query.measures).drop_columns(["slot", "leg"])
            policy = query.shed.policy
            evidence = Evidence(query, slot, policy, policy, False, answer, None, told, 0, 0)
            self.slots.append(Slot(evidence, windows, self._exact(slot, windows, exact, scans)))
        return self

    def _learn(self, trust: Trust, slot: int, windows: Sequence[LegWindow]) -> None:
        trust.learn(slot, windows)
        for window in windows:
            for name, score in window.scores.items():
                if f"{name}_record" in window.extra:
                    self.audited.setdefault(name, []).append(float(score.every.mean()))

    def _exact(self, slot: int, windows: Sequence[LegWindow], exact: ExactPanes, scans: RowsScans) -> list[Answer]:
        query, keys = self.query, windows[0].answer.sample.keys
        panes = [exact.exact(one) for one in query.timeline.slots_needed(slot)]
        run, whole = (
            PaneRun(panes, keys.names, [keys]),
            whole_values(query, exact.side, scans, query.timeline.windows(slot), keys),
        )
        spans = [(window.answer.sample.start, window.answer.sample.end) for window in windows]
        return [
            exact_window(query, [query.measures], [run.window(*span)], whole.get(span[0], {})) for span in spans
        ]  # fmt: skip


@dataclass
class Count:
    """Windows and measures at one limit: published at once, after a repair of keys, or computed whole; those over."""

    windows: int = 0
    at_once: int = 0
    over: int = 0
    repaired: int = 0
    repaired_over: int = 0
    repair_rows: float = 0.0

    @property
    def published(self) -> int:
        """Published without computing the whole slot."""
        return self.at_once + self.repaired

    def add(self, slot: Slot, limits: Mapping[str, float]) -> None:
        """Judge one slot by limits of the mean error, one a measure, repair what fails and count what is published."""
        over = slot.bounds["mean_relative_error"] > slot.bounds["measure"].map(limits).fillna(np.inf)
        repaired = _repaired(slot, limits) if over.any() else frozenset[int]()
        self.windows += sum(1 for _ in slot.cells())
        if repaired is None:
            self.repair_rows += float(slot.evidence.runs["slot_rows"][0].as_py())
            return
        taken = sorted(repaired)
        self.repair_rows += float(sum(exact.sample.rows[taken].sum() for exact in slot.exact))
        for name, window, exact in slot.cells():
            measure = next(m for m in slot.evidence.query.measures if m.name == name)
            errors = measured(window.answer, exact, measure).errors.copy()
            errors[taken] = 0.0
            wrong = bool(np.nanmean(errors[exact.shown]) > limits[name])
            if over.any():
                self.repaired, self.repaired_over = self.repaired + 1, self.repaired_over + wrong
            else:
                self.at_once, self.over = self.at_once + 1, self.over + wrong


def _exact_scores(exact: Answer, query: QuerySpec) -> dict[str, Score]:
    return {measure.name: measured(exact, exact, measure) for measure in query.measures}


def _repaired(slot: Slot, limits: Mapping[str, float]) -> frozenset[int] | None:
    """The keys that a repair computes exactly, by number; None for the whole slot. Every measure by its own limit."""
    query, found = slot.evidence.query, set[int]()
    keys = slot.windows[0].answer.sample.keys
    for name, limit in limits.items():
        gate = query.gate.model_copy(update={"mean_relative_error": limit})
        only = query.model_copy(update={"gate": gate, "measures": [m for m in query.measures if m.name == name]})
        evidence = replace(slot.evidence, query=only)
        verdict = Verdict(query.name, evidence.slot, "", 0, evidence.leg, 0, 0, (CHECK,))
        repair = repair_in_rounds(evidence, verdict, plan_repair(evidence, verdict), slot.exact_rows).repair
        if repair.keys is None:
            return None
        _, (here, wanted) = align([keys.table(), repair.keys], keys.names)
        found |= set(np.flatnonzero(np.isin(here, wanted)).tolist())
    return frozenset(found)


def coverage(slot: Slot) -> tuple[int, int]:
    """Intervals of the estimates that were put to the test, and those that hold the exact value."""
    measures = {m.name: m for m in slot.evidence.query.measures}
    scores = [measured(window.answer, exact, measures[name]) for name, window, exact in slot.cells()]
    return sum(score.estimates for score in scores), sum(score.covered for score in scores)
