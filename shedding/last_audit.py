"""How the last audit before a slot went: what lets the gate trust a slot that has no exact leg of its own.

Computed from the audited slot's panes, with intervals as they are published: calibrated, by the audits before that
one among those that the slot learns from. So it never judges intervals by what they were fitted to, it is a function
of the raw rows of the slot's own priors and theirs, and it is the same in every order of backfill.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shedding.answers import exact_answer, plain_answer
from shedding.keys import Keys
from shedding.learnt import Learnt, learnt_answer
from shedding.memory import EXACT
from shedding.priors import Priors
from shedding.scores import Score, measured
from shedding.shrinkage import Calibration, merge_records
from shedding.whole_values import WHOLE


def last_audit_columns(priors: Priors, slot: int, leg: str, keys: Keys) -> dict[str, float]:
    """Columns `<measure>_audit_...` of the slot's run rows; none where no audit came before.

    Errors are over all keys and blocks of the last audited slot, a missing key as 1. Measures whose exact values
    do not merge over panes have none.
    """
    audits = priors.plan.priors(slot)
    if not audits:
        return {}
    query, audit = priors.query, audits[0]
    timeline = query.timeline
    histories = priors.history(audit, keys) if query.estimates == "shrunk" else {}
    learnt = Learnt(histories, _calibrations(priors, audits[1:], leg, keys), min(1.0, timeline.slot / timeline.size))
    measures = [m for m in query.measures if m.agg not in WHOLE]
    scores: dict[str, list[Score]] = {m.name: [] for m in measures}
    for exact, sample in zip(priors.blocks(audit, EXACT, keys), priors.blocks(audit, leg, keys), strict=True):
        truth = exact_answer(exact, measures, {})
        shrunk = query.estimates == "shrunk" and sample.known
        answer = learnt_answer(sample, measures, learnt) if shrunk else plain_answer(sample, measures)
        for measure in measures:
            scores[measure.name].append(measured(answer, truth, measure))
    columns: dict[str, float] = {}
    for name, found in scores.items():
        columns |= {f"{name}_audit_{part}": value for part, value in _summary(found).items()}
    return columns


def _calibrations(priors: Priors, audits: Sequence[int], leg: str, keys: Keys) -> dict[str, Calibration]:
    """What the older audits teach of the leg's intervals; the constants that need no audit where there are none."""
    found = [priors.records(audit, leg, keys) for audit in audits]
    return {m.name: merge_records([one for records in found for one in records[m.name]]) for m in priors.measures}


def _summary(scores: list[Score]) -> dict[str, float]:
    every = np.concatenate([score.every for score in scores] or [np.zeros(0)])
    if not every.size:
        return {}
    estimates = sum(score.estimates for score in scores)
    columns = {
        "mean_error": float(every.mean()),
        "p95_error": float(np.quantile(every, 0.95)),
        "worst_error": float(every.max()),
        "estimates": float(estimates),
    }
    if estimates:
        columns["coverage"] = sum(score.covered for score in scores) / estimates
    return columns
