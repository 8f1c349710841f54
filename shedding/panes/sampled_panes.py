"""Sampled panes: a function of raw rows and of rates, which themselves follow from exact panes of earlier slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from shedding.panes.exact_panes import ExactPanes
from shedding.panes.memory import Demand, Prints
from shedding.panes.panes import Panes
from shedding.rates import Rates
from shedding.scan.ask import Ask
from shedding.scan.read import Read
from shedding.spec.fingerprints import panes_fingerprint
from shedding.spec.shed import EXACT
from shedding.stretches import Stretches


class SlotRates(Protocol):
    """The rates of one side's legs in every slot."""

    def rates(self, slot: int, leg: str) -> Rates:
        """The rates that the leg's rows of the slot are sampled at."""

    def fingerprint(self, slot: int) -> str:
        """Of all the raw rows that the slot's rates are a function of, and of those that are sampled."""

    def budget(self, slot: int) -> float | None:
        """The rows that no leg may exceed, where rates are of keys that nobody counted; None where they were."""


class SampleSource(Protocol):
    """Where the panes of any leg come from: a memory, or an experiment that keeps its panes to itself."""

    def legs(self, slot: int, legs: Sequence[str]) -> dict[str, Panes]:
        """The panes of several legs of a slot, the exact one possibly among them."""

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """A hint that these will be wanted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Legs of a slot that are missing, and what is asked of the raw rows for them."""

    demand: Demand
    ask: Ask


class SampledPanes:
    """The panes of all legs of one side; what is missing of a slot, the exact leg among it, comes from one scan."""

    def __init__(self, exact: ExactPanes, rates: SlotRates) -> None:
        self._exact, self._memory, self._rates = exact, exact.memory, rates

    def panes(self, slot: int, leg: str) -> Panes:
        """The panes of one slot and leg."""
        return self.legs(slot, [leg])[leg]

    def legs(self, slot: int, legs: Sequence[str], within: Stretches | None = None) -> dict[str, Panes]:
        """The panes of several legs of a slot: all that windows need, or those of the stretches among them."""
        self.fetch([slot], legs)
        demand = self._memory.missing(slot, legs, within)
        if demand is not None:
            self._compute(demand)
        return self._memory.legs(slot, legs, within)

    def wanted(self, slot: int, legs: Sequence[str], within: Stretches | None = None) -> Wanted | None:
        """What a scan would be asked for the legs of a slot; None where all is there, or needs no row."""
        self.fetch([slot], legs)
        demand, scan = self._memory.missing(slot, legs, within), self._exact.scan
        if demand is None or not scan.has_rows(self._memory.query.timeline.slot_needed(slot)):
            return None
        if self._rates.budget(slot) is not None:  # samples that are thinned until they fit are scanned alone
            return None
        rates = [self._rates.rates(slot, leg) for leg in demand.legs if leg != EXACT]
        ask = scan.ask(demand.stretches, rates, exact=EXACT in demand.legs)
        return None if scan.is_silent(ask) else Wanted(demand, ask)

    def fill(self, wanted: Wanted, read: Read) -> None:
        """Remember what a scan found for what was wanted."""
        panes = self._exact.scan.laid_out(wanted.demand.slot, wanted.ask, read)
        self._memory.fill(wanted.demand, panes, self._prints)

    def fetch(self, slots: Sequence[int], legs: Sequence[str]) -> None:
        """Read what is fresh of these slots and legs in one go."""
        self._memory.fetch(slots, legs, self._prints)

    def _compute(self, demand: Demand) -> None:
        scan, shed = self._exact.scan, [leg for leg in demand.legs if leg != EXACT]
        if scan.has_rows(self._memory.query.timeline.slot_needed(demand.slot)):
            rates = [self._rates.rates(demand.slot, leg) for leg in shed]
            budget = self._rates.budget(demand.slot) if shed else None
            if budget is not None:  # the rows of the whole slot decide how thin its samples are
                demand = replace(demand, stretches=self._memory.query.timeline.slot_needed(demand.slot))
            computed = scan.legs(demand.slot, demand.stretches, rates, EXACT in demand.legs, budget)
        else:
            computed = scan.empty(demand.legs)  # nothing to learn rates for
        self._memory.fill(demand, computed, self._prints)

    def _prints(self, slot: int, leg: str, stretches: Stretches) -> Prints:
        if leg == EXACT:
            return self._exact.prints(slot, leg, stretches)
        memory = self._memory
        return Prints(self._rates.fingerprint(slot), panes_fingerprint(memory.query, memory.side.keyset, leg))
