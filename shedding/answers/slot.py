"""One slot of one query: which legs, from which panes, with which answers, and what it all cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer, top_keys
from shedding.answers.join import measures_by_side
from shedding.answers.last_audit import Trust
from shedding.answers.learnt import Learnt
from shedding.answers.omissions import Omissions, SlotLimits
from shedding.answers.reasons import audit_reason, too_few_seconds
from shedding.answers.run_record import LegWindow
from shedding.answers.scores import Score, expected, measured
from shedding.answers.slot_answer import SlotAnswer
from shedding.answers.spot_checks import slot_spot_checks
from shedding.answers.whole_sums import refuse_rounded, whole_sums
from shedding.answers.whole_values import whole_values
from shedding.answers.window import exact_window, shed_window
from shedding.answers.window_drift import exact_drift
from shedding.config import Settings
from shedding.enrich.store import unlike_advice
from shedding.ingest.side import Side, sides_of
from shedding.keys import Keys, unite
from shedding.panes.exact_panes import ExactPanes
from shedding.panes.memory import Memory
from shedding.panes.sampled_panes import SampledPanes, Wanted
from shedding.panes.scans import Scans, WatchedScans
from shedding.panes.windows import PaneRun, WindowSample
from shedding.planning.calibrations import Calibrations
from shedding.planning.cost_model import forecast, require_room
from shedding.planning.drift_audits import AuditPlans, slot_drift, window_drifts
from shedding.planning.fingerprints import answer_fingerprint
from shedding.planning.planner import AS_ALLOCATED, Planner
from shedding.planning.pool_budget import PoolBudget
from shedding.planning.priors import Priors, expected_rows
from shedding.planning.slot_plan import SlotPlan, by_calendar
from shedding.planning.spending import Spending
from shedding.risk import SpotCheck, window_record
from shedding.spec import Catalog, QuerySpec
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.pool import Pooled
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name
from shedding.stopwatch import Stopwatch
from shedding.stretches import Stretches

Floats = npt.NDArray[np.float64]
COSTS = ("total_rows", "rows_read", "bytes_read")
SUFFIXES = ("", ".right")
"""What is added to the names of a side's legs in `panes/<query>`: only a join has a right side."""


def answer_slot(
    settings: Settings, catalog: Catalog, query: QuerySpec, plan: SlotPlan, scans: Scans, run_id: str = ""
) -> SlotAnswer:
    """Answer the windows that the plan keeps; panes that are missing are computed and remembered."""
    return answer_sides(settings, query, plan.slot, sides_of(settings, catalog, query), scans, plan, run_id)


def answer_sides(
    settings: Settings,
    query: QuerySpec,
    slot: int,
    sides: Sequence[Side],
    scans: Scans,
    plan: SlotPlan | None = None,
    run_id: str = "",
) -> SlotAnswer:
    """The same, with the state of the query's datasets pinned in `sides`: one, or the two of a join.

    Without a plan it is the calendar's: all windows that end in the slot, unless the query drops some.
    """
    watch = Stopwatch()
    for side in sides:
        require_room(query, side, slot, settings.most_groups)
    with watch.part("estimate"):
        plans, watched = AuditPlans(query, sides, settings.costs), WatchedScans(scans, watch)
        panes = exact_panes(settings, query, sides, watched, watch)  # one for all slots, so that nothing is read twice
        seconds = query.shed.policy != EXACT and query.shed.budget.in_seconds
        spending = Spending(settings, query, scans, run_id) if seconds else None
        pool = pool_of(settings, plans, scans, panes)
    return answer_panes(settings, plans, slot, watched, panes, plan, pool, spending, watch)


def answer_panes(
    settings: Settings,
    plans: AuditPlans,
    slot: int,
    scans: Scans,
    panes: Sequence[ExactPanes],
    plan: SlotPlan | None = None,
    pool: PoolBudget | None = None,
    spending: Spending | None = None,
    watch: Stopwatch | None = None,
) -> SlotAnswer:
    """The same, with the exact panes of each side at hand, and the budget of the pool that the query is in."""
    query, watch = plans.query, watch or Stopwatch()
    with watch.part("estimate"):
        made = [SlotWork(plans, slot, scans, panes, plan, spending, pool, watch).answer()]

        def windows_at(audit: int) -> Sequence[LegWindow]:
            made.append(SlotWork(plans, audit, scans, panes, spending=spending, pool=pool, watch=watch).answer())
            return made[-1].windows

        trust = Trust(settings, plans, windows_at)
        columns = trust.columns(slot, made[0].windows)
        windows = trust.bounded(slot, made[0].windows, made[0].spots)
    costs = {name: made[-1].shared[name] for name in COSTS}  # all that the memories read: finding out about audits too
    told = [*made[0].told, *(unlike_advice(settings, query, slot) if made[0].audited else [])]
    shared = {**made[0].shared, **columns, **costs}
    return replace(made[0], windows=windows, shared=shared, told=told, watch=watch)


def pool_of(settings: Settings, plans: AuditPlans, scans: Scans, own: Sequence[ExactPanes]) -> PoolBudget | None:
    """The budget of the pool that a query is in, from the exact panes of all members; its `own` are at hand."""
    query = plans.query
    if query.pool is None or query.shed.policy == EXACT:
        return None
    panes = {query.name: own[0]}
    for member in query.pool.queries():
        if member.name in plans.others:
            panes[member.name] = exact_panes(settings, member, [plans.others[member.name]], scans.of(member))[0]
    return pool_budget(query.pool, plans, panes)


def pool_budget(pool: Pooled, plans: AuditPlans, panes: Mapping[str, ExactPanes]) -> PoolBudget:
    """The budget of a pool whose members have these exact panes; the audits are the same for all of them."""
    plan = plans.at(0)
    return PoolBudget(pool, {name: Priors(panes[name].memory.query, plan, panes[name]) for name in pool.names})


def exact_panes(
    settings: Settings, query: QuerySpec, sides: Sequence[Side], scans: Scans, watch: Stopwatch | None = None
) -> list[ExactPanes]:
    """The exact panes of each side of a query, and the memory that all its panes share."""
    measures = measures_by_side(query, sides[0].dataset.column_names)
    together = zip(sides, measures, SUFFIXES, strict=False)
    return [ExactPanes(Memory(settings, query, side, own, suffix, watch), scans) for side, own, suffix in together]


class SlotWork:
    """The answer of one slot from panes that are remembered or computed; trust in it is not its business.

    What follows from what: exact panes, priors, rates, sampled panes, calibrations.
    """

    def __init__(
        self,
        plans: AuditPlans,
        slot: int,
        scans: Scans,
        exact: Sequence[ExactPanes],
        plan: SlotPlan | None = None,
        spending: Spending | None = None,
        pool: PoolBudget | None = None,
        watch: Stopwatch | None = None,
    ) -> None:
        self.slot_plan = plan or by_calendar(plans.query, slot)
        self.query, self.sides, self.plans, self.slot, self.scans = plans.query, plans.sides, plans, slot, scans
        query, sides = self.query, self.sides
        self.plan = plans.at(slot)
        self.memories = [one.memory for one in exact]
        self.measures = [one.measures for one in exact]
        self.priors = [Priors(query, self.plan, one) for one in exact]
        self.planner = Planner(query, self.priors, spending, pool, watch)
        self.sampled = [SampledPanes(*both) for both in zip(exact, self.planner.sides, strict=True)]
        self.calibrations = [Calibrations(*both) for both in zip(self.priors, self.sampled, strict=True)]
        self.audited = query.shed.policy == EXACT or self.plan.is_audited(slot)
        self.cheaper = not self.audited and plans.exact_instead(slot)
        self.legs = query.legs if self.audited else [EXACT if self.cheaper else query.shed.policy]
        exactly = self.cheaper or (self.audited and query.publish == "best")
        self.published = EXACT if exactly else query.shed.policy
        exact_alone = query.shed.policy == EXACT  # beside estimates, which are doubles, the nearest one will do
        self._whole_sums = [
            whole_sums(side, own if exact_alone else []) for side, own in zip(sides, self.measures, strict=True)
        ]
        self._made_of: dict[str, dict[str, str]] = {}

    def answer(self) -> SlotAnswer:
        """All windows of all legs, scored."""
        slots = self.query.timeline.slots_needed(self.slot)
        learns = self.query.estimates == "shrunk" and self.legs != [EXACT]
        reach, spans = self.slot_plan.stretches, self.slot_plan.spans
        unchecked = self._unchecked()
        panes = []
        for sampled, calibrations in zip(self.sampled, self.calibrations, strict=True):
            if learns:
                calibrations.load(self.slot, self.query.shed.policy)
            sampled.fetch(slots, [*self.legs, *unchecked])
            panes.append({s: sampled.legs(s, self.legs, reach) for s in slots if s != self.slot})
            panes[-1][self.slot] = sampled.legs(self.slot, [*self.legs, *unchecked], self._own)
        keys = self._all_keys([p.keys for side in panes for by_leg in side.values() for p in by_leg.values()], learns)
        runs = {
            leg: [PaneRun([side[s][leg] for s in slots], keys.names, [keys]) for side in panes] for leg in self.legs
        }
        audit = EXACT in self.legs
        whole = whole_values(self.query, self.sides[0], self.scans, spans, keys) if audit else {}
        learnt = [self._learnt(number, keys) for number in range(len(self.sides))] if learns else None
        shed = [leg for leg in self.legs if leg != EXACT and self.query.shed.limited]
        limits = {leg: SlotLimits(self.planner, slots, leg, keys) for leg in shed}
        windows: list[LegWindow] = []
        drifts, before = window_drifts(self.query, self.sides, self.slot), dict[int, Answer | None]()
        for start, end in spans:
            samples = {leg: [run.window(start, end) for run in runs[leg]] for leg in self.legs}
            exact = None
            if audit:
                exact = exact_window(self.query, self.measures, samples[EXACT], whole.get(start, {}))
                refuse_rounded(self._whole_sums, samples[EXACT])
            drift = drifts[start] | exact_drift(self.query, before.get(start - self.query.timeline.slide), exact)
            before = {start: exact}
            for leg in self.legs:
                answer = exact if leg == EXACT else self._answer(samples[leg], learnt)
                assert answer is not None
                left_out = limits[leg].window(samples[leg][0]) if leg in limits else None
                made = self._scored(leg, answer, exact, left_out)
                windows.append(replace(made, extra={**made.extra, **drift}))
        spots: dict[str, SpotCheck] = {}
        if unchecked:
            here = panes[0][self.slot]
            both = here[self.query.shed.policy], here[unchecked[0]]
            spots = slot_spot_checks(self.query, self.planner.spots(self.slot), self.slot, *both, keys, learnt)
        return SlotAnswer(
            self.query,
            self.slot,
            windows,
            self._shared(),
            self.audited,
            spots,
            too_few_seconds(self.planner, self.slot),
        )

    @property
    def _own(self) -> Stretches | None:
        """What is read of the slot itself: all that windows need, later slots' too, or the kept windows alone."""
        return self.slot_plan.stretches if self.query.drops_windows else None

    def wanted(self, at: int) -> Wanted | None:
        """What the answer will ask of the rows of a slot that its windows reach into; None where it will not."""
        if at not in self.query.timeline.slots_needed(self.slot):
            return None
        if at != self.slot:
            return self.sampled[0].wanted(at, self.legs, self.slot_plan.stretches)
        return self.sampled[0].wanted(at, [*self.legs, *self._unchecked()], self._own)

    def _unchecked(self) -> list[str]:
        """The leg without the spot checks, where the slot has some."""
        checks = (
            not (self.audited or self.cheaper) and self.query.spot_checks and self.planner.spots(self.slot).chosen.any()
        )
        return [self.query.shed.policy + AS_ALLOCATED] if checks else []

    def _learnt(self, side: int, keys: Keys) -> Learnt:
        timeline = self.query.timeline
        merged = self.calibrations[side].calibration(self.slot, self.query.shed.policy, keys)
        self.calibrations[side].forget()
        return Learnt(
            histories=self.priors[side].history(self.slot, keys),
            calibrations=merged,
            block_share=min(1.0, timeline.slot / timeline.size),
        )

    def _answer(self, samples: Sequence[WindowSample], learnt: Sequence[Learnt] | None) -> Answer:
        expected = None if learnt is None or samples[0].known else self._expected(samples[0])
        return shed_window(self.query, self.measures, samples, learnt, expected)

    def _expected(self, sample: WindowSample) -> Floats:
        """Rows that the priors expect of each key in each stratum of a window."""
        length = self.query.timeline.slot
        rows, _ = expected_rows(self.priors[0], self.slot, sample.keys)
        slots = self.query.timeline.slots_needed(self.slot)
        shares = [max(0, min(sample.end, s + length) - max(sample.start, s)) / length for s in slots]
        return np.stack([rows * share for share in shares])

    def _all_keys(self, keys: Sequence[Keys], learns: bool) -> Keys:
        """The keys of the panes and, where the answer learns, of the audits it learns from."""
        past = [k for priors in self.priors for k in priors.keys(self.slot, depth=2)] if learns else []
        return unite([*keys, *past], self.query.group_by)[0]

    def _scored(self, leg: str, answer: Answer, exact: Answer | None, left_out: Omissions | None) -> LegWindow:
        """The window with its errors, which are those of the keys that are not left out."""
        columns = self._leg_columns(leg)
        if left_out is not None:
            answer = answer.only(~left_out.omitted)
            exact = None if exact is None else exact.only(~left_out.omitted)
        if self.query.top is not None:
            chosen = top_keys(answer, self.query.top)
            if exact is not None:
                columns["top_missed"] = float((top_keys(exact, self.query.top) & ~chosen).sum())
            if leg == self.published:
                answer, exact = answer.only(chosen), None if exact is None else exact.only(chosen)
        scores: dict[str, Score] = {
            m.name: expected(answer, m) if exact is None else measured(answer, exact, m) for m in self.query.measures
        }
        if exact is not None and leg == self.query.shed.policy != EXACT:
            columns |= self._records(answer, scores)
        kind = EXACT if leg == EXACT else "measured" if exact is not None else "estimated"
        return LegWindow(leg, answer, scores, kind, columns, left_out)

    def _records(self, answer: Answer, scores: Mapping[str, Score]) -> dict[str, str]:
        """What an audited window teaches of claims and errors; nothing where its answer had no history."""
        if self.query.estimates == "shrunk" and not self.plan.priors(self.slot):
            return {}
        found = {}
        for measure in self.query.measures:
            claimed, errors = expected(answer, measure).errors, scores[measure.name].errors
            record = window_record(claimed[answer.shown], errors[answer.shown])
            if record is not None:
                found[f"{measure.name}_record"] = record.text()
        return found

    def _leg_columns(self, leg: str) -> dict[str, Any]:
        panes = [sampled.legs(self.slot, [leg], self._own)[leg] for sampled in self.sampled]
        processed = float(sum(part.sampled.sum() for part in panes))
        known = all(part.known for part in panes)
        slot_rows = float(sum(p.population.sum() for p in panes)) if known else self.planner.concept(self.slot).rows
        columns: dict[str, Any] = {
            "policy": leg,
            "published": leg == self.published,
            "slot_rows": slot_rows,
            "processed_rows": processed,
            "processed_fraction": processed / slot_rows if slot_rows else 0.0,
            "exceeded_by": 0.0,
            "budget_rows": slot_rows,
            **self._fingerprints(leg),
        }
        if leg != EXACT and slot_rows:
            allocation = self.planner.allocation(self.slot, leg)
            columns["exceeded_by"] = allocation.exceeded_by
            columns["budget_rows"] = self._budget_rows(leg)
            if self.planner.spending is not None:
                columns["budget_seconds"] = self.planner.reached(self.slot).seconds
                columns["spent_seconds"] = self.planner.reached(self.slot).spent
            columns["charged_rows"] = self.planner.charged_rows(self.slot, leg)
        return columns

    def _budget_rows(self, leg: str) -> float:
        """Of a budget of seconds the rows that it is expected to buy."""
        if self.planner.spending is None:
            return self.planner.budget(self.slot)
        return self.planner.allocation(self.slot, leg).expected_rows

    def _fingerprints(self, leg: str) -> dict[str, str]:
        if leg not in self._made_of:
            raw = answer_fingerprint(self.plans, self.slot_plan, leg)
            self._made_of[leg] = {"raw_fingerprint": raw, "spec_fingerprint": spec_fingerprint(self.query, leg)}
        return self._made_of[leg]

    def _shared(self) -> dict[str, Any]:
        priors = self.plan.priors(self.slot)
        told = forecast(self.query, self.sides[0], self.slot, self.plans.costs)
        by_leg = {} if told is None else {EXACT: told.exact_seconds, self.query.shed.policy: told.shed_seconds}
        return {
            **slot_drift(self.query, self.sides, self.slot),
            "forecast_seconds": by_leg.get(self.legs[0]) if len(self.legs) == 1 else None,
            "forecast_exact_seconds": by_leg.get(EXACT),
            "audited": self.audited,
            "audit_reason": audit_reason(self.query, self.plan, self.slot, self.audited),
            "total_rows": sum(memory.computed_rows for memory in self.memories),
            "rows_read": sum(memory.scanned_rows for memory in self.memories),
            "bytes_read": sum(memory.scanned_bytes for memory in self.memories),
            "prior_slots": [slot_name(prior) for prior in priors],
            "last_audit": priors[0] if priors else None,
            "arrivals_version": self.sides[0].arrivals.version,
            "plan_fingerprint": self.slot_plan.fingerprint,
            "dropped_windows": len(self.slot_plan.dropped),
            "reason": self._reason(),
        }

    def _reason(self) -> str:
        size, plan = str(self.query.shed.budget), self.slot_plan
        if self.query.drops_windows:
            return f"{len(plan.kept)} of {len(plan.windows)} windows computed ({plan.reason})"
        size += f", shared in pool {self.query.shed.pool}" if self.planner.pool is not None else ""
        if self.query.shed.policy == EXACT:
            return "policy exact: every row"
        if self.planner.spending is not None:
            size += f" ({self.planner.reached(self.slot).reason})"
        if self.cheaper:
            told = forecast(self.query, self.sides[0], self.slot, self.plans.costs)
            assert told is not None
            both = f"{told.exact_seconds:.3g} s for {told.groups:.0f} groups against {told.shed_seconds:.3g} s"
            return f"exact costs less than policy {self.query.shed.policy} within {size}, by the cost model: {both}"
        if self.planner.concept(self.slot).counted:
            size = "the counts of arrival, which have the answer: no row sampled"
        beside = (
            f", exact beside it ({audit_reason(self.query, self.plan, self.slot, self.audited)})"
            if self.audited
            else ""
        )
        return f"policy {self.query.shed.policy} within {size}{beside}; publishes {self.published}"
