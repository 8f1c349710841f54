"""The figures of every query as Prometheus' text, to be pulled. No key of the data is ever a label."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.report.figures import QueryFigures
from jobs.report.slots import MISSING, STATES, Slot
from jobs.report.tables import quarantined_rows
from shedding.compare.error_budget import burn_windows
from shedding.config import Settings

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECOND = 1e6
Sample = tuple[Mapping[str, str], float]


@dataclass(frozen=True, slots=True)
class Metric:
    """A gauge with its help and its samples."""

    name: str
    help: str
    samples: Sequence[Sample]

    def lines(self) -> Iterator[str]:
        """The metric's lines; a figure that is not known has none."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} gauge"
        for labels, value in self.samples:
            if not math.isnan(value):
                told = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
                yield f"{self.name}{{{told}}} {_text(value)}"


def metrics_text(settings: Settings, figures: Sequence[QueryFigures]) -> str:
    """All metrics of the queries."""
    metrics = [*_objectives(figures), *_newest(figures), *_costs(figures), _quarantined(settings, figures)]
    return "\n".join(line for metric in metrics for line in metric.lines()) + "\n"


def _objectives(figures: Sequence[QueryFigures]) -> Iterator[Metric]:
    run = [one for one in figures if one.slots]
    yield _gauge("sluice_objective_ratio", "Share of windows that the objective promises.", figures,
                 lambda one: one.query.objective.share)  # fmt: skip
    yield _gauge("sluice_achieved_ratio", "Share of windows published within their limits over the objective's time.",
                 run, lambda one: one.budget.achieved)  # fmt: skip
    yield _gauge("sluice_budget_left_ratio", "Part of the error budget that is left; below 0 it is overspent.", run,
                 lambda one: one.budget.left)  # fmt: skip
    yield Metric("sluice_burn_rate", "How fast the last slots spend the error budget; 1 spends it just in time.", [
        ({"query": one.query.name, "slots": str(slots)}, one.burn_rate(slots))
        for one in run
        for slots in sorted({n for alert in burn_windows(one.query.objective, one.query.timeline)
                             for n in (alert.long_slots, alert.short_slots)})
    ])  # fmt: skip
    yield Metric("sluice_windows", "Windows over the objective's time by what became of their slot.", [
        ({"query": one.query.name, "verdict": state},
         one.counts.get(state, 0) * one.query.timeline.slot / one.query.timeline.slide)
        for one in run
        for state in STATES
    ])  # fmt: skip


def _newest(figures: Sequence[QueryFigures]) -> Iterator[Metric]:
    run = [one for one in figures if one.slots]
    yield _gauge("sluice_freshness_seconds", "Age of the end of the newest published slot.", run,
                 lambda one: one.age / SECOND)  # fmt: skip
    yield _gauge("sluice_late_slots", "Slots after the newest run one that are due and were not run.", run, _late)
    yield Metric("sluice_error_over_limit_ratio", "Newest judged error over its limit, by how it is known.", [
        ({"query": one.query.name, "kind": last.kind}, _judged(last) / last.limit)
        for one in run
        if (last := one.last_run) is not None and last.kind and last.limit > 0
    ])  # fmt: skip
    yield _gauge("sluice_coverage_ratio", "Share of intervals that held the exact value at the last audit.", run,
                 lambda one: _last(slot.coverage for slot in one.recent))  # fmt: skip
    yield _gauge("sluice_drift_distance", "Distance of the newest slot's keys from the slot's before.", run,
                 lambda one: _last(slot.drift for slot in one.recent))  # fmt: skip
    yield _gauge("sluice_audit_age_seconds", "Event time since the last audited slot.", run,
                 lambda one: math.nan if one.audit_age is None else one.audit_age / SECOND)  # fmt: skip
    yield _gauge("sluice_warnings", "Checks that warn on the newest slot.", run,
                 lambda one: float(len(one.last_run.warnings)) if one.last_run else 0.0)  # fmt: skip


def _costs(figures: Sequence[QueryFigures]) -> Iterator[Metric]:
    run = [one for one in figures if one.slots]
    parts = ("shed", "audits", "repairs", "exact")
    yield Metric("sluice_rows", "Rows processed over the objective's time by leg; exact is what all rows would be.", [
        ({"query": one.query.name, "leg": part}, float(getattr(one.savings[0], part))) for one in run for part in parts
    ])  # fmt: skip
    yield _gauge("sluice_read_bytes", "Bytes read over the objective's time.", run, lambda one: one.savings[1].spent)
    yield _gauge("sluice_slot_seconds", "Seconds of the newest slot's run.", run,
                 lambda one: one.last_run.cost.seconds if one.last_run else math.nan)  # fmt: skip


def _quarantined(settings: Settings, figures: Sequence[QueryFigures]) -> Metric:
    datasets = sorted({one.query.dataset for one in figures})
    samples = [({"name": name, "of": "query"}, float(quarantined_rows(settings, name)))
               for name in sorted(one.query.name for one in figures)]  # fmt: skip
    samples += [({"name": name, "of": "dataset"}, float(quarantined_rows(settings, name))) for name in datasets]
    return Metric("sluice_quarantined_rows", "Rows in quarantine.", samples)


def _gauge(name: str, text: str, figures: Sequence[QueryFigures], value: object) -> Metric:
    assert callable(value)
    return Metric(name, text, [({"query": one.query.name}, float(value(one))) for one in figures])


def _judged(slot: Slot) -> float:
    """The number that the gate held against the limit: of an estimated error its bound."""
    return slot.bound if slot.kind == "estimated" else slot.error


def _late(one: QueryFigures) -> float:
    late = 0
    for slot in reversed(one.slots):
        if slot.outcome != MISSING:
            break
        late += 1
    return float(late)


def _last(values: Iterator[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return known[-1] if known else math.nan


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _text(value: float) -> str:
    return repr(float(value)) if math.isfinite(value) else "+Inf" if value > 0 else "-Inf"
