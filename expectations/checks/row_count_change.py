"""The answer's size: about as many keys as at the last audit."""

from __future__ import annotations

import numpy as np

from expectations.checks.check import GateCheck
from expectations.evidence import Array, Evidence, numbers
from shedding.spec.measure import MeasureSpec


class RowCountChange(GateCheck):
    """The number of keys of every window differs from a window's at the last audit by at most the limit, relatively."""

    key = "row_count_change"
    words = "change of the number of keys"
    sentence = "The number of keys differs from a window's at the last audit by at most $limit of it."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The relative change; nan where no audit came before."""
        prior = numbers(evidence.runs, "prior_keys")
        change = np.full(len(evidence.starts), np.nan)
        return np.asarray(np.divide(np.abs(evidence.keys - prior), prior, out=change, where=prior > 0))
