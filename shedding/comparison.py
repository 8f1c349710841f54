"""The experiment behind `sluice compare`: every policy and budget beside the exact answer, publishing nothing.

Rates need exact panes and arrival counts only, never a sample, so the whole experiment is two scans: one for the
exact panes of all slots, one for all legs at once, each slot with its own rates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shedding.answers import Answer, exact_answer, plain_answer
from shedding.audit_drift import audit_plan
from shedding.audits import AuditPlan
from shedding.config import Settings
from shedding.errors import DataError
from shedding.keys import Keys, align
from shedding.learnt import Learnt, learnt_answer
from shedding.memory import EXACT, Scans
from shedding.oracle import oracle_rates, own_concept
from shedding.pane_sums import Scanned
from shedding.panes import Panes
from shedding.planning import allocate, learn
from shedding.priors import Priors
from shedding.rates import Rates
from shedding.scores import Score, measured
from shedding.sides import Side, left_side, needed_counts
from shedding.spec import Catalog
from shedding.spec.query import MeasureSpec, QuerySpec
from shedding.whole_values import whole_values
from shedding.windowed import PaneRun, WindowSample

Floats = npt.NDArray[np.float64]
ORACLE = "oracle"
"""`optimal` with the statistics of the slot itself: what no pipeline can know beforehand. Only for comparison."""


class ExperimentScans(Scans, Protocol):
    """What a comparison asks of Spark, beside what a memory does."""

    def panes_by_slot(
        self, side: Side, measures: Sequence[MeasureSpec], start: int, end: int, legs: Sequence[Rates]
    ) -> pa.Table:
        """The rows of many slots grouped by slot, pane, key and class of legs."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A policy at a budget, a fraction of each slot's rows."""

    policy: str
    fraction: float

    @property
    def name(self) -> str:
        """What its panes are called in the experiment."""
        return f"{self.policy}@{self.fraction:g}"


@dataclass
class Tally:
    """The scores of one leg and kind of estimate, collected over windows; per measure."""

    errors: dict[str, list[Floats]] = field(default_factory=dict)
    half_widths: dict[str, list[float]] = field(default_factory=dict)
    estimates: dict[str, int] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    imputed: int = 0
    seconds: float = 0.0

    def add(self, answer: Answer, scores: dict[str, Score]) -> None:
        """One window more."""
        self.missing += int((answer.present & ~answer.shown).sum())
        self.imputed += int(answer.imputed.sum())
        for name, score in scores.items():
            self.errors.setdefault(name, []).append(score.every)
            self.half_widths.setdefault(name, []).append(score.half_width)
            self.estimates[name] = self.estimates.get(name, 0) + score.estimates
            self.covered[name] = self.covered.get(name, 0) + score.covered

    def line(self, measure: str) -> dict[str, Any]:
        """Errors over all keys of all windows, a missing key as 1."""
        every = np.concatenate(self.errors.get(measure, [np.zeros(0)]))
        widths = np.array(self.half_widths.get(measure, []))
        widths = widths[~np.isnan(widths)]
        estimates = self.estimates.get(measure, 0)
        return {
            "mean_error": float(every.mean()) if every.size else None,
            "p95_error": float(np.quantile(every, 0.95)) if every.size else None,
            "missing_keys": self.missing,
            "imputed_keys": self.imputed,
            "coverage": self.covered[measure] / estimates if estimates else None,
            "half_width": float(widths.mean()) if widths.size else None,
        }


class _Experiment:
    """Panes of an experiment, kept to itself: nothing of it reaches the warehouse."""

    def __init__(self, query: QuerySpec, side: Side) -> None:
        self.side, self.measures, self.query = side, list(query.measures), query
        self.kept: dict[tuple[int, str], Panes] = {}

    def panes(self, slot: int, leg: str) -> Panes:
        return self.kept[slot, leg]

    def legs(self, slot: int, legs: Sequence[str]) -> dict[str, Panes]:
        return {leg: self.kept[slot, leg] for leg in legs}

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """Nothing to fetch: an experiment computes all its panes at its start."""

    def keep(self, scanned: pa.Table, slots: Sequence[int], leg: str, bit: int | None, rates: Rates | None) -> None:
        """Cut a scan of many slots into the panes of each."""
        length = self.query.timeline.slot
        start = scanned.column("pane_start")
        for slot in slots:
            inside = pc.and_(pc.greater_equal(start, slot), pc.less(start, slot + length))
            counts = None if bit is None else needed_counts(self.side, self.query.timeline, slot, slot + length)
            laid_out = Scanned(scanned.filter(inside), self.side.keyset.keys, counts)
            self.kept[slot, leg] = laid_out.panes(bit, self.measures, None if rates is None else _of_slot(rates, slot))


def compare_between(
    settings: Settings,
    catalog: Catalog,
    query: QuerySpec,
    scans: ExperimentScans,
    span: tuple[int, int],
    legs: Sequence[Leg],
    estimates: Sequence[str] = ("shrunk",),
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """`compare` over the slots of [start, end) that have rows; DataError where none has."""
    side, length = left_side(settings, catalog, query), query.timeline.slot
    slots = [s for s in query.timeline.slots_between(*span) if side.arrivals.rows(s, s + length)]
    if not slots:
        raise DataError(f"dataset {query.dataset} has no rows in that interval; `sluice status` says what there is")
    return compare(query, side, audit_plan(query, side, slots[-1]), scans, slots, legs, estimates, progress)


def compare(
    query: QuerySpec,
    side: Side,
    plan: AuditPlan,
    scans: ExperimentScans,
    slots: Sequence[int],
    legs: Sequence[Leg],
    estimates: Sequence[str] = ("shrunk",),
    progress: Callable[[str], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """One line per policy, budget, kind of estimate and measure, over all windows that end in `slots`.

    The dataset's first slot, which nothing precedes, takes part as a prior and is left out of the figures.
    `processed_fraction` is measured, `total_fraction` adds the audited slots' other rows. `seconds` are those of
    the one scan that all legs share plus the leg's own estimation, `bytes` those of the files read.
    """
    timeline = query.timeline
    needed = sorted({s for slot in slots for s in timeline.slots_needed(slot)} | set(slots))
    audits = {a for slot in needed for a in plan.priors(slot)}
    older = {a for audit in audits for a in plan.priors(audit)}
    sampled, all_slots = sorted({*needed, *audits}), sorted({*needed, *audits, *older})
    start, end = all_slots[0], all_slots[-1] + timeline.slot
    if not side.known(start, end):
        name = query.dataset
        raise DataError(f"{query.name}: keys of {name} are not all counted; run `sluice ingest {name}` to catch up")
    experiment = _Experiment(query, side)
    progress("exact panes")
    experiment.keep(scans.panes(side, query.measures, start, end, (), True), all_slots, EXACT, None, None)
    priors = Priors(query, plan, experiment)
    progress(f"{len(legs)} legs")
    began = time.monotonic()
    rates = _all_rates(query, priors, sampled, legs)
    scanned = scans.panes_by_slot(side, query.measures, sampled[0], sampled[-1] + timeline.slot, rates)
    for bit, leg in enumerate(legs):
        experiment.keep(scanned, sampled, leg.name, bit, rates[bit])
    shared = time.monotonic() - began
    progress("answers")
    judged = [slot for slot in slots if slot != plan.first] or list(slots)
    tallies = _tallies(query, priors, scans, judged, legs, estimates)
    return _lines(query, experiment, plan, judged, legs, tallies, shared, side.bytes(sampled[0], end))


def _all_rates(query: QuerySpec, priors: Priors, slots: Sequence[int], legs: Sequence[Leg]) -> list[Rates]:
    """Each leg's rates over (slot, key), all over one list of keys."""
    tables: list[pa.Table] = []
    values: list[list[Floats]] = [[] for _ in legs]
    for slot in slots:
        concept = learn(query, priors, slot)
        own = own_concept(query, priors, slot, concept) if any(leg.policy == ORACLE for leg in legs) else concept
        size = len(concept.keys)
        columns = dict(zip(concept.keys.names, concept.keys.columns, strict=True))
        tables.append(pa.table({"_slot": pa.array([slot] * size, pa.int64()), **columns}))
        for at, leg in enumerate(legs):
            rows = leg.fraction * concept.rows
            if not size or not rows:
                values[at].append(np.zeros(0))
            elif leg.policy == ORACLE:
                values[at].append(oracle_rates(query, own.concept, rows))
            else:
                values[at].append(allocate(query, leg.policy, concept, rows).rates)
    keys, places = align(tables, tables[0].column_names)
    assert np.array_equal(np.concatenate(places), np.arange(len(keys))), "slots in order, keys sorted in each"
    return [Rates(leg.name, keys, np.concatenate(found)) for leg, found in zip(legs, values, strict=True)]


def _of_slot(rates: Rates, slot: int) -> Rates:
    at = np.flatnonzero(rates.keys.columns[0].to_numpy() == slot)
    columns = tuple(column.take(pa.array(at, pa.int64())) for column in rates.keys.columns[1:])
    size = len(at) if rates.keys.names[1:] else 1
    return Rates(rates.leg, Keys(rates.keys.names[1:], columns, size), rates.values[at], rates.unseen)


def _tallies(
    query: QuerySpec,
    priors: Priors,
    scans: Scans,
    slots: Sequence[int],
    legs: Sequence[Leg],
    estimates: Sequence[str],
) -> dict[tuple[str, str], Tally]:
    names = priors.memory.side.keyset.keys
    kept = priors.memory.kept if isinstance(priors.memory, _Experiment) else {}
    keys = align([panes.keys.table() for panes in kept.values()], names)[0] if names else Keys((), (), 1)
    tallies = {(leg.name, kind): Tally() for leg in legs for kind in estimates}
    timeline = query.timeline
    for slot in slots:
        needed = timeline.slots_needed(slot)
        whole = whole_values(query, priors.memory.side, scans, slot, keys)
        exact_run = PaneRun([kept[s, EXACT] for s in needed], names, [keys])
        exact = {
            w: exact_answer(exact_run.window(*w), query.measures, whole.get(w[0], {})) for w in timeline.windows(slot)
        }
        histories = priors.history(slot, keys) if "shrunk" in estimates else {}
        for leg in legs:
            run = PaneRun([kept[s, leg.name] for s in needed], names, [keys])
            for kind in estimates:
                began = time.monotonic()
                tally, learnt = tallies[leg.name, kind], None
                if kind == "shrunk":
                    calibrations = priors.calibration(slot, leg.name, keys)
                    learnt = Learnt(histories, calibrations, min(1.0, timeline.slot / timeline.size))
                for window, truth in exact.items():
                    answer = _answer(run.window(*window), query, learnt)
                    tally.add(answer, {m.name: measured(answer, truth, m) for m in query.measures})
                tally.seconds += time.monotonic() - began
    return tallies


def _answer(sample: WindowSample, query: QuerySpec, learnt: Learnt | None) -> Answer:
    return plain_answer(sample, query.measures) if learnt is None else learnt_answer(sample, query.measures, learnt)


def _lines(
    query: QuerySpec,
    experiment: _Experiment,
    plan: AuditPlan,
    slots: Sequence[int],
    legs: Sequence[Leg],
    tallies: dict[tuple[str, str], Tally],
    shared: float,
    size: int,
) -> list[dict[str, Any]]:
    rows = {slot: float(experiment.panes(slot, EXACT).sampled.sum()) for slot in slots}
    total = sum(rows.values()) or 1.0
    lines = []
    for leg in legs:
        sampled = {slot: float(experiment.panes(slot, leg.name).sampled.sum()) for slot in slots}
        all_in = sum(rows[s] if plan.is_audited(s) else sampled[s] for s in slots)
        for kind in dict.fromkeys(kind for _, kind in tallies):
            tally = tallies[leg.name, kind]
            for measure in query.measures:
                lines.append({
                    "policy": leg.policy, "budget": leg.fraction, "estimates": kind, "measure": measure.name,
                    "processed_fraction": sum(sampled.values()) / total, "total_fraction": all_in / total,
                    **tally.line(measure.name), "seconds": shared + tally.seconds, "bytes": size,
                    "windows": len(tally.errors.get(measure.name, [])),
                })  # fmt: skip
    return lines
