"""How the last audit before a slot went: what lets the gate trust a slot that has no exact leg of its own.

Computed from the audited slot's panes with the constants that hold before any calibration, so it is a function of
raw rows alone and the same in every order of backfill.
"""

from __future__ import annotations

import numpy as np

from shedding.answers import exact_answer, plain_answer
from shedding.keys import Keys
from shedding.learnt import Learnt, learnt_answer
from shedding.memory import EXACT
from shedding.priors import Priors
from shedding.scores import Score, measured
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
    learnt = Learnt(histories, {}, min(1.0, timeline.slot / timeline.size))
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
