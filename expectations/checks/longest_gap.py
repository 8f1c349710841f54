"""No hole is longer than promised."""

from __future__ import annotations

import numpy as np

from expectations.checks.window_check import WindowCheck
from expectations.evidence import Array, Evidence
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec


class LongestGap(WindowCheck):
    """At most `shed.windows.batch` windows in a row are dropped, over this slot and those around it.

    The calendar keeps that by itself. It fails where a changed `batch` or `drop` meets slots that were planned before;
    a repair then fills the fewest windows.
    """

    key = "longest_gap"
    words = "dropped windows in a row"
    sentence = "At most $limit windows in a row are dropped."

    def limit_for(self, query: QuerySpec) -> float | None:
        """The batch; none for a query that drops only what others leave out."""
        drops = query.shed.windows
        return None if drops is None or drops.drop is None else float(drops.batch)

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """The longer run of dropped windows beside each kept one."""
        gaps = self.drops(evidence).gaps
        return np.array([float(gaps.get(int(start), 0)) for start in evidence.starts])
