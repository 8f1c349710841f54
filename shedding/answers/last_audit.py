"""How audits went: what lets the gate trust the slots after them that have no exact leg of their own.

An audited slot's run records how far its shed leg was from its exact one, in the gate's own terms and before any
repair. A slot after it takes that record where it is of the raw rows and the specification of now, and else answers
the audited slot itself, with the same code: what it learns is the same in every order of backfill.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shedding import warehouse
from shedding.answers.run_record import LegWindow
from shedding.answers.scores import missing_keys
from shedding.config import Settings
from shedding.estimates.accuracy import STATISTICS, WindowErrors
from shedding.planning.audit_plan import RECORD_SLOTS
from shedding.planning.drift_audits import AuditPlans
from shedding.planning.fingerprints import asks_the_last_audit, raw_fingerprint
from shedding.risk import SpotCheck, WindowRecord, claims, decided_by, window_laws
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.spec.timeline import slot_name

PARTS = (*(f"{statistic}_error" for statistic in STATISTICS), "coverage", "estimates")
TOP_MISSED = "audit_top_missed"


class Trust:
    """The audits before a slot, as the gate's trust in it rests on them.

    `answer_at` answers an audited slot; it is called only where no record of it holds.
    """

    def __init__(
        self,
        settings: Settings,
        plans: AuditPlans,
        answer_at: Callable[[int], Sequence[LegWindow]],
    ) -> None:
        self._settings, self._plans, self._query, self._answer_at = settings, plans, plans.query, answer_at
        self._known: dict[int, Sequence[Mapping[str, Any]]] = {}

    def columns(self, slot: int, windows: Sequence[LegWindow]) -> dict[str, float | None]:
        """The columns `audit_...` and `prior_keys` of a slot's run rows: of its own audit, else of the last one.

        A query that sheds nothing needs no trust and has no such columns.
        """
        query = self._query
        if query.shed.policy == EXACT:
            return {}
        plan = self._plans.at(slot)
        own = audit_columns(query, windows) if plan.is_audited(slot) else {}
        before = plan.priors(slot)[:1]
        if not before or not asks_the_last_audit(query, plan, slot):
            return own
        last = {name: self._rows(before[0])[0][name] for name in _names(query)}
        return {**last, **own, "prior_keys": round(last["audit_keys"] or 0.0)}

    def bounded(self, slot: int, windows: Sequence[LegWindow], spots: Mapping[str, SpotCheck]) -> list[LegWindow]:
        """The windows, those whose errors are estimated with the laws and bounds that audits and spot checks give."""
        if all(window.error_kind != "estimated" for window in windows):
            return list(windows)
        audits = self._plans.at(slot).priors(slot, RECORD_SLOTS)
        records = [self._rows(audit) for audit in audits]
        return [self._bounded(window, records, spots) for window in windows]

    def _bounded(
        self, window: LegWindow, audits: Sequence[Sequence[Mapping[str, Any]]], spots: Mapping[str, SpotCheck]
    ) -> LegWindow:
        if window.error_kind != "estimated":
            return window
        columns: dict[str, Any] = {"spot_keys": max((spot.keys for spot in spots.values()), default=0)}
        shown, risk = window.answer.shown, self._query.gate.risk
        missing = int((window.answer.present & ~shown).sum())
        for measure in self._query.measures:
            name, errors = measure.name, window.scores[measure.name].errors[shown]
            errors = errors[~np.isnan(errors)]
            records = [_records(rows, name) for rows in audits]
            records, spot, claimed = [found for found in records if found], spots.get(name), claims(errors, missing)
            laws = window_laws(records, claimed, spot)
            bounds = laws.bounds(errors, missing, risk)
            columns |= {f"{name}_{part}_bound": getattr(bounds, part) for part in STATISTICS}
            columns[f"{name}_law"] = laws.text()
            if spot is not None:
                columns |= {f"{name}_spot_error": spot.error, f"{name}_spot_ratio": spot.ratio}
            columns[f"{name}_decided_by"] = decided_by(errors, missing, laws, window_laws(records, claimed), risk)
        return replace(window, extra={**window.extra, **columns})

    def learn(self, audit: int, windows: Sequence[LegWindow]) -> None:
        """Take an audited slot's answer as it is, without asking what its run recorded."""
        columns = audit_columns(self._query, windows)
        shed = [window for window in windows if window.leg == self._query.shed.policy]
        self._known[audit] = [{**columns, **window.extra} for window in shed]

    def _rows(self, audit: int) -> Sequence[Mapping[str, Any]]:
        """Of an audited slot, the columns that others rely on, one row a window of its shed leg."""
        if audit not in self._known:
            recorded = _recorded(self._settings, self._plans, audit)
            if recorded is None:
                self.learn(audit, self._answer_at(audit))
            else:
                self._known[audit] = recorded
        return self._known[audit]


def audit_columns(query: QuerySpec, windows: Sequence[LegWindow]) -> dict[str, float | None]:
    """Of an audited slot: the shed leg's errors as its gate judges them, the worst window of each; a missing key is 1.

    An error that nobody knows counts as infinite. `audit_estimates` are the intervals that count as independent,
    `audit_keys` the keys that a window publishes in the mean; a query with `top` also has how many keys of the true top
    it missed.
    """
    shed = [window for window in windows if window.leg == query.shed.policy]
    exact = [window for window in windows if window.leg == EXACT]
    missing = [missing_keys(window.answer, window.scores) for window in shed]
    columns: dict[str, float | None] = {
        "audit_missing_keys": float(max(missing, default=0)),
        "audit_keys": float(np.mean([_published_keys(query, window) for window in exact])) if exact else 0.0,
    }
    if query.top is not None:
        columns[TOP_MISSED] = max((window.extra["top_missed"] for window in shed), default=0.0)
    overlap = max(1, query.timeline.size // query.timeline.slide)
    for measure in query.measures:
        errors = [_errors(window, measure.name) for window in shed]
        scores = [window.scores[measure.name] for window in shed]
        estimates = sum(score.estimates for score in scores)
        values = (
            *(float(np.nanmax([0.0, *(getattr(window, statistic) for window in errors)])) for statistic in STATISTICS),
            sum(score.covered for score in scores) / estimates if estimates else None,
            float(estimates // overlap),
        )
        columns |= {f"{measure.name}_audit_{part}": value for part, value in zip(PARTS, values, strict=True)}
    return columns


def _published_keys(query: QuerySpec, window: LegWindow) -> int:
    """How many keys a window of the exact leg publishes: it shows all of them, also where the query has `top`."""
    shown = int(window.answer.shown.sum())
    return shown if query.top is None else min(shown, query.top.n)


def _errors(window: LegWindow, measure: str) -> WindowErrors:
    """Of the keys that are shown, an unknown error as infinite, and of the missing ones."""
    present, shown = window.answer.present, window.answer.shown
    errors = window.scores[measure].errors[shown]
    return WindowErrors.of(np.where(np.isnan(errors), np.inf, errors), int((present & ~shown).sum()))


def _names(query: QuerySpec) -> list[str]:
    """The columns of an audited slot's run that are the same for all its windows."""
    names = ["audit_missing_keys", "audit_keys"] + ([TOP_MISSED] if query.top is not None else [])
    return names + [f"{measure.name}_audit_{part}" for measure in query.measures for part in PARTS]


def _records(rows: Sequence[Mapping[str, Any]], measure: str) -> list[WindowRecord]:
    """The records of an audited slot's windows."""
    texts = (row.get(f"{measure}_record") for row in rows)
    return [WindowRecord.of_text(text) for text in texts if text is not None]


def _recorded(settings: Settings, plans: AuditPlans, audit: int) -> list[Mapping[str, Any]] | None:
    """What the audited slot's own run recorded; None where it never ran, or of other rows or another specification."""
    query = plans.query
    runs, leg = warehouse.runs(settings, query.name), query.shed.policy
    if not runs.exists():
        return None
    where = [("slot", "=", slot_name(audit)), ("leg", "=", leg)]
    rows: list[Mapping[str, Any]] = sorted(runs.read(where).to_pylist(), key=lambda row: row["window_start"])
    names = {*_names(query), *(f"{measure.name}_record" for measure in query.measures)}
    if not rows or not rows[0]["audited"] or rows[0].get("audit_keys") is None or not names <= set(rows[0]):
        return None
    now = raw_fingerprint(plans, audit, leg), spec_fingerprint(query, leg)
    return rows if (rows[0]["raw_fingerprint"], rows[0]["spec_fingerprint"]) == now else None
