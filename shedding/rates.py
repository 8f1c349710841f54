"""A leg's sampling rates over the keys of a slot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.keys import Keys, unite


@dataclass(frozen=True, slots=True)
class Rates:
    """What share of each key's rows a leg keeps; `unseen` is the rate of keys that are not in `keys`."""

    leg: str
    keys: Keys
    values: npt.NDArray[np.float64]
    unseen: float = 1.0

    @property
    def constant(self) -> float | None:
        """The one rate of all keys, seen or not, or None where they differ."""
        different = self.values.size and (self.values.min() != self.unseen or self.values.max() != self.unseen)
        return None if different else self.unseen

    def of(self, keys: Keys) -> npt.NDArray[np.float64]:
        """The rates laid out over other keys."""
        if not keys.names:
            return self.values[:1].copy() if self.values.size else np.array([self.unseen])
        every, (here, there) = unite([self.keys, keys], keys.names)
        found = np.full(len(every), self.unseen)
        found[here] = self.values
        return found[there]
