"""How many rows each key of a slot has: counted at arrival, or expected from the priors where nobody counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.allocation.concept import Concept
from shedding.estimates.shrinkage.prior import Prior
from shedding.keys import Keys, align
from shedding.planning.priors import Priors, expected_rows
from shedding.spec.measure import MeasureSpec
from shedding.spec.timeline import Timeline
from shedding.spec.weights import WeightsSpec

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

COUNT_WEIGHT = 0.5
"""Windows' worth of trust in the expected rows of a key where nobody counted."""


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
    windows = np.maximum(_distinct(place, block_of(timeline, counts), len(keys)).astype(np.float64), 1.0)
    return Populations(keys, rows, windows, float(rows.sum()), 0.0, least_u(timeline, counts, place, len(keys)))


def _distinct(place: Ints, values: Ints, size: int) -> Ints:
    """How many different values each place has."""
    if not values.size:
        return np.zeros(size, dtype=np.int64)
    pairs = np.unique(
        (values - values.min()) * np.int64(size) + place
    )  # a pair is one number: none is sorted as a pair
    return np.bincount(pairs % size, minlength=size)


def _starts(counts: pa.Table) -> Ints:
    return np.asarray(counts.column("pane_start").to_numpy().astype(np.int64))


def block_of(timeline: Timeline, counts: pa.Table) -> Ints:
    """The window, of those that do not overlap, that each row of the counts lies in."""
    return np.asarray(_starts(counts) // max(timeline.size, timeline.slide))


def expected(priors: Priors, slot: int) -> Populations:
    """From the priors and the number of all rows of the slot."""
    side, timeline = priors.side, priors.query.timeline
    past = priors.keys(slot)
    if side.keyset.keys:
        keys = align([k.table() for k in past] or [side.no_keys()], side.keyset.keys)[0]
    else:
        keys = Keys((), (), 1)
    wanted, unseen = expected_rows(priors, slot, keys)
    rows = side.rows(timeline.slot_needed(slot))
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
    found = [
        _spread(measure, learnt[measure.name].prior(per_window * share), per_window, known)
        for measure in priors.query.measures
        if measure.name in learnt
    ]
    if not known:
        found += [_counted_spread(per_window) for m in priors.query.measures if m.traits.state is None]
    population = per_window[there]
    columns = {name: np.stack([getattr(s, name)[there] for s in found], axis=1) for name in SPREADS} if found else {}
    return Concept.grouped(
        population,
        known=known,
        weight=key_weights(priors.query.shed.weights, populations, per_window)[there],
        cost=populations.slot_rows[there] / population,
        least_u=populations.least_u[there],
        **columns,
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """What the concept holds of one measure, over all keys: the columns `SPREADS` of `Concept`."""

    cv: Floats
    scale: Floats
    prior_variance: Floats


SPREADS = ("cv", "scale", "prior_variance")


def _spread(measure: MeasureSpec, prior: Prior, rows: Floats, known: bool) -> Spread:
    """A measure's spread, and the unit of its relative errors: what cv is relative to, of a total times the rows.

    Where nobody counted, a total also varies by its number of rows: sd^2 + mean^2 for sd^2 (Eq. 5).
    """
    cv, unit = prior.cv, np.maximum(np.abs(prior.mean), np.finfo(np.float64).tiny)
    if measure.traits.additive and not known:
        cv = np.hypot(cv, prior.value / unit)
    return Spread(cv, unit * rows if measure.traits.additive else unit, prior.planned)


def _counted_spread(rows: Floats) -> Spread:
    """COUNT where nobody counted: b = N (Eq. 3), a row's relative variance is 1; history is worth half a window."""
    return Spread(np.ones(rows.size), rows, 1.0 / np.maximum(COUNT_WEIGHT * rows, 1.0))


def key_weights(weights: WeightsSpec, populations: Populations, rows: Floats) -> Floats:
    """v_k: the owner's weight of the key, times its rows to the power `size`, once for each window that has the key.

    Where no key of the slot has a positive weight they count alike.
    """
    own = np.full(len(populations.keys), weights.default)
    for entry in (entry for entry in weights.keys if entry.weight is not None):
        own[populations.keys.having(entry.values)] = entry.weight
    if not own[rows > 0].any():
        own[:] = 1.0
    return np.asarray(own * np.where(rows > 0, rows, 1.0) ** weights.size * populations.windows)


def least_u(timeline: Timeline, counts: pa.Table, place: Ints, size: int) -> Floats:
    """The smallest u of the keys, or strata, whose rows all lie in the same windows, so that it is theirs in each.

    That is one of one pane, or of one window where windows do not overlap; nan for others, and for all where a window
    outlasts the slot. `place` is the number, below `size`, of each row of the counts.
    """
    if timeline.size > timeline.slot:
        return np.full(size, np.nan)
    panes, windows = _distinct(place, _starts(counts), size), _distinct(place, block_of(timeline, counts), size)
    alone = (panes == 1) | ((windows <= 1) & (timeline.slide >= timeline.size))
    least = np.full(size, np.inf)
    np.minimum.at(least, place, _numbers(counts, "least_u"))  # nan, unknown, stays nan
    return np.where(alone & np.isfinite(least), least, np.nan)


def _numbers(table: pa.Table, name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)
