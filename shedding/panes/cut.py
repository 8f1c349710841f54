"""The panes of one slot that lie in one window, and what is merged over them by key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shedding.arrays import Floats
from shedding.estimates.moments import Moments
from shedding.scan.exact_sums import ExactSums

Index = npt.NDArray[np.int64]


class Cut:
    """A stretch of a slot's panes, which are sorted by their start, and the key of each among `size` keys.

    `rows` are the places of the panes that belong to one stratum, in order; None: all of them do.
    """

    def __init__(self, starts: Index, keys: Index, start: int, end: int, size: int, rows: Index | None = None) -> None:
        first, last = np.searchsorted(starts if rows is None else starts[rows], [start, end])
        self.size = size
        self.inside: slice | Index = slice(int(first), int(last)) if rows is None else rows[first:last]
        self.key = keys[self.inside]

    def summed(self, values: Floats) -> Floats:
        """The panes' values summed by key."""
        return self.by_key(values[self.inside])

    def by_key(self, inside: Floats) -> Floats:
        """Values of the panes inside, summed by key."""
        return np.bincount(self.key, inside, minlength=self.size).astype(np.float64, copy=False)

    def merged(self, moments: Moments) -> Moments:
        """The moments of all panes of a key together."""
        counts, means = moments.count[self.inside], moments.mean[self.inside]
        count = self.by_key(counts)
        mean = self.by_key(counts * means) / np.maximum(count, 1.0)
        between = self.by_key(counts * (means - mean[self.key]) ** 2)
        return Moments(count, mean, self.summed(moments.m2) + between)


def merged_sums(cuts: Sequence[Cut], sums: Sequence[ExactSums]) -> ExactSums:
    """The exact sum of all panes of a key together, whatever slots they lie in."""
    return ExactSums.merged(
        [(one.part(cut.inside), cut.key) for cut, one in zip(cuts, sums, strict=True)], cuts[0].size
    )


def stack(parts: Sequence[Floats]) -> Floats:
    """np.stack; of one part, which most windows have, a view."""
    return parts[0][np.newaxis] if len(parts) == 1 else np.stack(parts)


def stacked(parts: Sequence[Moments]) -> Moments:
    """Moments (S, K) of the strata's."""
    return Moments(*(stack([getattr(part, name) for part in parts]) for name in ("count", "mean", "m2")))
