"""The spot check of a slot: what was said of the checked keys without their check, against their exact values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shedding.answers.learnt import Learnt
from shedding.answers.scores import expected_errors, floor_of
from shedding.answers.window import shed_window
from shedding.estimates.accuracy import relative_errors
from shedding.keys import Keys, unite
from shedding.panes.panes import Panes
from shedding.panes.windows import PaneRun, WindowSample
from shedding.planning.planner import Spots
from shedding.risk import SpotCheck, spot_check
from shedding.spec.measure import MeasureSpec
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_blocks

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
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
        told, told_open = _told(query, measures, runs[1].window(*block), learnt)
        # Plain: whole keys are exact all the same.
        known = shed_window(query, [query.measures], [runs[0].window(*block)], None)
        checked = known.exact & told_open
        for measure in measures:
            truth, (said, errors, floor) = known.estimates[measure.name].value, told[measure.name]
            usable = checked & ~np.isnan(truth)
            claimed[measure.name] += np.where(usable, errors, 0.0)
            measured[measure.name] += np.where(usable, relative_errors(truth, said, floor), 0.0)
    places, own = unite([spots.keys, keys], keys.names)[1]
    at = np.searchsorted(own, places[spots.chosen])  # both in the order of the keys
    checks = {
        name: spot_check(spots.likely[spots.chosen], claimed[name][at], measured[name][at]) for name in claimed
    }  # fmt: skip
    return {name: check for name, check in checks.items() if check is not None}


def _told(
    query: QuerySpec, measures: Sequence[MeasureSpec], sample: WindowSample, learnt: Sequence[Learnt] | None
) -> tuple[dict[str, tuple[Floats, Floats, float]], Flags]:
    """What is said without the checks: by measure value, expected error and floor; and the keys that are estimated.

    No more of the answer is kept: of very many keys two answers side by side are what a slot needs most memory for.
    """
    answer = shed_window(query, [query.measures], [sample], learnt)
    said = {}
    for measure in measures:
        floor = floor_of(answer, measure)
        said[measure.name] = answer.estimates[measure.name].value, expected_errors(answer, measure, floor), floor
    return said, answer.shown & ~answer.exact
