"""The share of keys that error limits leave out."""

from __future__ import annotations

import numpy as np

from expectations.checks.omitted import Omitted, by_window
from expectations.evidence import Array, Evidence
from shedding.spec.measure import MeasureSpec


class OmittedKeys(Omitted):
    """In every window the keys that error limits leave out are at most this share of its keys."""

    key = "omitted_keys"
    words = "share of keys left out by their error limits"
    sentence = "Error limits leave out at most the share $limit of the keys of every window."
    repair_turn = 2

    def shares(self, evidence: Evidence, left: Array) -> Array:
        """Keys left out over all keys that the window knows of."""
        gone = by_window(evidence, left.astype(float))
        every = evidence.keys + by_window(evidence, np.ones(len(left)))
        return np.asarray(np.divide(gone, every, out=np.zeros(len(gone)), where=every > 0))

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The share of each window."""
        return self.shares(evidence, np.ones(0 if evidence.omitted is None else evidence.omitted.num_rows, dtype=bool))
