"""What is known of a slot's keys before a row of it is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.allocation.budget import Allocation
from shedding.allocation.concept import Concept
from shedding.allocation.cost_classes import cost_classes
from shedding.errors import NotReadyError
from shedding.keys import Keys, align
from shedding.planning.costs import CostModel
from shedding.planning.populations import concept_of, counted, expected, least_u
from shedding.planning.priors import Priors
from shedding.rates import Rates
from shedding.spec.query import KEPT, QuerySpec

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SlotConcept:
    """The keys, their statistics, and `rows`, all of the slot's."""

    keys: Keys
    concept: Concept
    rows: float
    unseen_share: float

    @property
    def counted(self) -> bool:
        """Whether the counts of arrival are the whole answer, so that no row is sampled."""
        return False

    @property
    def whole(self) -> float:
        """What keeping every row takes, in the unit of the budget."""
        return self.rows

    def by_key(self, values: Floats) -> Floats:
        """What the strata of each key have of something together."""
        return values

    def of_rates(self, flags: Flags) -> Flags:
        """What holds for keys, for what has a rate."""
        return flags

    def strata_rows(self, budget: float) -> float:
        """The part of a budget that the concept's strata may spend."""
        return budget

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """The allocation as rates over the keys, one for each side of the query.

        A query without keys has its one key also in a slot without rows, where nothing was allocated to it.
        """
        values = made.rates if len(self.concept) else np.full(len(self.keys), made.unseen_rate)
        return (Rates(leg, self.keys, values, made.unseen_rate),)


@dataclass(frozen=True, slots=True)
class CountedConcept(SlotConcept):
    """The concept of a slot that is answered by the counts of arrival: nothing is allocated, every rate is 0."""

    @property
    def counted(self) -> bool:
        """It is."""
        return True

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """No row of any key."""
        return (Rates(leg, self.keys, np.zeros(len(self.keys)), 0.0),)


@dataclass(frozen=True, slots=True)
class StratifiedConcept(SlotConcept):
    """The concept of a slot whose keys are cut by what their rows cost, without the rows that are never shed.

    `cells` are the rows that nothing tells apart, with the `stratum` of each, -1 where its rows are kept in any case;
    those cost `kept_cost` together.
    """

    cells: Keys
    stratum: Ints
    kept_cost: float

    @property
    def whole(self) -> float:
        """The cost of all rows: their number, or their forecast seconds."""
        return float(self.concept.full_cost.sum()) + self.kept_cost

    def by_key(self, values: Floats) -> Floats:
        """Summed over the strata of each key."""
        return np.bincount(self.concept.strata_key, values, len(self.keys)).astype(np.float64)

    def of_rates(self, flags: Flags) -> Flags:
        """For all cells of a key."""
        of_stratum = np.append(flags[self.concept.strata_key], True)  # of kept cells, whose stratum is -1
        return np.asarray(of_stratum[self.stratum])

    def strata_rows(self, budget: float) -> float:
        """What the rows that are never shed leave over: they are counted, once."""
        return max(0.0, budget - self.kept_cost)

    def rates(self, leg: str, made: Allocation, budget: float) -> tuple[Rates, ...]:
        """Each cell's rate is that of its stratum, 1 where it is kept in any case."""
        return (Rates(leg, self.cells, np.append(made.rates, 1.0)[self.stratum], made.unseen_rate),)


def learn_side(
    query: QuerySpec, priors: Priors, slot: int, costs: CostModel | None = None, budget: float = np.inf
) -> SlotConcept:
    """The concept of a slot of one dataset, from its arrival counts and its priors; without counts from these alone.

    With `costs` a row costs what its calls are expected to take; `budget` is what they may take together.
    """
    timeline, side = query.timeline, priors.side
    counts = side.counts(timeline.slot_needed(slot))
    if counts is None:
        if costs is not None or query.strata_columns:
            name = side.dataset.name
            raise NotReadyError(f"a budget of seconds needs counted rows; run `sluice ingest {name}` to catch up")
        found = expected(priors, slot)
    else:
        past = [keys.table() for keys in priors.keys(slot)] if query.group_by else []
        keys, places = align([counts, *past], query.group_by)
        found = counted(timeline, keys, places[0], counts)
    there = found.slot_rows > 0
    if counts is not None and not any(measure.traits.estimated for measure in query.measures):
        return CountedConcept(found.keys.only(there), Concept.grouped([]), found.rows, 0.0)
    concept = concept_of(priors, slot, found, there, known=counts is not None)
    if counts is not None and (costs is not None or query.strata_columns):
        key = (np.cumsum(there) - 1)[places[0]]
        return _stratified(priors, counts, key, found.keys.only(there), concept, costs, budget)
    return SlotConcept(found.keys.only(there), concept, found.rows, found.unseen_share)


def _stratified(
    priors: Priors,
    counts: pa.Table,
    key: Ints,
    keys: Keys,
    concept: Concept,
    costs: CostModel | None,
    budget: float,
) -> StratifiedConcept:
    """The concept with each key cut into classes of cost; `key` is that of each row of the counts."""
    names = priors.side.keyset.keys
    cells, (cell,) = align([counts], names)
    cell_key = np.zeros(len(cells), dtype=np.int64)
    cell_key[cell] = key
    own = np.asarray(counts.column("rows").to_numpy(), dtype=np.float64)
    rows = np.bincount(cell, own, len(cells)).astype(np.float64)
    cost = np.ones(len(cells))
    if costs is not None:
        cost = costs.of_rows(cells.table() if names else pa.table({"_": [0]}))
    kept = cells.columns[names.index(KEPT)].to_numpy() > 0 if KEPT in names else np.zeros(len(cells), dtype=np.bool_)
    kept_cost = float(rows[kept] @ cost[kept])
    stratum = np.full(len(cells), -1)
    stratum[~kept] = cost_classes(cell_key[~kept], rows[~kept], cost[~kept], max(0.0, budget - kept_cost))
    total = np.bincount(cell_key, rows, max(1, len(keys))).astype(np.float64)
    cut = _cut(priors, counts, concept, stratum, cell_key, cell, rows, cost, total)
    return StratifiedConcept(keys, cut, float(rows.sum()), 0.0, cells, stratum, kept_cost)


def _cut(
    priors: Priors,
    counts: pa.Table,
    concept: Concept,
    stratum: Ints,
    cell_key: Ints,
    cell: Ints,
    rows: Floats,
    cost: Floats,
    total: Floats,
) -> Concept:
    """The concept of the strata; of a slot without rows the one that it has."""
    size = int(stratum.max(initial=-1)) + 1
    if not size:
        return Concept.grouped([])
    there = stratum >= 0
    of_stratum = np.zeros(size, dtype=np.int64)
    of_stratum[stratum[there]] = cell_key[there]
    own = np.bincount(stratum[there], rows[there], size)
    mean = np.bincount(stratum[there], rows[there] * cost[there], size) / own
    counted_in = stratum[cell] >= 0
    least = least_u(priors.query.timeline, counts.filter(pa.array(counted_in)), stratum[cell][counted_in], size)
    return concept.cut(of_stratum, own / total[of_stratum], mean, least)
