"""Keys that a window has once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence
from shedding.keys import align
from shedding.spec.gate import GateSpec
from shedding.spec.measure import MeasureSpec


class UniqueKeys(GateCheck):
    """No key occurs twice in a window. Always holds."""

    key = "unique_keys"
    words = "repeated keys"
    sentence = "No key occurs twice in a window."
    place = 2

    def limit(self, gate: GateSpec) -> float:
        """No key is published twice."""
        return 0.0

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many rows repeat a key."""
        repeats = repeated_rows(evidence.answer, evidence.query.group_by)
        return np.bincount(evidence.window, weights=repeats, minlength=len(evidence.starts))


def repeated_rows(rows: pa.Table, keys: list[str]) -> Array:
    """Which rows repeat an earlier row's window and key."""
    _, (number,) = align([rows], ["window_start", *keys])
    repeats = np.ones(len(number), dtype=bool)
    repeats[np.unique(number, return_index=True)[1]] = False
    return repeats
