"""The experiment behind `sluice compare`: every policy and budget beside the exact answer, publishing nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shedding.answers.answer import Answer
from shedding.answers.join import measures_by_side
from shedding.answers.learnt import Learnt
from shedding.answers.scores import Score, measured, missing_keys
from shedding.answers.whole_values import whole_values
from shedding.answers.window import exact_window, shed_window
from shedding.compare.experiment import Experiment, ExperimentScans, Leg, rates_by_slot
from shedding.config import Settings
from shedding.errors import DataError
from shedding.estimates.accuracy import WindowErrors
from shedding.ingest.side import Side, sides_of
from shedding.keys import unite
from shedding.panes.scans import Scans
from shedding.panes.windows import PaneRun
from shedding.planning.audit_plan import AuditPlan
from shedding.planning.calibrations import Calibrations
from shedding.planning.drift_audits import audit_plan
from shedding.planning.priors import Priors
from shedding.spec import Catalog
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT

Floats = npt.NDArray[np.float64]
Progress = Callable[[str], None]


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
        self.missing += missing_keys(answer, scores)
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
        errors = WindowErrors.of(every).columns()
        return {
            "mean_error": errors["mean_error"],
            "p95_error": errors["p95_error"],
            "missing_keys": self.missing,
            "imputed_keys": self.imputed,
            "coverage": self.covered[measure] / estimates if estimates else None,
            "half_width": float(widths.mean()) if widths.size else None,
        }


def compare_between(
    settings: Settings,
    catalog: Catalog,
    query: QuerySpec,
    scans: ExperimentScans,
    span: tuple[int, int],
    legs: Sequence[Leg],
    estimates: Sequence[str] = ("shrunk",),
    progress: Progress = lambda _: None,
) -> list[dict[str, Any]]:
    """`compare` over the slots of [start, end) that have rows; DataError where none has."""
    sides = sides_of(settings, catalog, query)
    slots = slots_with_rows(query, sides, span)
    return compare(query, sides, audit_plan(query, sides, slots[-1]), scans, slots, legs, estimates, progress)


def slots_with_rows(query: QuerySpec, sides: Sequence[Side], span: tuple[int, int]) -> list[int]:
    """The slots of [start, end) that every side has rows in, known without a scan; DataError where there is none."""
    between = query.timeline.slots_between(*span)
    slots = [s for s in between if all(x.arrivals.rows(query.timeline.slot_needed(s)) for x in sides)]
    if not slots:
        names = " and ".join(dict.fromkeys(side.dataset.name for side in sides))
        raise DataError(f"dataset {names} has no rows in that interval; `sluice status` says what there is")
    return slots


def compare(
    query: QuerySpec,
    sides: Sequence[Side],
    plan: AuditPlan,
    scans: ExperimentScans,
    slots: Sequence[int],
    legs: Sequence[Leg],
    estimates: Sequence[str] = ("shrunk",),
    progress: Progress = lambda _: None,
) -> list[dict[str, Any]]:
    """One line per policy, budget, kind of estimate and measure, over all windows that end in `slots`.

    A leg or kind that is named twice is one.
    The dataset's first slot, which nothing precedes, takes part as a prior and is left out of the figures.
    `processed_fraction` is measured, over both sides of a join; `total_fraction` adds the audited slots' other rows.
    `seconds` are those of the scan that all legs share (one a side) plus the leg's own estimation, `bytes` those of
    the files read.
    """
    legs, estimates = list(dict.fromkeys(legs)), list(dict.fromkeys(estimates))
    timeline = query.timeline
    needed = sorted({s for slot in slots for s in timeline.slots_needed(slot)} | set(slots))
    audits = {a for slot in needed for a in plan.priors(slot)}
    older = {a for audit in audits for a in plan.priors(audit)}
    sampled, all_slots = sorted({*needed, *audits}), sorted({*needed, *audits, *older})
    start, end = all_slots[0], all_slots[-1] + timeline.slot
    for side in sides:
        if not side.known(timeline.needed(start, end)):
            name = side.dataset.name
            raise DataError(f"{query.name}: keys of {name} are not all counted; run `sluice ingest {name}` to catch up")
    by_side = measures_by_side(query, sides[0].dataset.column_names)
    experiments = [Experiment(query, side, measures) for side, measures in zip(sides, by_side, strict=True)]
    progress("exact panes")
    for experiment in experiments:
        experiment.scan_exact(scans, all_slots)
    priors = [Priors(query, plan, experiment) for experiment in experiments]
    progress(f"{len(legs)} legs")
    began = time.monotonic()
    for experiment, rates in zip(experiments, rates_by_slot(query, priors, sampled, legs), strict=True):
        experiment.scan_legs(scans, sampled, rates)
    shared = time.monotonic() - began
    progress("answers")
    judged = [slot for slot in slots if slot != plan.first] or list(slots)
    calibrations = [Calibrations(*both) for both in zip(priors, experiments, strict=True)]
    tallies = _tallies(query, experiments, priors, calibrations, scans, judged, legs, estimates)
    read = sum(side.bytes(timeline.needed(sampled[0], end)) for side in sides)
    return _lines(query, experiments, plan, judged, legs, tallies, shared, read)


def _tallies(
    query: QuerySpec,
    experiments: Sequence[Experiment],
    priors: Sequence[Priors],
    calibrated: Sequence[Calibrations],
    scans: Scans,
    slots: Sequence[int],
    legs: Sequence[Leg],
    estimates: Sequence[str],
) -> dict[tuple[str, str], Tally]:
    side = experiments[0].side
    names, by_side = tuple(query.group_by), [experiment.measures for experiment in experiments]
    keys = unite([panes.keys for experiment in experiments for panes in experiment.kept.values()], names)[0]
    tallies = {(leg.name, kind): Tally() for leg in legs for kind in estimates}
    timeline = query.timeline
    for slot in slots:
        needed = timeline.slots_needed(slot)

        def runs(leg: str, needed: Sequence[int] = needed) -> list[PaneRun]:
            return [PaneRun([e.kept[s, leg] for s in needed], names, [keys]) for e in experiments]

        whole, exact_runs = whole_values(query, side, scans, timeline.windows(slot), keys), runs(EXACT)
        exact = {
            w: exact_window(query, by_side, [run.window(*w) for run in exact_runs], whole.get(w[0], {}))
            for w in timeline.windows(slot)
        }
        histories = [own.history(slot, keys) for own in priors] if "shrunk" in estimates else []
        share = min(1.0, timeline.slot / timeline.size)
        for leg in legs:
            leg_runs = runs(leg.name)
            for kind in estimates:
                began = time.monotonic()
                tally, learnt = tallies[leg.name, kind], None
                if kind == "shrunk":
                    calibrations = [own.calibration(slot, leg.name, keys) for own in calibrated]
                    learnt = [Learnt(*both, share) for both in zip(histories, calibrations, strict=True)]
                for window, truth in exact.items():
                    answer = shed_window(query, by_side, [run.window(*window) for run in leg_runs], learnt)
                    tally.add(answer, {m.name: measured(answer, truth, m) for m in query.measures})
                tally.seconds += time.monotonic() - began
    return tallies


def _lines(
    query: QuerySpec,
    experiments: Sequence[Experiment],
    plan: AuditPlan,
    slots: Sequence[int],
    legs: Sequence[Leg],
    tallies: dict[tuple[str, str], Tally],
    shared: float,
    size: int,
) -> list[dict[str, Any]]:
    def processed(slot: int, leg: str) -> float:
        return sum(float(experiment.panes(slot, leg).sampled.sum()) for experiment in experiments)

    rows = {slot: processed(slot, EXACT) for slot in slots}
    total = sum(rows.values()) or 1.0
    lines = []
    for leg in legs:
        sampled = {slot: processed(slot, leg.name) for slot in slots}
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
