"""How the last audit before a slot went: what lets the gate trust a slot that has no exact leg of its own.

Computed from the audited slot's panes, with intervals as they are published: calibrated, by the audits before that
one among those that the slot learns from. So it never judges intervals by what they were fitted to, it is a function
of the raw rows of the slot's own priors and theirs, and it is the same in every order of backfill.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shedding.keys import Keys
from shedding.learnt import Learnt
from shedding.memory import EXACT
from shedding.priors import Priors
from shedding.scores import Score, measured
from shedding.shrinkage import Calibration, merge_records
from shedding.spec.query import MeasureSpec
from shedding.whole_values import WHOLE
from shedding.window_answer import exact_window, shed_window


def last_audit_columns(
    sides: Sequence[Priors], by_side: Sequence[Sequence[MeasureSpec]], slot: int, leg: str, keys: Keys
) -> dict[str, float]:
    """Columns `<measure>_audit_...` of the slot's run rows; none where no audit came before.

    Errors are over all keys and blocks of the last audited slot, a missing key as 1. Measures whose exact values
    do not merge over panes have none.
    """
    query, audits = sides[0].query, sides[0].plan.priors(slot)
    if not audits:
        return {}
    learnt = [_learnt(priors, audits, leg, keys) for priors in sides] if query.estimates == "shrunk" else None
    measures = [[m for m in own if m.agg not in WHOLE] for own in by_side]
    judged = [m for m in query.measures if m.agg not in WHOLE]
    scores: dict[str, list[Score]] = {m.name: [] for m in judged}
    exact = zip(*(priors.blocks(audits[0], EXACT, keys) for priors in sides), strict=True)
    sampled = zip(*(priors.blocks(audits[0], leg, keys) for priors in sides), strict=True)
    for truths, samples in zip(exact, sampled, strict=True):
        truth = exact_window(query, measures, truths, {})
        answer = shed_window(query, measures, samples, learnt if samples[0].known else None)
        for measure in judged:
            scores[measure.name].append(measured(answer, truth, measure))
    columns: dict[str, float] = {}
    for name, found in scores.items():
        columns |= {f"{name}_audit_{part}": value for part, value in _summary(found).items()}
    return columns


def _learnt(priors: Priors, audits: Sequence[int], leg: str, keys: Keys) -> Learnt:
    timeline = priors.query.timeline
    histories, calibrations = priors.history(audits[0], keys), _calibrations(priors, audits[1:], leg, keys)
    return Learnt(histories, calibrations, min(1.0, timeline.slot / timeline.size))


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
