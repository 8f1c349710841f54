"""The spot check of a slot: what was said of the checked keys without their check, against their exact values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shedding.answers.learnt import Learnt
from shedding.answers.scores import expected, floor_of
from shedding.answers.window import shed_window
from shedding.estimates.accuracy import relative_errors
from shedding.keys import Keys, align
from shedding.panes.panes import Panes
from shedding.panes.windows import PaneRun
from shedding.planning.planner import Spots
from shedding.risk import SpotCheck, spot_check
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_blocks

MOST_BLOCKS = 4
"""Blocks of a slot that are compared, spread evenly: errors of one key in many blocks say little more than in a few."""


def slot_spot_checks(
    query: QuerySpec,
    spots: Spots,
    slot: int,
    drawn: Panes,
    allocated: Panes,
    keys: Keys,
    learnt: Sequence[Learnt] | None,
) -> dict[str, SpotCheck]:
    """Per measure, the errors of the keys that are whole in `drawn` and were not in `allocated`.

    Errors are those of blocks (`slot_blocks`), summed over a key's, so that a key counts once.
    """
    runs = [PaneRun([panes], keys.names, [keys]) for panes in (drawn, allocated)]
    blocks = slot_blocks(query.timeline, slot)
    blocks = [blocks[i] for i in np.unique(np.linspace(0, len(blocks) - 1, min(MOST_BLOCKS, len(blocks))).astype(int))]
    measures = [m for m in query.measures if m.traits.estimated]
    claimed = {m.name: np.zeros(len(keys)) for m in measures}
    measured = {m.name: np.zeros(len(keys)) for m in measures}
    for block in blocks:
        samples = [run.window(*block) for run in runs]
        known = shed_window(query, [query.measures], samples[:1], None)  # plain: whole keys are exact all the same
        told = shed_window(query, [query.measures], samples[1:], learnt)
        checked = known.exact & told.shown & ~told.exact
        for measure in measures:
            truth, said = known.estimates[measure.name].value, told.estimates[measure.name].value
            usable = checked & ~np.isnan(truth)
            claimed[measure.name] += np.where(usable, expected(told, measure).errors, 0.0)
            errors = relative_errors(truth, said, floor_of(told, measure))
            measured[measure.name] += np.where(usable, errors, 0.0)
    places, own = align([spots.keys.table(), keys.table()], keys.names)[1]
    at = np.searchsorted(own, places[spots.chosen])  # both in the order of the keys
    checks = {
        name: spot_check(spots.likely[spots.chosen], claimed[name][at], measured[name][at]) for name in claimed
    }  # fmt: skip
    return {name: check for name, check in checks.items() if check is not None}
