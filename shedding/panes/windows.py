"""Windows as combinations of panes: one stratum for each rate that rows of a key were sampled at.

All panes of a slot share its rates, so a window's rows of one slot are one stratum; slots are never
added up as if they had been sampled alike. Where panes tell a key's rows apart by what they cost, those
of one rate are a stratum of the slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.arrays import Floats
from shedding.keys import Keys, unite
from shedding.panes.cut import Cut, stack
from shedding.panes.panes import Panes
from shedding.panes.states import WindowStat

Index = npt.NDArray[np.int64]


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
        self.keys, places = unite([*(part.keys for part in panes), *more], names)
        self._panes: list[Panes] = []  # of each stratum; those of one slot share its panes
        self._key: list[Index] = []  # of each pane its key among the run's
        self._rows: list[Index | None] = []  # which of the panes are the stratum's
        rates: list[Floats] = []
        for part, place in zip(panes, places, strict=False):
            for rows in _strata(part, place, names):
                self._panes.append(part)
                self._key.append(place[part.key])
                self._rows.append(rows)
                rates.append(_rates(part, place, len(self.keys), rows))
        self._rates = stack(rates)

    def window(self, start: int, end: int) -> WindowSample:
        """The window [start, end): its strata in the order of the slots."""
        size = len(self.keys)
        laid_out = zip(self._panes, self._key, self._rows, strict=True)
        cuts = [Cut(part.start, key, start, end, size, rows) for part, key, rows in laid_out]
        pairs = list(zip(cuts, self._panes, strict=True))
        return WindowSample(
            start=start,
            end=end,
            keys=self.keys,
            known=all(part.known for part in self._panes),
            population=stack([cut.summed(part.population) for cut, part in pairs]),
            sampled=stack([cut.summed(part.sampled) for cut, part in pairs]),
            rate=self._rates,
            measures={name: self._merged(cuts, name) for name in self._panes[0].measures},
        )

    def _merged(self, cuts: Sequence[Cut], name: str) -> WindowStat:
        stats = [part.measures[name] for part in self._panes]
        return type(stats[0]).window(cuts, stats)


def _strata(panes: Panes, place: Index, names: Sequence[str]) -> list[Index | None]:
    """The panes of each stratum of a slot: the first, second, ... rate of each key; all where a key has but one."""
    if panes.keys.names == tuple(names) or not len(panes):
        return [None]
    cell = np.zeros(len(panes.keys))
    cell[panes.key] = panes.rate
    key = place if names else np.zeros(len(panes.keys), dtype=np.int64)
    pairs, of_cell = np.unique(np.stack([key, cell]), axis=1, return_inverse=True)
    first = np.r_[True, pairs[0, 1:] != pairs[0, :-1]]
    number = np.arange(pairs.shape[1]) - np.maximum.accumulate(np.where(first, np.arange(pairs.shape[1]), 0))
    stratum = number[np.ravel(of_cell)][panes.key]
    return [np.flatnonzero(stratum == one) for one in range(int(number.max()) + 1)]


def _rates(panes: Panes, place: Index, size: int, rows: Index | None) -> Floats:
    """Each key's rate in a stratum, the same in all its panes."""
    found = np.full(size, panes.unseen)
    key, rate = (panes.key, panes.rate) if rows is None else (panes.key[rows], panes.rate[rows])
    found[place[key]] = rate
    return found
