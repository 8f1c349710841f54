"""What a slot may learn from, so that any order of backfill gives the same rows.

The rule: the exact panes of the last J audited slots before the slot, by event time, and nothing else.
- Rates of a slot follow from its own arrival counts and these J audits (`history`), with no calibration.
- Interval widths and shrinkage are calibrated at audited slots (`calibration`): there the published leg's
  sample, drawn at rates that follow from the J audits before *that* slot, is compared with its exact panes.
So a slot depends on raw rows of at most 2 J audited slots, and nothing recurses further.

The unit of history is a block (see `blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import AuditRecord, Calibration, History, calibrate, merge_records
from shedding.keys import Keys
from shedding.measures import learnable, value_rates
from shedding.panes.memory import EXACT, PaneSource
from shedding.panes.windows import PaneRun, WindowSample
from shedding.planning.audit_plan import AuditPlan
from shedding.spec.query import MeasureSpec, QuerySpec
from shedding.spec.timeline import slot_blocks

Floats = npt.NDArray[np.float64]


class Priors:
    """The audits before a slot as histories and calibrations, per measure and over keys of the caller's choice."""

    def __init__(self, query: QuerySpec, plan: AuditPlan, memory: PaneSource) -> None:
        self.query, self.plan, self.memory = query, plan, memory
        self._records: dict[tuple[int, str], dict[str, list[AuditRecord]]] = {}
        self._records_keys: Keys | None = None

    @property
    def measures(self) -> list[MeasureSpec]:
        """The measures that history is kept of."""
        return [m for m in self.memory.measures if m.traits.estimated]

    def load(self, slot: int, leg: str | None) -> None:
        """See to it that the slot's priors are there: exact panes, and a leg's sample where it is calibrated."""
        audits = self.plan.priors(slot)
        legs = [EXACT] if leg is None else [EXACT, leg]
        older = [a for audit in audits for a in self.plan.priors(audit)] if leg is not None else []
        self.memory.fetch(sorted({*audits, *older}), legs)
        for audit in reversed(audits):  # oldest first: its exact panes are the next one's prior
            self.memory.legs(audit, legs)

    def keys(self, slot: int, depth: int = 1) -> list[Keys]:
        """The keys of the slot's priors, and with depth 2 of the priors' own."""
        audits = self.plan.priors(slot)
        found = [self.memory.panes(audit, EXACT).keys for audit in audits]
        if depth > 1:
            found += [keys for audit in audits for keys in self.keys(audit, depth - 1)]
        return found

    def history(self, slot: int, keys: Keys) -> dict[str, History]:
        """Each measure's history at the slot over `keys`, which hold all the priors' keys; none without values."""
        audits = self.plan.priors(slot)
        samples = [(age, sample) for age, audit in enumerate(audits) for sample in self.blocks(audit, EXACT, keys)]
        ages = np.array([age for age, _ in samples], dtype=np.float64)
        found = {m.name: measure_history(m, [sample for _, sample in samples], ages) for m in self.measures if samples}
        return {name: history for name, history in found.items() if history.seen.any()}

    def calibration(self, slot: int, leg: str, keys: Keys) -> dict[str, Calibration]:
        """Each measure's calibration, merged over the slot's audits that had a history of their own."""
        found = [self.records(audit, leg, keys) for audit in self.plan.priors(slot)]
        return {m.name: merge_records([r for records in found for r in records[m.name]]) for m in self.measures}

    def records(self, audit: int, leg: str, keys: Keys) -> dict[str, list[AuditRecord]]:
        """What an audited slot teaches of a leg, per measure and block; made once for one list of keys."""
        if self._records_keys is not keys:
            self._records, self._records_keys = {}, keys
        if (audit, leg) not in self._records:
            self._records[audit, leg] = self._audit(audit, leg, keys)
        return self._records[audit, leg]

    def _audit(self, audit: int, leg: str, keys: Keys) -> dict[str, list[AuditRecord]]:
        records: dict[str, list[AuditRecord]] = {m.name: [] for m in self.measures}
        history = self.history(audit, keys)
        for exact, sample in zip(self.blocks(audit, EXACT, keys), self.blocks(audit, leg, keys), strict=True):
            for measure in (m for m in self.measures if m.name in history):
                record = block_record(history[measure.name], exact, sample, measure, audit)
                if record is not None:
                    records[measure.name].append(record)
        return records

    def blocks(self, audit: int, leg: str, keys: Keys) -> list[WindowSample]:
        """The blocks of an audited slot, newest first."""
        run = PaneRun([self.memory.panes(audit, leg)], keys.names, [keys])
        return [run.window(*block) for block in reversed(slot_blocks(self.query.timeline, audit))]


def measure_history(measure: MeasureSpec, samples: Sequence[WindowSample], ages: Floats) -> History:
    """The measure's history from the exact blocks of its audits, newest first."""
    parts = [learnable(measure).row_moments(sample.measures[measure.name]) for sample in samples]
    stacked = Moments(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "mean", "m2")))
    return History.of(stacked, ages, near_zero=measure.near_zero)


def block_record(
    history: History, exact: WindowSample, sample: WindowSample, measure: MeasureSpec, slot: int
) -> AuditRecord | None:
    """What one block teaches; nothing where no key had a row left out."""
    learnt = learnable(measure)
    truth, drawn = learnt.row_moments(learnt.stat(exact)), learnt.stat(sample)
    if not truth.count.any():
        return None
    population = learnt.value_rows(sample) if sample.known else np.maximum(truth.count, drawn.moments.count)
    seen = learnt.sampled_rows(drawn, population, value_rates(sample, drawn))
    value = np.where(truth.count[0] > 0, truth.mean[0], np.nan)
    return calibrate(history, value, seen, slot)


def expected_rows(priors: Priors, slot: int, keys: Keys) -> tuple[Floats, float]:
    """Rows each key is expected to have in a slot, where nobody counted, and the share expected of unknown keys.

    Decayed mean over the audits (.9 per audit); the unknown share is what the newest audit had of keys that the
    older ones lacked, a tenth where there is but one audit, all where there is none.
    """
    audits = priors.plan.priors(slot)
    counts = [_slot_rows(priors, audit, keys) for audit in audits]
    if not counts or not sum(count.sum() for count in counts):
        return np.zeros(len(keys)), 1.0
    weight = 0.9 ** np.arange(len(counts))
    expected = np.asarray(weight @ np.stack(counts) / weight.sum())
    if len(counts) == 1 or not counts[0].sum():
        return expected, 0.1
    older = np.sum(counts[1:], axis=0) > 0
    return expected, float(counts[0][~older].sum() / counts[0].sum())


def _slot_rows(priors: Priors, audit: int, keys: Keys) -> Floats:
    run = PaneRun([priors.memory.panes(audit, EXACT)], keys.names, [keys])
    return run.window(audit, audit + priors.query.timeline.slot).rows
