"""How many rows each key of a slot has: counted at arrival, or expected from the priors where nobody counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.allocation.concept import Concept
from shedding.keys import Keys, align
from shedding.planning.priors import Priors, expected_rows
from shedding.spec.timeline import Timeline

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Populations:
    """Rows of each key in the slot, and in how many of its windows (those that do not overlap) the key occurs.

    `unseen_share`: the part of `rows`, all the slot's, that is expected of keys which are not among `keys`.
    """

    keys: Keys
    slot_rows: Floats
    windows: Floats
    rows: float
    unseen_share: float
    least_u: Floats


def counted(timeline: Timeline, keys: Keys, place: Ints, counts: pa.Table) -> Populations:
    """From the counts of arrival; `place` is the key number of each of their rows."""
    rows = np.bincount(place, _numbers(counts, "rows"), minlength=len(keys)).astype(np.float64)
    block = block_of(timeline, counts)
    pairs = np.unique(np.stack([place, block]), axis=1)[0]
    windows = np.maximum(np.bincount(pairs, minlength=len(keys)).astype(np.float64), 1.0)
    return Populations(keys, rows, windows, float(rows.sum()), 0.0, _least_u(timeline, counts, place, windows))


def block_of(timeline: Timeline, counts: pa.Table) -> Ints:
    """The window, of those that do not overlap, that each row of the counts lies in."""
    start = counts.column("pane_start").to_numpy().astype(np.int64)
    return np.asarray(start // max(timeline.size, timeline.slide))


def expected(priors: Priors, slot: int) -> Populations:
    """From the priors and the number of all rows of the slot."""
    side, timeline = priors.side, priors.query.timeline
    past = priors.keys(slot)
    if side.keyset.keys:
        keys = align([k.table() for k in past] or [side.no_keys()], side.keyset.keys)[0]
    else:
        keys = Keys((), (), 1)
    wanted, unseen = expected_rows(priors, slot, keys)
    rows = side.rows(slot, slot + timeline.slot)
    if not side.keyset.keys:
        wanted, unseen = np.array([rows]), 0.0
    scale = rows * (1 - unseen) / wanted.sum() if wanted.sum() else 0.0
    windows = np.full(len(keys), max(1.0, timeline.slot / timeline.size))
    return Populations(keys, wanted * scale, windows, rows, unseen, np.full(len(keys), np.nan))


def concept_of(priors: Priors, slot: int, populations: Populations, there: Flags, *, known: bool) -> Concept:
    """What is known of the keys that are `there`, each with rows: their populations, and their spread by the priors.

    Errors are those of windows, so the concept's population is a key's rows in a window that has it, and the
    cost of one such row is that of the slot's rows it stands for: keeping all of a key costs its rows of the slot.
    """
    timeline = priors.query.timeline
    per_window = populations.slot_rows / populations.windows * max(1.0, timeline.size / timeline.slot)
    share = min(1.0, timeline.slot / timeline.size)
    learnt = priors.history(slot, populations.keys)
    found = [history.prior(per_window * share) for history in learnt.values()]
    population = per_window[there]
    cost = populations.slot_rows[there] / population
    least = populations.least_u[there]
    if not found:
        return Concept.grouped(population, known=known, cost=cost, least_u=least)
    return Concept.grouped(
        population,
        known=known,
        cv=np.stack([prior.cv[there] for prior in found], axis=1),
        scale=np.stack([np.abs(prior.value[there]) for prior in found], axis=1),
        prior_variance=np.stack([prior.planned[there] for prior in found], axis=1),
        cost=cost,
        least_u=least,
    )


def _least_u(timeline: Timeline, counts: pa.Table, place: Ints, windows: Floats) -> Floats:
    """The smallest u of the keys whose rows all lie in the same windows, so that it is theirs in each; else nan.

    That is a key of one pane, or of one window where windows do not overlap; none where a window outlasts the slot.
    """
    if timeline.size > timeline.slot:
        return np.full(windows.size, np.nan)
    panes = np.bincount(place, minlength=windows.size)
    alone = (panes == 1) | ((windows == 1) & (timeline.slide >= timeline.size))
    least = np.full(windows.size, np.inf)
    np.minimum.at(least, place, _numbers(counts, "least_u"))  # nan, unknown, stays nan
    return np.where(alone & np.isfinite(least), least, np.nan)


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
