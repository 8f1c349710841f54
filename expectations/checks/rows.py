"""The answer's size: some rows at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from expectations.checks.check import Finding, GateCheck
from expectations.evidence import Array, Evidence
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec


class SomeRows(GateCheck):
    """The slot has an answer. First in every suite: an empty batch passes every other check."""

    key = "rows"
    words = "rows"
    sentence = "At least $limit of the slot's windows and measures have rows."
    shape = "row_count"
    place = 0

    def limit(self, gate: GateSpec) -> float:
        """None where empty slots are allowed, else one."""
        return 0.0 if gate.allow_empty else 1.0

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """Nothing of its own: the batch has a row for every window that is judged."""
        return np.ones(len(evidence.starts))

    def judges(self, batch: pd.DataFrame) -> bool:
        """Always: it is there for the empty batch."""
        return True

    def finding(self, evidence: Evidence, batch: pd.DataFrame, limit: float) -> Finding:
        """The number of rows of the batch."""
        return Finding(len(batch), limit, f"{len(batch)} windows and measures have rows, at least {limit:g} wanted")

    def arguments(self, limit: float) -> dict[str, Any]:
        """The least number of rows."""
        return {"min_value": int(limit)}
