"""The batch that Great Expectations validates: one row per window and measure, the columns those of the checks."""

from __future__ import annotations

import pandas as pd

from expectations.checks import limits_of
from expectations.evidence import Evidence
from shedding.spec.measure import MeasureSpec
from shedding.spec.times import format_instant


def summarise(evidence: Evidence) -> pd.DataFrame:
    """The slot's batch; windows that have no key and miss none are not in it, so an empty slot gives no row."""
    judged = (evidence.keys > 0) | (evidence.missing > 0)
    if not judged.any():
        return pd.DataFrame(columns=["window_start", "measure"])
    parts = [_of_measure(evidence, measure)[judged] for measure in evidence.query.measures]
    return pd.concat(parts, ignore_index=True)


def _of_measure(evidence: Evidence, measure: MeasureSpec) -> pd.DataFrame:
    columns = {
        "window_start": [format_instant(int(start)) for start in evidence.starts],
        "measure": measure.name,
        "keys": evidence.keys,
    }
    for check in limits_of(evidence.query):
        columns |= check.columns(evidence, measure)
    return pd.DataFrame(columns)
