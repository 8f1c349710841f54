"""A stream's windows, sampled again and again: prefix sums give the moments of any sample of a key at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates import Strata
from shedding.estimates.moments import Moments
from shedding.estimates.shrinkage import History
from tests.benchmarks.accuracy_streams import Stream

Floats = NDArray[np.float64]
PRIOR_AUDITS = 3


@dataclass(frozen=True)
class Truth:
    """Exact moments (W, K) of a stream."""

    exact: Moments

    @classmethod
    def of(cls, stream: Stream) -> Truth:
        keys, windows = int(stream.key.max()) + 1, int(stream.window.max()) + 1
        moments = Moments.grouped(stream.value, stream.window * keys + stream.key, windows * keys)
        shape = (windows, keys)
        return cls(Moments(moments.count.reshape(shape), moments.mean.reshape(shape), moments.m2.reshape(shape)))

    def audits_before(self, window: int, one_in: int) -> list[int]:
        """The last J audited windows before `window`, newest first; the first window is one of them."""
        return [a for a in range(window) if a % one_in == 0][: -PRIOR_AUDITS - 1 : -1]

    def history(self, window: int, one_in: int) -> History:
        audits = self.audits_before(window, one_in)
        return History.of(Moments(self.exact.count[audits], self.exact.mean[audits], self.exact.m2[audits]))


class Replay:
    """One seed's order of the rows: `sample(window, n)` are the n rows with the smallest u of each key."""

    def __init__(self, stream: Stream, truth: Truth, seed: int) -> None:
        self.truth = truth
        keys = truth.exact.count.shape[1]
        u = np.random.default_rng(seed).random(stream.value.size)
        cell = stream.window * keys + stream.key
        order = np.lexsort((u, cell))
        self.u = u[order]
        centre = truth.exact.mean.ravel()[cell[order]]  # centred, so that prefix sums keep their digits
        centred = stream.value[order] - centre
        self.first = np.concatenate([[0.0], np.cumsum(centred)])
        self.second = np.concatenate([[0.0], np.cumsum(centred**2)])
        rows = truth.exact.count.ravel().astype(np.int64)
        self.begin = (np.cumsum(rows) - rows).reshape(truth.exact.count.shape)
        self.cell = cell[order]

    def below(self, window: int, rates: Floats) -> Floats:
        """How many rows of each key have u below its rate: the pipeline's own way to sample."""
        keys = rates.size
        here = slice(*np.searchsorted(self.cell, [window * keys, (window + 1) * keys]))
        key = self.cell[here] - window * keys
        return np.bincount(key[self.u[here] < rates[key]], minlength=keys).astype(np.float64)

    def sample(self, window: int, size: Floats) -> Strata:
        count = size.astype(np.int64)
        begin = self.begin[window]
        total = self.first[begin + count] - self.first[begin]
        squares = self.second[begin + count] - self.second[begin]
        divisor = np.maximum(size, 1.0)
        mean = np.where(size > 0, self.truth.exact.mean[window] + total / divisor, 0.0)
        moments = Moments(size, mean, np.maximum(squares - total**2 / divisor, 0.0))
        return Strata(self.truth.exact.count[window], moments)
