"""A made-up world that obeys the model: keys with levels of their own that drift, windows that move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shedding.estimates import Sampled, Strata
from shedding.estimates.moments import Moments


@dataclass
class World:
    keys: int = 600
    seed: int = 1
    drift: float = 0.1
    cv: float = 0.4
    level: float = 50.0
    offset: float = 0.0

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self.base = self.level * np.exp(self.rng.normal(0, 0.4, self.keys))
        self.population = np.floor(np.exp(self.rng.uniform(0, 5, self.keys))) + 1

    def window(self, factor=1.0):
        """Rows of one window: a list of arrays, one a key."""
        mean = self.base * factor * (1 + self.drift * self.rng.normal(size=self.keys))
        return [
            self.offset + m * (1 + self.cv * self.rng.normal(size=int(n)))
            for m, n in zip(mean, self.population, strict=True)
        ]

    def audits(self, count=3):
        windows = [exact(self.window(1 + 0.05 * self.rng.normal())) for _ in range(count)]
        return Moments(*(np.stack([getattr(w, name) for w in windows]) for name in ("count", "mean", "m2")))


def exact(rows):
    parts = [Moments.of(values) for values in rows]
    return Moments(*(np.array([float(getattr(p, name)) for p in parts]) for name in ("count", "mean", "m2")))


def sampled(rows, sizes) -> Sampled:
    """The first `sizes` rows of each key."""
    population = np.array([float(len(values)) for values in rows])
    return Strata(population, exact([v[: int(n)] for v, n in zip(rows, sizes, strict=True)])).combine()
