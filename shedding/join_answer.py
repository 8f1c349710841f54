"""One slot of an equi-join of two datasets within the same window (CoD's third kind of query).

Joined rows are never made. A key with L rows on the left and R on the right has L R joined rows; over them the sum
of a left column is R times its sum on the left, and its mean is its mean on the left. So each side is sampled and
aggregated on its own, with rates for the keys that both sides have, and the counts of arrival scale the answers up:
the count is exact, sums and means are as unbiased as each side's. Joins do not learn from history; keys without a
sampled row take the sample's mean over the keys. A joined measure's column is taken to have no nulls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shedding.allocation import Allocation, Budget
from shedding.answers import Answer, exact_answer, plain_answer
from shedding.audit_drift import audit_plan, slot_drift
from shedding.concept import JoinConcept
from shedding.config import Settings
from shedding.dependence import raw_fingerprint, spec_fingerprint
from shedding.errors import NotReadyError, SpecError
from shedding.estimates import Estimate
from shedding.keys import align
from shedding.learnt import Learnt, learnt_answer
from shedding.ledger import LegWindow
from shedding.memory import EXACT, Memory, Scans
from shedding.planning import budget_rows
from shedding.policies import get_policy
from shedding.rates import Rates
from shedding.scores import expected, measured
from shedding.sides import Side, needed_counts
from shedding.spec.query import MeasureSpec, QuerySpec
from shedding.windowed import PaneRun, WindowSample

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
RIGHT = ".right"
"""Suffix of the right side's legs in `panes/<query>`."""


class JoinWork:
    """The legs of one slot of a join; `left` and `right` pin what both datasets hold."""

    def __init__(self, settings: Settings, query: QuerySpec, slot: int, left: Side, right: Side, scans: Scans) -> None:
        self.query, self.slot, self.sides = query, slot, (left, right)
        self._check()
        self.measures = _by_side(query, left)
        suffixes = ("", RIGHT)
        self.memories = tuple(
            Memory(settings, query, side, measures, scans, suffix)
            for side, measures, suffix in zip(self.sides, self.measures, suffixes, strict=True)
        )
        for at, memory in enumerate(self.memories):
            memory.allocate = lambda s, legs, at=at: self._rates(s, legs, at)
        self.plan = audit_plan(query, left, slot)
        self.audited = query.shed.policy == EXACT or self.plan.is_audited(slot)
        self.legs = query.legs if self.audited else [query.shed.policy]
        self.published = EXACT if self.audited and query.publish == "best" else query.shed.policy
        self._allocations: dict[tuple[int, str], tuple[tuple[Rates, Rates], Allocation]] = {}

    def windows(self) -> list[LegWindow]:
        """Every window of every leg, scored."""
        slots = self.query.timeline.slots_needed(self.slot)
        reach = self.query.timeline.windows(self.slot)[0][0]
        parts = [(s, None if s == self.slot else reach) for s in slots]
        panes = [{s: memory.legs(s, self.legs, since) for s, since in parts} for memory in self.memories]
        names = self.sides[0].keyset.keys
        tables = [part.keys.table() for side in panes for by_leg in side.values() for part in by_leg.values()]
        keys = align(tables, names)[0]
        found: list[LegWindow] = []
        for start, end in self.query.timeline.windows(self.slot):
            exact = None
            for leg in sorted(self.legs, key=lambda leg: leg != EXACT):
                runs = [PaneRun([side[s][leg] for s in slots], names, [keys]) for side in panes]
                answer = self._answer(leg, [run.window(start, end) for run in runs])
                exact = answer if leg == EXACT else exact
                scores = {
                    m.name: expected(answer, m) if exact is None else measured(answer, exact, m)
                    for m in self.query.measures
                }
                kind = EXACT if leg == EXACT else "measured" if exact is not None else "estimated"
                found.append(LegWindow(leg, answer, scores, kind, self._columns(leg)))
        return found

    def shared(self) -> dict[str, Any]:
        """The columns that all run rows of the slot have."""
        priors = self.plan.priors(self.slot)
        budget = self.query.shed.budget.model_dump(exclude_none=True)
        return {
            **slot_drift(self.query, self.sides[0], self.slot),
            "audited": self.audited,
            "audit_reason": f"one in {self.query.audit.one_in}" if self.audited else "",
            "total_rows": sum(memory.computed_rows for memory in self.memories),
            "rows_read": sum(memory.scanned_rows for memory in self.memories),
            "bytes_read": sum(memory.scanned_bytes for memory in self.memories),
            "prior_slots": [],
            "last_audit": priors[0] if priors else None,
            "reason": f"join by policy {self.query.shed.policy} within {budget}; publishes {self.published}",
        }

    def _check(self) -> None:
        unfit = [m for m in self.query.measures if m.agg not in ("count", "sum", "avg")]
        if unfit:
            raise SpecError(f"{self.query.name}: a join answers count, sum and avg, not {unfit[0].agg}; remove it")
        length = self.query.timeline.slot
        for side in self.sides:
            if not side.known(self.slot, self.slot + length):
                name = side.dataset.name
                raise NotReadyError(
                    f"{self.query.name} joins {name}, whose keys are not counted yet; run `sluice ingest {name}`"
                )

    def _rates(self, slot: int, legs: Sequence[str], at: int) -> Mapping[str, Rates]:
        return {leg: self._allocated(slot, leg)[0][at] for leg in legs}

    def _allocated(self, slot: int, leg: str) -> tuple[tuple[Rates, Rates], Allocation]:
        if (slot, leg) not in self._allocations:
            self._allocations[slot, leg] = self._allocate(slot, leg)
        return self._allocations[slot, leg]

    def _allocate(self, slot: int, leg: str) -> tuple[tuple[Rates, Rates], Allocation]:
        timeline, shed = self.query.timeline, self.query.shed
        names = self.sides[0].keyset.keys
        counts = [needed_counts(side, timeline, slot, slot + timeline.slot) for side in self.sides]
        tables = [table for table in counts if table is not None]  # `_check` saw that both are counted
        keys, places = align(tables, names)
        rows = [
            np.bincount(place, table.column("rows").to_numpy().astype(np.float64), minlength=len(keys))
            for place, table in zip(places, tables, strict=True)
        ]
        numbers = np.arange(len(keys))
        joint = JoinConcept.of(numbers[rows[0] > 0], rows[0][rows[0] > 0], numbers[rows[1] > 0], rows[1][rows[1] > 0])
        policy = get_policy(leg, goal=shed.goal, support=shed.support, groups=shed.groups)
        total = float(rows[0].sum() + rows[1].sum())
        budget = Budget(rows=max(budget_rows(self.query, total), 1e-9), completeness=shed.completeness)
        made = policy.allocate(joint.concept(), budget)
        # A row whose key the other side lacks joins nothing, unless a later slot of the same window has the key.
        lonely = 0.0 if timeline.slots_needed(slot) == [slot] else min(1.0, budget.rows / max(total, 1.0))
        both = []
        for values in joint.sides(made.rates):
            laid = np.full(len(keys), lonely)
            laid[joint.keys] = values
            both.append(Rates(leg, keys, laid, lonely))
        return (both[0], both[1]), made

    def _answer(self, leg: str, samples: Sequence[WindowSample]) -> Answer:
        sides = [self._side_answer(leg, s, m) for s, m in zip(samples, self.measures, strict=True)]
        rows = [sample.rows for sample in samples]
        estimates: dict[str, Estimate] = {}
        for at, measures in enumerate(self.measures):
            for measure in measures:
                estimate = sides[at].estimates[measure.name]
                estimates[measure.name] = estimate.scaled(rows[1 - at]) if measure.agg == "sum" else estimate
        for measure in self.query.measures:
            if measure.agg == "count":
                estimates[measure.name] = Estimate.exact(rows[0] * rows[1])
        present = (rows[0] > 0) & (rows[1] > 0)
        sample = replace(
            samples[0],
            population=np.concatenate([s.population for s in samples]),
            sampled=np.concatenate([s.sampled for s in samples]),
            rate=np.concatenate([s.rate for s in samples]),
        )
        shown = present & sides[0].shown & sides[1].shown
        return Answer(sample, estimates, present, shown, shown & _imputed(sides, self.measures), _all(sides, present))

    def _side_answer(self, leg: str, sample: WindowSample, measures: Sequence[MeasureSpec]) -> Answer:
        if leg == EXACT:
            return exact_answer(sample, measures, {})
        if self.query.estimates == "plain":
            return plain_answer(sample, measures)
        return learnt_answer(sample, measures, Learnt())

    def _columns(self, leg: str) -> dict[str, Any]:
        panes = [memory.panes(self.slot, leg) for memory in self.memories]
        processed = float(sum(part.sampled.sum() for part in panes))
        slot_rows = float(sum(np.nansum(part.population) for part in panes))
        made = self._allocated(self.slot, leg)[1] if leg != EXACT and slot_rows else None
        return {
            "policy": leg,
            "published": leg == self.published,
            "slot_rows": slot_rows,
            "processed_rows": processed,
            "processed_fraction": processed / slot_rows if slot_rows else 0.0,
            "omitted_keys": 0,
            "exceeded_by": made.exceeded_by if made else 0.0,
            "budget_rows": budget_rows(self.query, slot_rows) if made else slot_rows,
            "raw_fingerprint": raw_fingerprint(self.query, self.sides, self.slot, leg),
            "spec_fingerprint": spec_fingerprint(self.query, leg),
        }


def _by_side(query: QuerySpec, left: Side) -> tuple[list[MeasureSpec], list[MeasureSpec]]:
    """Measures of left columns and of right ones; a column that both have is the left one's."""
    valued = [m for m in query.measures if m.column is not None]
    mine = set(left.dataset.column_names)
    return [m for m in valued if m.column in mine], [m for m in valued if m.column not in mine]


def _imputed(sides: Sequence[Answer], measures: Sequence[Sequence[MeasureSpec]]) -> Flags:
    """Keys of which a measured side has no sampled row."""
    found = np.zeros_like(sides[0].present)
    for side, own in zip(sides, measures, strict=True):
        if own:
            found |= side.imputed
    return found


def _all(sides: Sequence[Answer], present: Flags) -> Flags:
    return present & sides[0].exact & sides[1].exact
