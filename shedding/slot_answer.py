"""One slot of one query: which legs, from which panes, with which answers, and what it all cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shedding.answers import Answer, exact_answer, plain_answer, top_keys
from shedding.audit_drift import audit_plan, slot_drift
from shedding.config import Settings
from shedding.dependence import raw_fingerprint, spec_fingerprint
from shedding.join_answer import JoinWork
from shedding.keys import Keys, align
from shedding.last_audit import trust_columns
from shedding.learnt import Learnt, learnt_answer
from shedding.ledger import LegWindow, results_rows, run_rows
from shedding.memory import EXACT, Memory, Scans
from shedding.planning import Planner
from shedding.priors import Priors, expected_rows
from shedding.scores import Score, expected, measured
from shedding.sides import Side, left_side, right_side
from shedding.spec import Catalog, QuerySpec
from shedding.tables import Table, slot_name
from shedding.whole_values import whole_values
from shedding.windowed import PaneRun, WindowSample

Floats = npt.NDArray[np.float64]
COSTS = ("total_rows", "rows_read", "bytes_read")


@dataclass(frozen=True)
class SlotAnswer:
    """The answers of a slot's windows for every leg, and the run's own columns."""

    query: QuerySpec
    slot: int
    windows: Sequence[LegWindow]
    shared: Mapping[str, Any]
    audited: bool

    @property
    def shown_keys(self) -> int:
        """Rows of the leg that is to be published."""
        return sum(int(w.answer.shown.sum()) for w in self.windows if w.extra["published"])

    @property
    def processed_rows(self) -> float:
        """Rows that the published leg processed."""
        return float(next(w.extra["processed_rows"] for w in self.windows if w.extra["published"]))

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
        results = Table(settings.table("results", query.name), ("slot", "leg"))
        runs = Table(settings.table("runs", query.name), ("slot",))
        rows = results_rows(self.slot, self.windows, query.measures)
        version = results.replace(rows, where, metadata)
        told = run_rows(self.slot, self.windows, query.measures, {**shared, "results_version": version})
        return version, runs.replace(told, where, metadata)


def answer_slot(settings: Settings, catalog: Catalog, query: QuerySpec, slot: int, scans: Scans) -> SlotAnswer:
    """Answer the windows that end in the slot; panes that are missing are computed and remembered."""
    left = left_side(settings, catalog, query)
    if query.join is None:
        return answer_side(settings, query, slot, left, scans)
    return answer_join(settings, query, slot, left, right_side(settings, catalog, query), scans)


def answer_join(settings: Settings, query: QuerySpec, slot: int, left: Side, right: Side, scans: Scans) -> SlotAnswer:
    """The same, for a join of two datasets."""

    def answer_at(one: int) -> SlotAnswer:
        work = JoinWork(settings, query, one, left, right, scans)
        windows = work.windows()
        return SlotAnswer(query, one, windows, work.shared(), work.audited)

    return _trusted(settings, [left, right], answer_at, answer_at(slot))


def answer_side(settings: Settings, query: QuerySpec, slot: int, side: Side, scans: Scans) -> SlotAnswer:
    """The same, for a query of one dataset whose state is pinned in `side`."""

    def answer_at(one: int) -> SlotAnswer:
        return _SlotWork(settings, query, one, side, scans).answer()

    return _trusted(settings, [side], answer_at, answer_at(slot))


def _trusted(
    settings: Settings, sides: Sequence[Side], answer_at: Callable[[int], SlotAnswer], made: SlotAnswer
) -> SlotAnswer:
    """The answer with what its run rows tell of the last audit, and the cost of finding that out."""
    audits: list[SlotAnswer] = []

    def windows_at(audit: int) -> Sequence[LegWindow]:
        audits.append(answer_at(audit))
        return audits[-1].windows

    columns = trust_columns(settings, made.query, sides, made.slot, made.windows, windows_at)
    costs = {name: sum(one.shared[name] for one in (made, *audits)) for name in COSTS}
    return replace(made, shared={**made.shared, **columns, **costs})


class _SlotWork:
    def __init__(self, settings: Settings, query: QuerySpec, slot: int, side: Side, scans: Scans) -> None:
        self.query, self.slot, self.side, self.scans = query, slot, side, scans
        self.plan = audit_plan(query, self.side, slot)
        self.memory = Memory(settings, query, self.side, query.measures, scans)
        self.priors = Priors(query, self.plan, self.memory)
        self.planner = Planner(query, self.priors, self.memory)
        self.audited = query.shed.policy == EXACT or self.plan.is_audited(slot)
        self.legs = query.legs if self.audited else [query.shed.policy]
        self.published = EXACT if self.audited and query.publish == "best" else query.shed.policy
        self._made_of: dict[str, dict[str, str]] = {}

    def answer(self) -> SlotAnswer:
        """All windows of all legs, scored."""
        slots = self.query.timeline.slots_needed(self.slot)
        learns = self.query.estimates == "shrunk" and self.query.shed.policy != EXACT
        if learns:
            self.priors.load(self.slot, self.query.shed.policy)
        self.memory.fetch(slots, self.legs)
        reach = self.query.timeline.windows(self.slot)[0][0]  # the first instant that a window of this slot needs
        panes = {s: self.memory.legs(s, self.legs, None if s == self.slot else reach) for s in slots}
        past = self.priors.keys(self.slot, depth=2) if learns else []
        keys = self._all_keys([p.keys for by_leg in panes.values() for p in by_leg.values()] + past)
        runs = {leg: PaneRun([panes[s][leg] for s in slots], keys.names, [keys]) for leg in self.legs}
        whole = whole_values(self.query, self.side, self.scans, self.slot, keys) if EXACT in self.legs else {}
        learnt = self._learnt(keys) if learns else None
        windows: list[LegWindow] = []
        for start, end in self.query.timeline.windows(self.slot):
            exact = None
            if EXACT in self.legs:
                exact = exact_answer(runs[EXACT].window(start, end), self.query.measures, whole.get(start, {}))
            for leg in self.legs:
                answer = exact if leg == EXACT else self._answer(runs[leg].window(start, end), learnt)
                assert answer is not None
                windows.append(self._scored(leg, answer, exact))
        return SlotAnswer(self.query, self.slot, windows, self._shared(), self.audited)

    def _learnt(self, keys: Keys) -> Learnt:
        timeline = self.query.timeline
        return Learnt(
            histories=self.priors.history(self.slot, keys),
            calibrations=self.priors.calibration(self.slot, self.query.shed.policy, keys),
            block_share=min(1.0, timeline.slot / timeline.size),
        )

    def _answer(self, sample: WindowSample, learnt: Learnt | None) -> Answer:
        if learnt is None:
            return plain_answer(sample, self.query.measures)
        expected = None if sample.known else self._expected(sample)
        return learnt_answer(sample, self.query.measures, learnt, expected)

    def _expected(self, sample: WindowSample) -> Floats:
        """Rows that the priors expect of each key in each stratum of a window."""
        length = self.query.timeline.slot
        rows, _ = expected_rows(self.priors, self.slot, sample.keys)
        slots = self.query.timeline.slots_needed(self.slot)
        shares = [max(0, min(sample.end, s + length) - max(sample.start, s)) / length for s in slots]
        return np.stack([rows * share for share in shares])

    def _all_keys(self, keys: Sequence[Keys]) -> Keys:
        names = self.side.keyset.keys
        return align([k.table() for k in keys], names)[0] if names else Keys((), (), 1)

    def _scored(self, leg: str, answer: Answer, exact: Answer | None) -> LegWindow:
        columns = self._leg_columns(leg)
        if self.query.top is not None and leg == self.published:
            chosen = top_keys(answer, self.query.top)
            if exact is not None:
                best = top_keys(exact, self.query.top)
                columns["top_missed"] = float((best & ~chosen).sum() / max(1, best.sum()))
            answer, exact = answer.only(chosen), None if exact is None else exact.only(chosen)
        scores: dict[str, Score] = {
            m.name: expected(answer, m) if exact is None else measured(answer, exact, m) for m in self.query.measures
        }
        kind = EXACT if leg == EXACT else "measured" if exact is not None else "estimated"
        return LegWindow(leg, answer, scores, kind, columns)

    def _leg_columns(self, leg: str) -> dict[str, Any]:
        panes = self.memory.panes(self.slot, leg)
        processed = float(panes.sampled.sum())
        slot_rows = float(panes.population.sum()) if panes.known else self.planner.concept(self.slot).rows
        columns: dict[str, Any] = {
            "policy": leg,
            "published": leg == self.published,
            "slot_rows": slot_rows,
            "processed_rows": processed,
            "processed_fraction": processed / slot_rows if slot_rows else 0.0,
            "omitted_keys": 0,
            "exceeded_by": 0.0,
            "budget_rows": slot_rows,
            **self._fingerprints(leg),
        }
        if leg != EXACT and slot_rows:
            allocation = self.planner.allocation(self.slot, leg)
            columns["omitted_keys"] = len(allocation.omitted)
            columns["exceeded_by"] = allocation.exceeded_by
            columns["budget_rows"] = self.planner.budget(self.slot)
        return columns

    def _fingerprints(self, leg: str) -> dict[str, str]:
        if leg not in self._made_of:
            raw = raw_fingerprint(self.query, [self.side], self.slot, leg)
            self._made_of[leg] = {"raw_fingerprint": raw, "spec_fingerprint": spec_fingerprint(self.query, leg)}
        return self._made_of[leg]

    def _shared(self) -> dict[str, Any]:
        priors = self.plan.priors(self.slot)
        return {
            **slot_drift(self.query, self.side, self.slot),
            "audited": self.audited,
            "audit_reason": self._audit_reason(),
            "total_rows": self.memory.computed_rows,
            "rows_read": self.memory.scanned_rows,
            "bytes_read": self.memory.scanned_bytes,
            "prior_slots": [slot_name(prior) for prior in priors],
            "last_audit": priors[0] if priors else None,
            "reason": self._reason(),
        }

    def _audit_reason(self) -> str:
        if not self.audited:
            return ""
        if self.query.shed.policy == EXACT:
            return "policy exact"
        if self.slot == self.plan.first:
            return "first slot"
        if self.slot in self.plan.extra:
            return f"drift above {self.query.audit.drift_limit:g} in the slot before"
        return f"one in {self.query.audit.one_in}"

    def _reason(self) -> str:
        budget = self.query.shed.budget
        size = f"{budget.rows} rows" if budget.rows is not None else f"{budget.fraction:g} of the rows"
        if self.query.shed.policy == EXACT:
            return "policy exact: every row"
        beside = f", exact beside it ({self._audit_reason()})" if self.audited else ""
        return f"policy {self.query.shed.policy} within {size}{beside}; publishes {self.published}"
