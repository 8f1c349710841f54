"""From a query's `gate:` block to its suite: which checks, with which limits, and how a failure counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from great_expectations.expectations import Expectation

from expectations.checks.audit import ExpectFreshAudit, ExpectLastAuditPassed
from expectations.checks.coverage import ExpectIntervalsToCover
from expectations.checks.drift import ExpectLittleDrift
from expectations.checks.mean_error import ExpectMeanErrorWithinBudget
from expectations.checks.missing_keys import ExpectFewMissingKeys
from expectations.checks.p95_error import ExpectP95ErrorWithinBudget
from expectations.checks.processed_over_budget import ExpectProcessedWithinBudget
from expectations.checks.row_count import ExpectKeysLikePrior, ExpectSomeRows
from expectations.checks.top_missed import ExpectTopKeys
from expectations.checks.values import ExpectKeysOnce, ExpectWholeValues
from expectations.checks.worst_error import ExpectWorstKeyWithinBudget
from expectations.evidence import Evidence
from expectations.verdict import Check
from shedding.spec.query import GateSpec

ALWAYS: dict[type[Any], float] = {ExpectWholeValues: 0, ExpectKeysOnce: 0, ExpectLastAuditPassed: 1}
"""Checks that no `gate:` block can leave out, and their limits."""

STATED: tuple[type[Any], ...] = (
    ExpectMeanErrorWithinBudget,
    ExpectP95ErrorWithinBudget,
    ExpectWorstKeyWithinBudget,
    ExpectFewMissingKeys,
    ExpectTopKeys,
    ExpectIntervalsToCover,
    ExpectProcessedWithinBudget,
    ExpectLittleDrift,
    ExpectKeysLikePrior,
    ExpectFreshAudit,
)
"""Checks whose limit is the key of the same name in `gate:`; none there, none judged."""

IDLE = "not judged: nothing to look at in this slot"
BOUNDED = frozenset({"mean_relative_error", "p95_relative_error", "worst_relative_error"})
ERRORS = BOUNDED | {"missing_keys"}
MEASURED = frozenset({"coverage", "top_missed"})
"""Checks that only an exact leg has something to look at for."""


@dataclass(frozen=True)
class Finding:
    """What a check looks at: the extreme value, where it is, and how many windows and measures are over."""

    observed: float
    limit: float
    text: str
    estimate: float | None = None


def build_suite(evidence: Evidence, frame: pd.DataFrame) -> list[Expectation]:
    """The suite of one run: the row count first, then what always holds, then what the `gate:` block states.

    A check without anything to look at (no prior for the drift, no estimate for the coverage) is in `not_judged`
    instead; an error that is unknown is not, it fails `values`.
    """
    gate = evidence.query.gate
    least = 0 if gate.allow_empty else 1
    rows = Finding(len(frame), least, f"{len(frame)} windows and measures have rows, at least {least} wanted")
    suite = [ExpectSomeRows(min_value=least, severity="critical", meta=_meta("rows", rows, "fail", "structural"))]
    if not len(frame):
        return suite
    suite += [
        _expectation(kind, limit, evidence, frame)
        for kind, limit in _limits(gate).items()
        if not frame[_column(kind)].isna().all()
    ]
    return suite


def not_judged(evidence: Evidence, frame: pd.DataFrame) -> list[Check]:
    """The checks that apply to the query and found nothing to look at in this slot; the verdict has a row of each."""
    gate = evidence.query.gate
    return [
        Check(
            kind.check, None, limit, severity(gate, kind.check), True, _judged(kind, evidence), f"{kind.words} {IDLE}"
        )
        for kind, limit in _limits(gate).items()
        if len(frame) and frame[_column(kind)].isna().all()
    ]


def severity(gate: GateSpec, check: str) -> str:
    """Whether a failed check stops the slot or only warns."""
    return "warn" if check in gate.warn else "fail"


def _limits(gate: GateSpec) -> dict[type[Any], float]:
    """Every check that applies, with its limit."""
    stated = {kind: getattr(gate, kind.check) for kind in STATED}
    return ALWAYS | {kind: float(limit) for kind, limit in stated.items() if limit is not None}


def _column(kind: type[Any]) -> str:
    return "coverage" if kind is ExpectIntervalsToCover else str(kind.__fields__["column"].default)


def _judged(kind: type[Any], evidence: Evidence) -> str:
    """Whether what the check looks at is measured, estimated, or no error at all."""
    if kind.check in MEASURED:
        return "measured"
    return evidence.kind if kind.check in ERRORS else "structural"


def _expectation(kind: type[Any], limit: float, evidence: Evidence, frame: pd.DataFrame) -> Expectation:
    pair = kind is ExpectIntervalsToCover
    level = severity(evidence.query.gate, kind.check)
    finding = _coverage_finding(frame, limit) if pair else _finding(kind, frame, _column(kind), limit)
    if kind.check in BOUNDED and evidence.kind == "estimated":
        finding = _bound_finding(kind, frame, limit, evidence.query.gate.risk)
    bound = {} if pair else {"max_value": limit}
    gx_level = "critical" if level == "fail" else "warning"
    made: Expectation = kind(
        severity=gx_level, meta=_meta(kind.check, finding, level, _judged(kind, evidence)), **bound
    )
    return made


def _finding(kind: type[Any], frame: pd.DataFrame, column: str, limit: float) -> Finding:
    values = frame[column].to_numpy(dtype=float)
    index = int(np.nanargmax(values))
    over = int((values > limit).sum())
    text = f"{kind.words} {kind.show(values[index])}, limit {kind.show(limit)}"
    if over:
        where = f"{frame['measure'].iat[index]}, window from {frame['window_start'].iat[index]}"
        text += f" ({where}; over the limit in {over} of {len(values)} windows and measures)"
    return Finding(float(values[index]), limit, text)


def _bound_finding(kind: type[Any], frame: pd.DataFrame, limit: float, risk: float) -> Finding:
    """The largest bound, what was estimated there, and which evidence the bound rests on."""
    found = _finding(kind, frame, _column(kind), limit)
    index = int(np.nanargmax(frame[_column(kind)].to_numpy(dtype=float)))
    estimate = float(frame[kind.check.removesuffix("_relative_error") + "_estimate"].iat[index])
    how = f"bound at risk {risk:g} by {frame['decided_by'].iat[index]}, estimate {kind.show(estimate)}"
    return Finding(found.observed, limit, f"{found.text} [{how}]", estimate)


def _coverage_finding(frame: pd.DataFrame, limit: float) -> Finding:
    """The measure with the least margin; its limit is the spec's, less what chance explains."""
    measures = frame.drop_duplicates("measure").dropna(subset=["coverage"])
    index = int((measures["coverage"] - measures["coverage_floor"]).to_numpy().argmin())
    covered, floor = (float(measures[name].to_numpy()[index]) for name in ("coverage", "coverage_floor"))
    measure = measures["measure"].iat[index]
    return Finding(
        covered, floor, f"interval coverage {covered:.4g} of {measure}, limit {limit:g} (less chance: {floor:.4g})"
    )


def _meta(check: str, finding: Finding, level: str, kind: str) -> dict[str, Any]:
    return {
        "check": check,
        "limit": float(finding.limit),
        "observed": float(finding.observed),
        "estimate": finding.estimate,
        "level": level,
        "kind": kind,
        "seen": finding.text,
    }
