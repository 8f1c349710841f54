"""The share of rows whose keys error limits leave out."""

from __future__ import annotations

import numpy as np

from expectations.checks.omitted import Omitted, by_window
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class OmittedRows(Omitted):
    """In every window the rows of keys that error limits leave out are at most this share of its rows."""

    key = "omitted_rows"
    words = "share of rows whose keys are left out by their error limits"
    sentence = "Keys that error limits leave out hold at most the share $limit of the rows of every window."
    repair_turn = 2

    def shares(self, evidence: Evidence, left: Array) -> Array:
        """Rows of keys left out over the window's rows."""
        own = np.zeros(0) if evidence.omitted is None else numbers(evidence.omitted, "population")
        gone, shown = by_window(evidence, own * left), numbers(evidence.answer, "population")
        kept = np.bincount(evidence.window, np.nan_to_num(shown), minlength=len(gone))
        every = kept + by_window(evidence, own)
        return np.asarray(np.divide(gone, every, out=np.zeros(len(gone)), where=every > 0))

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The share of each window."""
        return self.shares(evidence, np.ones(0 if evidence.omitted is None else evidence.omitted.num_rows, dtype=bool))
