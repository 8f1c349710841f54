"""The keys that a window's answer leaves out, since they are planned to be more wrong than their owner tolerates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.arrays import quotient
from shedding.keys import Keys, align
from shedding.panes.panes import MICROS
from shedding.panes.windows import WindowSample
from shedding.planning.error_limits import PlannedErrors
from shedding.planning.planner import Planner
from shedding.spec.timeline import slot_name

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
OMITTED = "omitted"
"""The name under which `results/<query>` keeps what a slot's published leg leaves out."""


@dataclass(frozen=True, slots=True)
class Omissions:
    """Over a window's keys: which are left out, by which measure, the planned error of it, its limit, rows needed."""

    omitted: Flags
    measure: npt.NDArray[np.str_]
    error: Floats
    limit: Floats
    needed: Floats

    def rows(self, slot: int, sample: WindowSample) -> pa.Table:
        """The rows of `omitted/<query>`, keys sorted."""
        at = np.flatnonzero(self.omitted)
        size, error, limit = len(at), self.error[at], self.limit[at]
        told = zip(self.measure[at], error, limit, strict=True)
        reasons = [f"{name}: planned error {planned:.3g} is above {most:.3g}" for name, planned, most in told]
        return pa.table({
            "slot": pa.array([slot_name(slot)] * size, pa.string()),
            "leg": pa.array([OMITTED] * size, pa.string()),
            "window_start": pa.array([sample.start] * size, MICROS),
            "window_end": pa.array([sample.end] * size, MICROS),
            **sample.keys.take(at),
            "population": pa.array(sample.rows[at], pa.float64()),
            "planned_error": pa.array(error, pa.float64()),
            "error_limit": pa.array(limit, pa.float64()),
            "rows_needed": pa.array(np.ceil(self.needed[at] - 1e-6), pa.float64()),
            "reason": pa.array(reasons, pa.string()),
        })  # fmt: skip


class SlotLimits:
    """What the windows of one slot and leg leave out; `slots` are those that its windows reach into, oldest first."""

    def __init__(self, planner: Planner, slots: Sequence[int], leg: str, keys: Keys) -> None:
        self._shares = np.stack([planner.shares(slot, leg).of(keys) for slot in slots])
        self._planned = _over_keys(planner, slots, keys)

    def window(self, sample: WindowSample) -> Omissions | None:
        """The omissions of a window; None where nothing has a limit.

        Planned from all slots that the window reaches into, each with its rows and rates: n = N^2 / sum(N_s / r_s) rows
        of one rate would be as good.
        """
        if self._planned is None:
            return None
        rows = sample.rows
        shares = np.where(sample.population > 0, self._shares, 1.0)
        whole = (shares >= 1.0).all(axis=0)
        with np.errstate(divide="ignore"):
            alike = quotient(rows**2, (sample.population / shares).sum(axis=0), 0.0)
        widths = self._planned.half_widths(rows, np.where(whole, rows, alike))
        over = self._planned.over(widths)
        worst = over.argmax(axis=1)
        each = np.arange(len(rows))
        needed = self._planned.needed(np.maximum(rows, 1.0))
        return Omissions(
            omitted=(rows > 0) & (over[each, worst] > 1),
            measure=np.array(self._planned.measures)[worst],
            error=widths[each, worst],
            limit=self._planned.limits[each, worst],
            needed=np.minimum(needed, rows),
        )


def _over_keys(planner: Planner, slots: Sequence[int], keys: Keys) -> PlannedErrors | None:
    """What is planned of each of `keys` by the newest of the slots that has it."""
    place, offset, parts = np.full(len(keys), -1), 0, []
    for slot in slots:
        planned, concept = planner.planned(slot), planner.concept(slot)
        size = len(concept.concept)
        if planned is None or not size:
            continue
        own = align([concept.keys.table(), keys.table()], keys.names)[1][0] if keys.names else np.zeros(1, np.int64)
        place[own] = offset + np.arange(size)
        offset += size
        parts.append(planned)
    if not parts:
        return None
    return PlannedErrors.stacked(parts).take(np.maximum(place, 0))
