"""The kept windows of a slot that drops others: exact, from their own stretches; no other row is read."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shedding.answers.answer import top_keys
from shedding.answers.run_record import LegWindow
from shedding.answers.scores import measured
from shedding.answers.slot import SlotAnswer
from shedding.answers.whole_sums import refuse_rounded, whole_sums
from shedding.answers.whole_values import whole_values
from shedding.answers.window import exact_window
from shedding.ingest.side import Side
from shedding.panes.from_scan import Scanned
from shedding.panes.scans import Scans
from shedding.panes.windows import PaneRun, WindowSample
from shedding.planning.fingerprints import kept_fingerprint
from shedding.planning.slot_plan import SlotPlan
from shedding.spec.fingerprints import spec_fingerprint
from shedding.spec.query import QuerySpec
from shedding.spec.shed import EXACT
from shedding.stretches import Interval


def answer_kept(query: QuerySpec, plan: SlotPlan, side: Side, scans: Scans) -> SlotAnswer:
    """The answer of the plan's kept windows, the same bits as those of the slot computed without drops.

    One scan a stretch. Panes are cut per slot as the exact leg cuts them, so that sums are rounded in the same places.
    """
    stretches = list(plan.stretches)
    scanned = [scans.panes(side, query.measures, start, end, (), True) for start, end in stretches]
    rows = float(sum(part["rows"].to_numpy().sum() for part in scanned))
    run = _pane_run(query, plan.slot, pa.concat_tables(scanned))
    samples = {start: run.window(start, start + plan.size) for start in plan.kept}
    sums = whole_sums(side, query.measures)
    for sample in samples.values():
        refuse_rounded([sums], [sample])
    values: dict[int, dict[str, npt.NDArray[np.float64]]] = {}
    for stretch in stretches:
        values |= whole_values(query, side, scans, _windows_in(plan, stretch), run.keys)
    extra = _columns(query, plan, side, rows)
    windows = [_window(query, sample, values.get(start, {}), extra) for start, sample in samples.items()]
    read = {"rows_read": rows, "bytes_read": sum(side.bytes(start, end) for start, end in stretches)}
    shared = {"audited": True, "audit_reason": "policy exact", "total_rows": rows, "prior_slots": [], **read}
    shared["reason"] = f"{len(plan.kept)} of {len(plan.windows)} windows computed ({plan.reason})"
    return SlotAnswer(query, plan.slot, windows, shared, audited=True)


def _pane_run(query: QuerySpec, slot: int, scanned: pa.Table) -> PaneRun:
    """The panes of the slots that the windows reach into, laid out over one list of keys."""
    panes, length = [], query.timeline.slot
    for one in query.timeline.slots_needed(slot):
        start = scanned.column("pane_start")
        part = scanned.filter(pc.and_(pc.greater_equal(start, one), pc.less(start, one + length)))
        panes.append(Scanned(part, query.group_by, None).panes(None, query.measures, None))
    return PaneRun(panes, query.group_by)


def _windows_in(plan: SlotPlan, stretch: Interval) -> list[Interval]:
    """The kept windows that make up one stretch."""
    return [(start, start + plan.size) for start in plan.kept if stretch[0] <= start < stretch[1]]


def _window(
    query: QuerySpec, sample: WindowSample, values: dict[str, npt.NDArray[np.float64]], extra: dict[str, object]
) -> LegWindow:
    answer = exact_window(query, [query.measures], [sample], values)
    if query.top is not None:
        answer = answer.only(top_keys(answer, query.top))
    scores = {measure.name: measured(answer, answer, measure) for measure in query.measures}
    return LegWindow(EXACT, answer, scores, EXACT, extra)


def _columns(query: QuerySpec, plan: SlotPlan, side: Side, rows: float) -> dict[str, object]:
    return {
        "policy": EXACT, "published": True, "slot_rows": rows, "processed_rows": rows, "processed_fraction": 1.0,
        "budget_rows": rows, "exceeded_by": 0.0,
        "raw_fingerprint": kept_fingerprint([side], plan.stretches), "spec_fingerprint": spec_fingerprint(query, EXACT),
    }  # fmt: skip
