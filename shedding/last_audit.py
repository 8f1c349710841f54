"""How an audit went: what lets the gate trust the slots after it that have no exact leg of their own.

An audited slot's run records how far its shed leg was from its exact one, in the gate's own terms and before any
repair. A slot after it takes that record where it is of the raw rows and the specification of now, and else answers
the audited slot itself, with the same code: what it learns is the same in every order of backfill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shedding.audit_drift import audit_plan
from shedding.config import Settings
from shedding.dependence import asks_the_last_audit, raw_fingerprint, spec_fingerprint
from shedding.ledger import LegWindow
from shedding.memory import EXACT
from shedding.scores import missing_keys
from shedding.sides import Side
from shedding.spec.query import QuerySpec
from shedding.tables import Table, slot_name

PARTS = ("mean_error", "p95_error", "worst_error", "coverage", "estimates")
TOP_MISSED = "audit_top_missed"


def trust_columns(
    settings: Settings,
    query: QuerySpec,
    sides: Sequence[Side],
    slot: int,
    windows: Sequence[LegWindow],
    answer_at: Callable[[int], Sequence[LegWindow]],
) -> dict[str, float | None]:
    """The columns `audit_...` and `prior_keys` of a slot's run rows: of its own audit, else of the last one.

    `answer_at` answers an audited slot; it is called only where no record of it holds. A query that sheds nothing
    needs no trust and has no such columns.
    """
    if query.shed.policy == EXACT:
        return {}
    plan = audit_plan(query, sides, slot)
    own = audit_columns(query, windows) if plan.is_audited(slot) else {}
    before = plan.priors(slot)[:1]
    if not before or not asks_the_last_audit(query, plan, slot):
        return own
    last = _recorded(settings, query, sides, before[0]) or audit_columns(query, answer_at(before[0]))
    return {**last, **own, "prior_keys": round(last["audit_keys"] or 0.0)}


def audit_columns(query: QuerySpec, windows: Sequence[LegWindow]) -> dict[str, float | None]:
    """Of an audited slot: the shed leg's errors as its gate sees them, the worst window of each; a missing key is 1.

    An error that nobody knows counts as infinite. `audit_estimates` are the intervals that count as independent,
    `audit_keys` the keys that a window publishes in the mean; a query with `top` also has how many keys of the true top
    it lacked.
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
        errors = [found for found in errors if found.size]
        scores = [window.scores[measure.name] for window in shed]
        estimates = sum(score.estimates for score in scores)
        values = (
            max((float(found.mean()) for found in errors), default=0.0),
            max((float(np.quantile(found, 0.95)) for found in errors), default=0.0),
            max((float(found.max()) for found in errors), default=0.0),
            sum(score.covered for score in scores) / estimates if estimates else None,
            float(estimates // overlap),
        )
        columns |= {f"{measure.name}_audit_{part}": value for part, value in zip(PARTS, values, strict=True)}
    return columns


def _published_keys(query: QuerySpec, window: LegWindow) -> int:
    """How many keys a window of the exact leg publishes: it shows all of them, also where the query has `top`."""
    shown = int(window.answer.shown.sum())
    return shown if query.top is None else min(shown, query.top.n)


def _errors(window: LegWindow, measure: str) -> np.ndarray:
    """The errors of the keys that are shown, an unknown one as infinite, and 1 for each key that is not."""
    present, shown = window.answer.present, window.answer.shown
    found = window.scores[measure].errors[shown]
    return np.concatenate([np.where(np.isnan(found), np.inf, found), np.ones((present & ~shown).sum())])


def _recorded(
    settings: Settings, query: QuerySpec, sides: Sequence[Side], audit: int
) -> dict[str, float | None] | None:
    """What the audited slot's own run recorded; None where it never ran, or of other rows or another specification."""
    runs, leg = Table(settings.table("runs", query.name)), query.shed.policy
    if not runs.exists():
        return None
    rows: list[dict[str, Any]] = runs.read([("slot", "=", slot_name(audit)), ("leg", "=", leg)]).to_pylist()
    names = ["audit_missing_keys", "audit_keys"] + ([TOP_MISSED] if query.top is not None else [])
    names += [f"{measure.name}_audit_{part}" for measure in query.measures for part in PARTS]
    if not rows or not rows[0]["audited"] or rows[0].get("audit_keys") is None or not set(names) <= set(rows[0]):
        return None
    now = raw_fingerprint(query, sides, audit, leg), spec_fingerprint(query, leg)
    if (rows[0]["raw_fingerprint"], rows[0]["spec_fingerprint"]) != now:
        return None
    return {name: rows[0][name] for name in names}
