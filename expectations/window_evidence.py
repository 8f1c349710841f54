"""What the gate knows of a slot that drops windows, beside its answer: plans, its neighbours' too, and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from shedding.config import Settings
from shedding.dropping.gaps import gaps_beside
from shedding.planning.arrival_counts import counted_windows
from shedding.planning.slot_plan import SlotPlan, around, standing
from shedding.spec.query import QuerySpec


@dataclass(frozen=True)
class WindowEvidence:
    """The slot's plan, the rows counted at arrival by window and key (None: nobody counted), and the holes beside.

    `gaps` has for each kept window the longer run of dropped windows beside it, over the slots around.
    """

    plan: SlotPlan
    counted: pa.Table | None
    gaps: Mapping[int, int]


def window_evidence(settings: Settings, query: QuerySpec, slot: int, version: int | None) -> WindowEvidence | None:
    """None for a query that drops no windows; `version` of the arrivals log is the one that the answer was made of."""
    if not query.drops_windows:
        return None
    plan = standing(settings, query, slot)
    windows, kept = around(settings, query, plan)
    return WindowEvidence(plan, counted_windows(settings, query, plan, version), gaps_beside(windows, kept))
