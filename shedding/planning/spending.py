"""A slot's seconds: costs learnt at audits, rates allocated within them, and rounds that stop where they are spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from shedding.config import Settings
from shedding.load.rounds import PILOT, Rounds
from shedding.load.snapshots import BLOCK
from shedding.panes.scans import Scans
from shedding.planning.costs import UNKNOWN, CostModel, Costs, seconds_by_item
from shedding.planning.priors import Priors
from shedding.planning.reached import Reached, SecondsPlans
from shedding.rates import Rates
from shedding.spec.fingerprints import digest, panes_fingerprint
from shedding.spec.query import QuerySpec

_INSTANT = 1e-3
"""Seconds that a slot has even where the work of earlier ones leaves it none: its key's rows are not all dropped."""
RatesWithin = Callable[[float], Rates]
"""The rates of the published leg within so many forecast seconds."""


@dataclass
class Spending:
    """What a query that spends seconds knows and decides of its slots, each once.

    Guarantee: which rows a slot keeps is a function of its counts, the sketches that its plan names, and the factor
    that its plan has; whoever comes first measures, everybody else obeys.
    """

    settings: Settings
    query: QuerySpec
    scans: Scans
    run_id: str = ""
    costs: Costs = field(init=False)
    plans: SecondsPlans = field(init=False)
    _models: dict[int, CostModel] = field(init=False, default_factory=dict)
    _reached: dict[int, Reached] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.costs = Costs(self.settings, self.query)
        self.plans = SecondsPlans(self.settings, self.query, self.run_id, self.settings.cores)

    def model(self, priors: Priors, slot: int) -> CostModel:
        """What the slot's audits teach of costs; their exact panes are there."""
        if slot not in self._models:
            self._models[slot] = self.costs.model(priors.plan.priors(slot))
        return self._models[slot]

    def settled(self, priors: Priors, slot: int) -> Reached | None:
        """The slot's plan, where it has one that its specification and costs still agree with."""
        if slot not in self._reached:
            stored = self.plans.recorded(slot)
            if stored is None or stored.basis != self._basis(priors, slot):
                return None
            self._reached[slot] = stored
        return self._reached[slot]

    def reached(self, priors: Priors, slot: int, whole: float, within: RatesWithin) -> Reached:
        """How far the slot's seconds go; `whole` are the forecast seconds of all its rows."""
        found = self.settled(priors, slot)
        if found is None:
            model = self.model(priors, slot)
            found = self.plans.settle(
                slot,
                self._basis(priors, slot),
                model.digests,
                lambda seconds: self._run(priors, slot, self._rounds(model, max(seconds, _INSTANT), whole), within),
            )
            self._reached[slot] = found
        return found

    def _rounds(self, model: CostModel, seconds: float, whole: float) -> Rounds:
        """Where costs did not settle at the audits, the pilot is twice as long and the margin wider."""
        if not model.known:  # a block of rows, whatever they take, tells what the others will
            return Rounds(seconds, whole / seconds, pilot=min(PILOT, BLOCK * UNKNOWN / 1e9 / seconds))
        if model.stable:
            return Rounds(seconds, whole / seconds, model.margin)
        return Rounds(seconds, whole / seconds, model.margin + min(model.change, 1.0), 2 * PILOT)

    def _run(self, priors: Priors, slot: int, rounds: Rounds, within: RatesWithin) -> Rounds:
        """Round after round, until the budget has no room for the next one."""
        model = self.model(priors, slot)
        while rounds.whole > 0 and (factor := rounds.next()) is not None:
            calls: pa.Table = self.scans.spent(
                priors.side, self.query.timeline.slot_needed(slot), within(factor * rounds.seconds)
            )
            rounds.record(factor, *seconds_by_item(model, calls))
        return rounds

    def _basis(self, priors: Priors, slot: int) -> str:
        """Of what the slot's factor rests on: what the specification says of the leg, and the costs it plans by."""
        leg = self.query.shed.policy
        made_of = panes_fingerprint(self.query, priors.side.keyset, leg)
        return digest([made_of, self.model(priors, slot).digests])
