"""What a slot may learn from, so that any order of backfill gives the same rows.

The rule: the exact panes of the last J audited slots before the slot, by event time, and nothing else.
- Rates of a slot follow from its own arrival counts and these J audits (`history`), with no calibration.
- Interval widths and shrinkage are calibrated at audited slots (`calibrations`): there the published leg's
  sample, drawn at rates that follow from the J audits before *that* slot, is compared with its exact panes.
So a slot depends on raw rows of at most 2 J audited slots, and nothing recurses further.

The unit of history is a block (see `blocks`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import History
from shedding.ingest.side import Side
from shedding.keys import Keys
from shedding.measures import learnable
from shedding.panes.exact_panes import ExactSource
from shedding.panes.panes import Panes
from shedding.panes.windows import PaneRun, WindowSample
from shedding.planning.audit_plan import AuditPlan
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_blocks

Floats = npt.NDArray[np.float64]


class Priors:
    """The audits before a slot as histories, per measure and over keys of the caller's choice; of exact panes alone."""

    def __init__(self, query: QuerySpec, plan: AuditPlan, source: ExactSource) -> None:
        self.query, self.plan, self._source = query, plan, source

    @property
    def side(self) -> Side:
        """The side of the query that the history is of."""
        return self._source.side

    @property
    def measures(self) -> list[MeasureSpec]:
        """The measures that history is kept of."""
        return [m for m in self._source.measures if m.traits.estimated]

    @property
    def reads_rows(self) -> bool:
        """Whether some measure needs the side's rows, beyond their number."""
        return bool(self._source.measures)

    def load(self, slot: int) -> None:
        """See to it that the exact panes of the slot's priors are there, the oldest first."""
        audits = self.plan.priors(slot)
        self._source.fetch_exact(sorted(audits))
        for audit in reversed(audits):
            self._source.exact(audit)

    def keys(self, slot: int, depth: int = 1) -> list[Keys]:
        """The keys of the slot's priors, and with depth 2 of the priors' own."""
        audits = self.plan.priors(slot)
        found = [self._source.exact(audit).keys for audit in audits]
        if depth > 1:
            found += [keys for audit in audits for keys in self.keys(audit, depth - 1)]
        return found

    def history(self, slot: int, keys: Keys) -> dict[str, History]:
        """Each measure's history at the slot over `keys`, which hold all the priors' keys; none without values."""
        audits = self.plan.priors(slot)
        samples = [(age, sample) for age, audit in enumerate(audits) for sample in self.blocks(audit, keys)]
        ages = np.array([age for age, _ in samples], dtype=np.float64)
        found = {m.name: measure_history(m, [sample for _, sample in samples], ages) for m in self.measures if samples}
        return {name: history for name, history in found.items() if history.seen.any()}

    def blocks(self, audit: int, keys: Keys) -> list[WindowSample]:
        """The exact blocks of an audited slot, newest first."""
        return blocks_of(self.query, self._source.exact(audit), audit, keys)

    def slot(self, slot: int, keys: Keys) -> WindowSample:
        """A slot as one window, exactly."""
        return PaneRun([self._source.exact(slot)], keys.names, [keys]).window(slot, slot + self.query.timeline.slot)


def blocks_of(query: QuerySpec, panes: Panes, slot: int, keys: Keys) -> list[WindowSample]:
    """The blocks of a slot from the panes of some leg, newest first."""
    run = PaneRun([panes], keys.names, [keys])
    return [run.window(*block) for block in reversed(slot_blocks(query.timeline, slot))]


def measure_history(measure: MeasureSpec, samples: Sequence[WindowSample], ages: Floats) -> History:
    """The measure's history from the exact blocks of its audits, newest first."""
    parts = [learnable(measure).row_moments(sample.measures[measure.name]) for sample in samples]
    stacked = Moments(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("count", "mean", "m2")))
    return History.of(stacked, ages, near_zero=measure.near_zero)


def expected_rows(priors: Priors, slot: int, keys: Keys) -> tuple[Floats, float]:
    """Rows each key is expected to have in a slot, where nobody counted, and the share expected of unknown keys.

    Decayed mean over the audits (.9 per audit); the unknown share is what the newest audit had of keys that the
    older ones lacked, a tenth where there is but one audit, all where there is none.
    """
    audits = priors.plan.priors(slot)
    counts = [priors.slot(audit, keys).rows for audit in audits]
    if not counts or not sum(count.sum() for count in counts):
        return np.zeros(len(keys)), 1.0
    weight = 0.9 ** np.arange(len(counts))
    expected = np.asarray(weight @ np.stack(counts) / weight.sum())
    if len(counts) == 1 or not counts[0].sum():
        return expected, 0.1
    older = np.sum(counts[1:], axis=0) > 0
    return expected, float(counts[0][~older].sum() / counts[0].sum())
