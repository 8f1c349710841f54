"""The best that plain means could do: the optimal allocation for the slot's own statistics. Only for comparison."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shedding.allocation.budget import Budget
from shedding.allocation.concept import Concept
from shedding.allocation.problem import Problem
from shedding.measures import learnable
from shedding.planning.priors import Priors
from shedding.planning.slot_concept import SlotConcept
from shedding.spec.query import QuerySpec

Floats = npt.NDArray[np.float64]


def own_concept(query: QuerySpec, priors: Priors, slot: int, concept: SlotConcept) -> SlotConcept:
    """The concept with the slot's own exact spread, which no pipeline can know beforehand."""
    window = priors.slot(slot, concept.keys)
    spreads = []
    for measure in query.measures:
        if not measure.traits.estimated:
            continue
        stat = window.measures[measure.name]
        moments = learnable(measure).row_moments(stat)
        mean = np.maximum(np.abs(moments.mean[0]), 1e-300)
        spreads.append(np.sqrt(moments.m2[0] / np.maximum(moments.count[0], 1.0)) / mean)
    if not spreads:
        return concept
    known = concept.concept
    cv = np.minimum(np.stack(spreads, axis=1), 1e6)
    own = Concept.grouped(known.population, cv=cv, cost=known.cost, least_u=known.least_u)
    return SlotConcept(concept.keys, own, concept.rows, 0.0)


def oracle_rates(query: QuerySpec, concept: Concept, rows: float) -> Floats:
    """The optimal rates of such a concept; as far as the rows go round every key has one, a sure one where it can."""
    problem = Problem.of(concept, Budget(rows=rows), query.shed.get_policy("optimal").objective())
    share = problem.share()
    return problem.settle(problem.optimum(share, problem.row_floor(share)), share, sure=True).rates
