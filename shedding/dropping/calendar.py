"""Which windows are dropped: a calendar without memory, the same in any order of runs.

Windows are numbered by start // slide. They come in cycles of P = M(B+1) + 1; a cycle is M blocks of one sure window
and B that fall together, by the hash of the block, and one more sure window at its end. The paper (Section 3.4)
flips a coin per batch and carries a debt instead, which would need all windows before.

Guarantees: at most B windows in a row are dropped; the expected share is exactly p; what a smaller p drops, a larger
one drops too; a window's fate depends on its number, B, p and the salt alone. As P = 1 mod (B + 1), the sure window
moves by one each cycle, so no hour of the day is favoured.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shedding.dropping.rules import BLOCKS, cycle, drop_problem
from shedding.errors import SpecError

Index = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_A_DIGEST = 8
"""Numbers of 64 bits that one blake2b digest holds."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """The windows that a share `drop` leaves out, at most `batch` in a row; `salt` makes calendars independent."""

    drop: float
    batch: int
    salt: str

    def __post_init__(self) -> None:
        if self.batch < 1 or self.drop < 0:
            raise SpecError("a calendar needs a batch of one window or more, and a drop of 0 or more")
        if (problem := drop_problem(self.batch, self.drop)) is not None:
            raise SpecError(problem)

    @property
    def block_chance(self) -> float:
        """q: how likely the windows of a block are dropped, so that a share p of all windows is."""
        return min(1.0, self.drop * cycle(self.batch) / (BLOCKS * self.batch))

    def kept(self, windows: npt.ArrayLike) -> Flags:
        """Which of the windows, given by their numbers in any order, are kept."""
        number, place = np.divmod(np.asarray(windows, dtype=np.int64), cycle(self.batch))
        block, inside = np.divmod(place, self.batch + 1)
        sure = (inside == 0) | (place == cycle(self.batch) - 1)
        cycles, row = np.unique(number, return_inverse=True)
        chances = self._chances(cycles)
        return np.asarray(
            sure | (chances[row.reshape(number.shape), np.minimum(block, BLOCKS - 1)] >= self.block_chance)
        )

    def kept_starts(self, slide: int, starts: npt.ArrayLike) -> Index:
        """Those of the window starts that are kept, in their order."""
        given = np.asarray(starts, dtype=np.int64)
        return given[self.kept(given // slide)]

    def _chances(self, cycles: Index) -> Floats:
        """(cycles, blocks): the u in [0, 1) of each block, the upper 53 bits of its hash."""
        digests = b"".join(
            hashlib.blake2b(f"{self.salt}/{number}/{part}".encode()).digest()
            for number in cycles
            for part in range(BLOCKS // _A_DIGEST)
        )
        bits = np.frombuffer(digests, dtype=">u8").reshape(len(cycles), BLOCKS)
        return np.asarray((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53)
