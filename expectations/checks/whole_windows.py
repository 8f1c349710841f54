"""The windows that have rows are the plan's."""

from __future__ import annotations

import numpy as np

from expectations.checks.window_check import WindowCheck
from expectations.evidence import Array, Evidence, micros
from shedding.spec.measure import MeasureSpec


class WholeWindows(WindowCheck):
    """Every kept window that arrival counted rows of has an answer, and no other window has. Holds for all droppers."""

    key = "whole_windows"
    words = "kept windows without an answer, or answers of dropped ones:"
    sentence = "Every kept window with rows has an answer, and no dropped window has one."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many windows of the slot are wrong, the same for each: a window without rows has no line of its own."""
        drops = self.drops(evidence)
        answered, kept = set(micros(evidence.answer["window_start"]).tolist()), set(drops.plan.kept)
        counted = set() if drops.counted is None else set(drops.counted["window_start"].to_pylist())
        wrong = (answered - kept) | (kept & counted - answered)
        return np.full(len(evidence.starts), float(len(wrong)))
