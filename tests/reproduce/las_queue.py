"""The queue of the load-aware paper (Sec. 5), on the production classes of `shedding.load`; time in milliseconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.load.cost_sketch import CostSketch, cells_of, depth_for, width_for
from shedding.load.delay import Backlog, DelayLimit, MeanDelay
from shedding.load.snapshots import Snapshots

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ITEMS, TUPLES, COSTS = 4096, 32_768, 64
TAU, EPSILON, DELTA, SHORT = 6.4, 0.05, 0.1, 0.25
NANOSECONDS = 1_000_000
"""Of a millisecond: sketches hold whole nanoseconds."""


@dataclass(frozen=True)
class Stream:
    """Tuples in their order: what they contain, what each costs and when it arrives."""

    items: Ints
    cost: Floats
    arrival: Floats

    def __len__(self) -> int:
        return self.items.size


def item_costs(rng: np.random.Generator, largest: float = 6.4, items: int = ITEMS) -> Floats:
    """64 costs at equal distances up to `largest`, each for items / 64 items picked at random."""
    return rng.permutation(np.repeat(np.arange(1, COSTS + 1), items // COSTS)) * (largest / COSTS)


def frequencies(skew: float, items: int = ITEMS) -> Floats:
    """Zipf's law; 0 is uniform."""
    weights = np.arange(1, items + 1) ** -skew
    return np.asarray(weights / weights.sum())


def stream(seed: int, skew: float = 1.0, short: float = SHORT, largest: float = 6.4, order: int = 0) -> Stream:
    """A stream of Sec. 5.1; `short` is the share of its work that the operator cannot do.

    The seed decides which item costs what; another `order` is another stream of the same items.
    """
    by_item = item_costs(np.random.default_rng(seed), largest)
    items = np.random.default_rng((seed, order)).choice(ITEMS, TUPLES, p=frequencies(skew))
    cost = by_item[items]
    return Stream(items, cost, np.arange(TUPLES) * float(cost.mean()) * (1 - short))


@dataclass(frozen=True)
class Outcome:
    """Which tuples were taken, and how long each of them really waited."""

    taken: NDArray[np.bool_]
    delay: Floats

    @property
    def mean_delay(self) -> float:
        return float(self.delay[self.taken].mean())

    @property
    def dropped(self) -> float:
        return 1.0 - float(self.taken.mean())

    def by_block(self, size: int) -> Floats:
        """Mean delay of each jumping window of `size` tuples (Fig. 9)."""
        taken, delay = self.taken.reshape(-1, size), self.delay.reshape(-1, size)
        return np.asarray((delay * taken).sum(axis=1) / np.maximum(taken.sum(axis=1), 1))


class PrintedBacklog(Backlog):
    """Erratum: q = C - elapsed as the paper prints it, where idle time is banked."""

    def delay(self, now: float) -> float:
        return self.until - now

    def add(self, now: float, work: float) -> None:
        self.until += work


def served(given: Stream, take: Callable[[int, float], bool]) -> Outcome:
    """The operator: first come, first served; `take` decides at a tuple's arrival."""
    queue = Backlog()
    taken, delay = np.zeros(len(given), bool), np.zeros(len(given))
    for i, (now, cost) in enumerate(zip(given.arrival.tolist(), given.cost.tolist(), strict=True)):
        if take(i, now):
            taken[i], delay[i] = True, queue.delay(now)
            queue.add(now, cost)
    return Outcome(taken, delay)


def shed_by_estimates(
    given: Stream, estimates: Floats, limit: DelayLimit, *, clock: Backlog | None = None, forced: Ints | None = None
) -> Outcome:
    """The shedder of Listing 3.2 with fixed cost estimates of the tuples; `forced` ones are kept by CHECKUTILITY."""
    clock = clock if clock is not None else Backlog()
    work = estimates.tolist()
    must = set() if forced is None else set(forced.tolist())

    def take(i: int, now: float) -> bool:
        delay = clock.delay(now)
        if not (limit.admits(delay) or i in must):
            return False
        limit.count(delay)
        clock.add(now, work[i])
        return True

    return served(given, take)


def base_line(given: Stream, short: float = SHORT, seed: int = 0) -> Outcome:
    """Drops the share of tuples at random that the operator is short of."""
    kept = np.random.default_rng(seed).random(len(given)) >= short
    return served(given, lambda i, _: bool(kept[i]))


def straw_man(given: Stream, limit: DelayLimit | None = None, mean: float | None = None) -> Outcome:
    """All tuples are thought to cost the mean: the stream's, or the one given."""
    thought = float(given.cost.mean()) if mean is None else mean
    return shed_by_estimates(given, np.full(len(given), thought), limit or MeanDelay(TAU))


def full_knowledge(given: Stream, limit: DelayLimit | None = None) -> Outcome:
    """The true costs."""
    return shed_by_estimates(given, given.cost, limit or MeanDelay(TAU))


def las(given: Stream, before: Stream, limit: DelayLimit | None = None, epsilon: float = EPSILON) -> Outcome:
    """LAS in the form of a slot: costs are learnt in the stream before, and no message corrects them later."""
    width, depth = width_for(epsilon), depth_for(DELTA)
    cells = cells_of(np.arange(ITEMS), depth, width)
    sketch = CostSketch.of(cells[before.items], whole(before.cost), width)
    estimates = sketch.estimate(cells) / NANOSECONDS * (1 + epsilon)
    return shed_by_estimates(given, estimates[given.items], limit or MeanDelay(TAU))


def whole(cost: Floats) -> Ints:
    return np.rint(cost * NANOSECONDS).astype(np.int64)


class OnlineLas:
    """LAS as printed, with its messages: stable sketches from the operator, and the answer to a synchronisation.

    `sync_blocks` asks for the operator's clock after every block, not only after a stable sketch: what the rounds of
    a slot do.
    """

    def __init__(self, given: Stream, limit: DelayLimit, *, epsilon: float = EPSILON, sync_blocks: bool = False):
        self.given, self.limit, self.margin, self.sync_blocks = given, limit, 1 + epsilon, sync_blocks
        self.clock = Backlog()
        self.width, self.depth = width_for(epsilon), depth_for(DELTA)
        self.cells = cells_of(np.arange(ITEMS), self.depth, self.width)
        self.snapshots = Snapshots(self.depth, self.width)
        self.operator = Backlog()
        self.running: deque[tuple[float, int]] = deque()
        self.corrections: deque[tuple[float, float]] = deque()
        self.estimates: list[float] | None = None
        self.ask = False

    def run(self) -> Outcome:
        return served(self.given, self.take)

    def take(self, i: int, now: float) -> bool:
        self._messages(now)
        if self.estimates is not None:
            delay = self.clock.delay(now)
            if not self.limit.admits(delay):
                return False
            self.limit.count(delay)
            self.clock.add(now, self.estimates[self.given.items[i]])
        self.operator.add(now, float(self.given.cost[i]))
        self.running.append((self.operator.until, i))
        if self.ask:
            self.corrections.append((self.operator.until, self.operator.until - self.clock.until))
            self.ask = False
        return True

    def _messages(self, now: float) -> None:
        """What the operator has sent until now: its sketches after each block, its answers."""
        while len(self.running) >= self.snapshots.block and self.running[self.snapshots.block - 1][0] <= now:
            done = np.array([self.running.popleft()[1] for _ in range(self.snapshots.block)])
            stable = self.snapshots.add(self.cells[self.given.items[done]], whole(self.given.cost[done]))
            if stable:
                self.estimates = (stable[-1].estimate(self.cells) / NANOSECONDS * self.margin).tolist()
            self.ask = bool(stable) or (self.sync_blocks and self.estimates is not None)
        while self.corrections and self.corrections[0][0] <= now:
            self.clock.until += self.corrections.popleft()[1]


def phases(seed: int, each: int = 20_000) -> Stream:
    """Fig. 9: seven phases A to G, each an abrupt change of arrivals, contents or costs."""
    rng = np.random.default_rng(seed)
    by_item, share = item_costs(rng), frequencies(1.0)
    swapped = share.copy()
    dear = int(np.flatnonzero(by_item == by_item.max())[-1])
    swapped[[0, dear]] = swapped[[dear, 0]]
    mean = float(share @ by_item)
    setting = {  # mean time between arrivals, frequencies, factor of the costs
        "A": (mean, share, 1.0), "B": (mean * 0.5, share, 1.0), "C": (mean, share, 1.0), "D": (mean, swapped, 1.0),
        "E": (mean * 1.5, swapped, 1.0), "F": (mean, swapped, 2.0), "G": (mean, share, 1.0),
    }  # fmt: skip
    items = np.concatenate([rng.choice(ITEMS, each, p=p) for _, p, _ in setting.values()])
    factor = np.repeat([f for _, _, f in setting.values()], each)
    gaps = np.repeat([gap for gap, _, _ in setting.values()], each)
    return Stream(items, by_item[items] * factor, np.cumsum(gaps) - gaps[0])
