"""How far samples were from the truth at the audits before a slot: what interval widths and shrinkage are set by."""

from __future__ import annotations

import numpy as np

from shedding.estimates.shrinkage import AuditRecord, Calibration, History, calibrate, merge_records
from shedding.keys import Keys
from shedding.measures import learnable, value_rates
from shedding.panes.sampled_panes import SampleSource
from shedding.panes.windows import WindowSample
from shedding.planning.priors import Priors, blocks_of
from shedding.spec.measure import MeasureSpec
from shedding.spec.shed import EXACT


class Calibrations:
    """The audits before a slot, each a leg's sample beside the exact panes of the same slot."""

    def __init__(self, priors: Priors, source: SampleSource) -> None:
        self._priors, self._source = priors, source
        self._records: dict[tuple[int, str], dict[str, list[AuditRecord]]] = {}
        self._records_keys: Keys | None = None

    def load(self, slot: int, leg: str) -> None:
        """See to it that the slot's audits are there, exact and sampled, one scan for both; the oldest first."""
        plan, legs = self._priors.plan, [EXACT, leg]
        audits = plan.priors(slot)
        older = [prior for audit in audits for prior in plan.priors(audit)]
        self._source.fetch(sorted({*audits, *older}), legs)
        for audit in reversed(audits):  # its exact panes are the next one's prior
            self._source.legs(audit, legs)

    def calibration(self, slot: int, leg: str, keys: Keys) -> dict[str, Calibration]:
        """Each measure's calibration, merged over the slot's audits that had a history of their own."""
        found = [self.records(audit, leg, keys) for audit in self._priors.plan.priors(slot)]
        return {m.name: merge_records([r for records in found for r in records[m.name]]) for m in self._priors.measures}

    def forget(self) -> None:
        """Let go of what audits taught key by key, once it is merged."""
        self._records = {}

    def records(self, audit: int, leg: str, keys: Keys) -> dict[str, list[AuditRecord]]:
        """What an audited slot teaches of a leg, per measure and block; made once for one list of keys."""
        if self._records_keys is not keys:
            self._records, self._records_keys = {}, keys
        if (audit, leg) not in self._records:
            self._records[audit, leg] = self._audit(audit, leg, keys)
        return self._records[audit, leg]

    def _audit(self, audit: int, leg: str, keys: Keys) -> dict[str, list[AuditRecord]]:
        measures, priors = self._priors.measures, self._priors
        records: dict[str, list[AuditRecord]] = {m.name: [] for m in measures}
        history = priors.history(audit, keys)
        sampled = blocks_of(priors.query, self._source.legs(audit, [leg])[leg], audit, keys)
        for exact, sample in zip(priors.blocks(audit, keys), sampled, strict=True):
            for measure in (m for m in measures if m.name in history):
                record = block_record(history[measure.name], exact, sample, measure, audit)
                if record is not None:
                    records[measure.name].append(record)
        return records


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
