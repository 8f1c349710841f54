"""One slot of a pool: what its members keep of the rows comes from one pass, and each member's answer is its own.

Rates follow from the specified members (`planning.pool_budget`), so an answer has the same bits whether its member is
computed here or by itself, and whatever becomes of the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from shedding.answers.slot import SlotWork, answer_panes, exact_panes, pool_budget
from shedding.answers.slot_answer import SlotAnswer
from shedding.config import Settings
from shedding.ingest.side import Side
from shedding.panes.sampled_panes import Wanted
from shedding.panes.scans import Scans
from shedding.planning.drift_audits import AuditPlans, other_sides
from shedding.spec.pool import Pooled
from shedding.spec.shed import EXACT

_log = logging.getLogger(__name__)


class PoolSlot:
    """The work on one slot of a pool; its dataset is pinned in `side`, that of the first member."""

    def __init__(self, settings: Settings, pool: Pooled, slot: int, side: Side, scans: Scans) -> None:
        self.settings, self.pool, self.slot, self.scans = settings, pool, slot, scans
        queries = {query.name: query for query in pool.queries()}
        sides = {pool.names[0]: side, **other_sides(queries[pool.names[0]], side)}
        self.plans = {name: AuditPlans(query, [sides[name]]) for name, query in queries.items()}
        self.panes = {
            name: exact_panes(settings, query, [sides[name]], scans.of(query))[0] for name, query in queries.items()
        }
        sheds = pool.spec.shed.policy != EXACT
        self.budget = pool_budget(pool, self.plans[pool.names[0]], self.panes) if sheds else None
        self.union_rows: float | None = None

    def fetch(self) -> None:
        """Have what the members keep of the rows read in one pass, and count the rows that it kept for any of them.

        A member that cannot say what it wants, or a pass that fails, is no failure here: who is not served reads for
        itself when it is answered, and fails there alone if it must.
        """
        works = {name: self._work(name) for name in self.pool.names}
        slots = {at for work in works.values() for at in work.query.timeline.slots_needed(self.slot)}
        for at in sorted(slots):
            wanted: dict[str, Wanted] = {}
            for name, work in works.items():
                with _reads_for_itself(name):
                    demand = work.wanted(at)
                    wanted |= {} if demand is None or demand.ask.exact else {name: demand}
            if len(wanted) > 1:
                with _reads_for_itself(", ".join(wanted)):
                    self._read(at, works, wanted)

    def answer(self, name: str) -> SlotAnswer:
        """One member's answer."""
        plans, panes = self.plans[name], [self.panes[name]]
        made = answer_panes(self.settings, plans, self.slot, self._scans(name), panes, pool=self.budget)
        return replace(made, shared={**made.shared, "union_rows": self.union_rows})

    def _read(self, at: int, works: dict[str, SlotWork], wanted: dict[str, Wanted]) -> None:
        shared = self.scans.together([one.ask for one in wanted.values()])
        if shared is None:
            return
        if at == self.slot and set(wanted) == self._reading():
            self.union_rows = shared.kept_rows
        for (name, one), read in zip(wanted.items(), shared.reads, strict=True):
            with _reads_for_itself(name):
                works[name].sampled[0].fill(one, read)

    def _reading(self) -> set[str]:
        """The members that keep rows of the slot; the counts of arrival answer the others."""
        assert self.budget is not None
        return {one.name for one in self.pool.members if not self.budget.concept(one, self.slot).counted}

    def _work(self, name: str) -> SlotWork:
        return SlotWork(self.plans[name], self.slot, self._scans(name), [self.panes[name]], pool=self.budget)

    def _scans(self, name: str) -> Scans:
        return self.scans.of(self.plans[name].query)


@contextmanager
def _reads_for_itself(members: str) -> Iterator[None]:
    """Log what went wrong in the shared pass; the members read for themselves when they are answered."""
    try:
        yield
    except Exception:
        _log.warning("not served by the pool's pass, each reads for itself: %s", members, exc_info=True)
