"""A kept window stands on all of its rows: those that arrival counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from expectations.checks.window_check import WindowCheck
from expectations.evidence import Array, Evidence, micros, numbers
from shedding.keys import align
from shedding.spec.measure import MeasureSpec


class CompleteRows(WindowCheck):
    """Every window and key has as many rows as arrival counted, and no counted key is absent.

    The counts were made by ingest, the answer by a scan: two witnesses of the same rows. Of a `top` only the keys that
    it shows are compared. Without counts there is nothing to look at.
    """

    key = "complete_rows"
    words = "keys with other rows than were counted at arrival:"
    sentence = "Every key of a kept window has the rows that were counted at arrival."

    def observe(self, evidence: Evidence, measure: MeasureSpec) -> Array:
        """How many keys of each window have other rows than arrival counted."""
        counted = self.drops(evidence).counted
        if counted is None:
            return np.full(len(evidence.starts), np.nan)
        keys, starts = evidence.query.group_by, micros(evidence.answer["window_start"])
        answer = evidence.answer.select(keys).append_column("window_start", pa.array(starts, pa.int64()))
        pairs, (here, there) = align([answer, counted], ["window_start", *keys])
        found, wanted = (np.zeros(len(pairs)) for _ in range(2))
        np.add.at(found, here, numbers(evidence.answer, "sampled_rows"))
        np.add.at(wanted, there, numbers(counted, "rows"))
        wrong = found != wanted
        if evidence.query.top is not None:
            wrong &= np.isin(np.arange(len(pairs)), here)
        window = pairs.columns[0].to_numpy()[wrong]
        return np.array([float((window == start).sum()) for start in evidence.starts])
