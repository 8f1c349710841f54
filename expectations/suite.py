"""From a query's `gate:` block to its suite: which checks, with which limits, and how a failure counts."""

from __future__ import annotations

from typing import Any

import pandas as pd
from great_expectations.expectations import Expectation

from expectations.checks import Finding, GateCheck, limits_of
from expectations.evidence import Evidence
from expectations.sentences import SHAPES
from expectations.verdict import Check
from shedding.spec.gate import GateSpec

IDLE = "not judged: nothing to look at in this slot"


def build_suite(evidence: Evidence, batch: pd.DataFrame) -> list[Expectation]:
    """The suite of one run: what always holds, then what the `gate:` block states.

    A check without anything to look at (no prior for the drift, no estimate for the coverage) is in `not_judged`
    instead; an error that is unknown is not, its value is broken.
    """
    limits = limits_of(evidence.query)
    return [_expectation(check, limit, evidence, batch) for check, limit in limits.items() if check.judges(batch)]


def not_judged(evidence: Evidence, batch: pd.DataFrame) -> list[Check]:
    """The checks that apply to the query and had nothing to look at in this slot; the verdict has a row of each."""
    gate = evidence.query.gate
    return [
        Check(
            check.key, None, limit, severity(gate, check), True, check.kind(evidence), f"{check.words} {IDLE}"
        )
        for check, limit in limits_of(evidence.query).items()
        if len(batch) and not check.judges(batch)
    ]  # fmt: skip


def severity(gate: GateSpec, check: GateCheck) -> str:
    """Whether a failed check stops the slot or only warns."""
    return "warn" if check.key in gate.warn else "fail"


def _expectation(check: GateCheck, limit: float, evidence: Evidence, batch: pd.DataFrame) -> Expectation:
    level = severity(evidence.query.gate, check)
    expectation: Expectation = SHAPES[check.shape](
        severity="critical" if level == "fail" else "warning",
        meta=_meta(check, check.finding(evidence, batch, limit), level, check.kind(evidence)),
        **check.arguments(limit),
    )
    return expectation


def _meta(check: GateCheck, finding: Finding, level: str, kind: str) -> dict[str, Any]:
    return {
        "check": check.key,
        "sentence": check.sentence,
        "limit_shown": check.show(finding.limit),
        "limit": float(finding.limit),
        "observed": float(finding.observed),
        "estimate": finding.estimate,
        "level": level,
        "kind": kind,
        "detail": finding.text,
    }
