"""Windows as combinations of panes: one stratum for each slot that the window overlaps.

All panes of a slot share its rates, so a window's rows of one slot are one stratum; slots are never
added up as if they had been sampled alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.estimates.moments import Moments
from shedding.keys import Keys, align
from shedding.panes.panes import LEVELS, Numbers, Panes, Stat
from shedding.scan.exact_sums import ExactSums

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Values:
    """Sampled values of a quantile: each with its key's number and its stratum's."""

    value: Floats
    key: Index
    stratum: Index


@dataclass(frozen=True, slots=True)
class WindowStat:
    """One measure in one window: arrays (S, K) over strata and keys.

    `total` and `over_total` are the exact sums of all sampled values of a key; `extreme` is (2, K), least and largest.
    `levels` (3, K): exact quantiles at `effective.levels_of`, where the window is a block of an audited slot.
    """

    population: Floats
    moments: Moments
    total: ExactSums | None = None
    over: Moments | None = None
    over_total: ExactSums | None = None
    cross: Floats | None = None
    extreme: Numbers | None = None
    values: Values | None = None
    levels: Floats | None = None


@dataclass(frozen=True, slots=True)
class WindowSample:
    """What a leg knows of one window, over all `keys` (those without rows in it included).

    population, sampled and rate are (S, K); `known` says that the populations were counted at arrival.
    """

    start: int
    end: int
    keys: Keys
    known: bool
    population: Floats
    sampled: Floats
    rate: Floats
    measures: Mapping[str, WindowStat]

    @property
    def rows(self) -> Floats:
        """Rows of each key in the window, (K,); nan where populations are not known."""
        return np.asarray(self.population.sum(axis=0)) if self.known else np.full(len(self.keys), np.nan)

    @property
    def sampled_rows(self) -> Floats:
        """Sampled rows of each key, (K,)."""
        return np.asarray(self.sampled.sum(axis=0))


class PaneRun:
    """The panes of consecutive slots, laid out over one list of keys, ready to be cut into windows."""

    def __init__(self, panes: Sequence[Panes], names: Sequence[str], more: Sequence[Keys] = ()) -> None:
        """`more` are keys that must be among the run's even where its panes do not hold them."""
        tables = [part.keys.table() for part in panes] + [keys.table() for keys in more] if names else []
        if names:
            self.keys, places = align(tables, names)
        else:
            self.keys, places = Keys((), (), 1), [np.zeros(1, dtype=np.int64) for _ in panes]
        self._panes = list(panes)
        self._places = places[: len(panes)]
        self.more = places[len(panes) :]
        laid_out = zip(self._panes, self._places, strict=True)
        self._rates = _stack([_rates(part, place, len(self.keys)) for part, place in laid_out])

    def window(self, start: int, end: int) -> WindowSample:
        """The window [start, end): one stratum for each slot, in the order of the slots."""
        size = len(self.keys)
        cuts = [_Cut(part, place, start, end, size) for part, place in zip(self._panes, self._places, strict=True)]
        names = list(self._panes[0].measures)
        return WindowSample(
            start=start,
            end=end,
            keys=self.keys,
            known=all(part.known for part in self._panes),
            population=_stack([cut.summed(cut.panes.population) for cut in cuts]),
            sampled=_stack([cut.summed(cut.panes.sampled) for cut in cuts]),
            rate=self._rates,
            measures={name: _window_stat(cuts, name) for name in names},
        )


def _rates(panes: Panes, place: Index, size: int) -> Floats:
    """Each key's rate in a slot, the same in all its panes."""
    found = np.full(size, panes.unseen)
    found[place[panes.key]] = panes.rate
    return found


class _Cut:
    """The panes of one slot that lie in one window."""

    def __init__(self, panes: Panes, place: Index, start: int, end: int, size: int) -> None:
        self.panes, self.size = panes, size
        first, last = np.searchsorted(panes.start, [start, end])  # panes are sorted by their start
        self.inside = slice(int(first), int(last))
        self.key = place[panes.key[self.inside]]

    def summed(self, values: Floats) -> Floats:
        """The panes' values summed by key."""
        return self._by_key(values[self.inside])

    def _by_key(self, inside: Floats) -> Floats:
        return np.bincount(self.key, inside, minlength=self.size).astype(np.float64, copy=False)

    def merged(self, moments: Moments) -> Moments:
        """The moments of all panes of a key together."""
        counts, means = moments.count[self.inside], moments.mean[self.inside]
        count = self._by_key(counts)
        mean = self._by_key(counts * means) / np.maximum(count, 1.0)
        between = self._by_key(counts * (means - mean[self.key]) ** 2)
        return Moments(count, mean, self.summed(moments.m2) + between)

    def cross(self, stat: Stat, mean: Floats, over_mean: Floats) -> Floats:
        """The centred sum of products of all panes of a key together."""
        assert stat.over is not None
        assert stat.cross is not None
        away = stat.moments.mean[self.inside] - mean[self.key]
        over_away = stat.over.mean[self.inside] - over_mean[self.key]
        weight = stat.moments.count[self.inside]
        return self.summed(stat.cross) + self._by_key(weight * away * over_away)

    def values(self, stat: Stat, stratum: int) -> Values:
        lists = stat.values.slice(self.inside.start, self.inside.stop - self.inside.start)
        lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        value = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
        key = np.repeat(self.key, lengths)
        return Values(value, key, np.full(len(key), stratum, dtype=np.int64))


def _window_stat(cuts: Sequence[_Cut], name: str) -> WindowStat:
    stats = [cut.panes.measures[name] for cut in cuts]
    moments = [cut.merged(stat.moments) for cut, stat in zip(cuts, stats, strict=True)]
    population = _stack([cut.summed(stat.population) for cut, stat in zip(cuts, stats, strict=True)])
    over = cross = extreme = values = None
    if stats[0].over is not None:
        overs = [cut.merged(stat.over) for cut, stat in zip(cuts, stats, strict=True) if stat.over is not None]
        together = zip(cuts, stats, moments, overs, strict=True)
        cross = _stack([cut.cross(stat, m.mean, o.mean) for cut, stat, m, o in together])
        over = _stacked(overs)
    if stats[0].extreme is not None:
        extreme = _extremes(cuts, stats)
    if all(stat.values is not None for stat in stats):
        parts = [cut.values(stat, s) for s, (cut, stat) in enumerate(zip(cuts, stats, strict=True))]
        values = Values(*(np.concatenate([getattr(p, part) for p in parts]) for part in ("value", "key", "stratum")))
    total, over_total = _total(cuts, [s.total for s in stats]), _total(cuts, [s.over_total for s in stats])
    levels = _levels(cuts, stats) if all(stat.levels is not None for stat in stats) else None
    return WindowStat(population, _stacked(moments), total, over, over_total, cross, extreme, values, levels)


def _total(cuts: Sequence[_Cut], sums: Sequence[ExactSums | None]) -> ExactSums | None:
    """The exact sum of all panes of a key together, whatever slots they lie in."""
    parts = [(one.part(cut.inside), cut.key) for cut, one in zip(cuts, sums, strict=True) if one is not None]
    return ExactSums.merged(parts, cuts[0].size) if parts else None


def _levels(cuts: Sequence[_Cut], stats: Sequence[Stat]) -> Floats:
    """The remembered quantiles of the block that the window is, by key."""
    found = np.full((len(LEVELS), cuts[0].size), np.nan)
    for cut, stat in zip(cuts, stats, strict=True):
        assert stat.levels is not None
        inside = stat.levels[:, cut.inside]
        told = ~np.isnan(inside).all(axis=0)
        found[:, cut.key[told]] = inside[:, told]
    return found


def _stack(parts: Sequence[Floats]) -> Floats:
    """np.stack; of one part, which most windows have, a view."""
    return parts[0][np.newaxis] if len(parts) == 1 else np.stack(parts)


def _stacked(parts: Sequence[Moments]) -> Moments:
    return Moments(*(_stack([getattr(part, name) for part in parts]) for name in ("count", "mean", "m2")))


def _extremes(cuts: Sequence[_Cut], stats: Sequence[Stat]) -> Numbers:
    """(2, K): the least and the largest of the panes' extremes; the measure takes the one it is about."""
    found: list[tuple[Index, Numbers]] = []
    for cut, stat in zip(cuts, stats, strict=True):
        assert stat.extreme is not None
        there = stat.moments.count[cut.inside] > 0
        found.append((cut.key[there], stat.extreme[cut.inside][there]))
    key = np.concatenate([place for place, _ in found])
    value = np.concatenate([values for _, values in found])
    both = np.zeros((2, cuts[0].size), dtype=value.dtype)
    both[:, key] = value
    np.minimum.at(both[0], key, value)
    np.maximum.at(both[1], key, value)
    return both
