"""What one audited window taught: what was claimed of its errors, and what they were."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.accuracy import STATISTICS, WindowErrors
from shedding.risk.claims import claims, effective_keys

Floats = NDArray[np.float64]
_NORMAL = float(np.pi / 2 - 1)
"""Squared coefficient of variation of |error| under a normal law."""


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """Claimed and true statistics, in the order of STATISTICS, of the keys whose rows were not all seen.

    `keys` is their effective number, `dispersion` how much single errors vary around their claims (squared coefficient
    of variation, the common factor taken out).
    """

    claimed: tuple[float, ...]
    true: tuple[float, ...]
    keys: float
    dispersion: float

    def tells(self, statistic: str) -> bool:
        """Whether truth and claim of a statistic can be compared."""
        claim, truth = self.claim(statistic), self.true[STATISTICS.index(statistic)]
        return bool(np.isfinite(claim) and claim > 0 and np.isfinite(truth))

    def claim(self, statistic: str) -> float:
        """The claimed statistic."""
        return self.claimed[STATISTICS.index(statistic)]

    def ratio(self, statistic: str) -> float:
        """Truth over claim."""
        return self.true[STATISTICS.index(statistic)] / self.claim(statistic)

    def chance(self, statistic: str) -> float:
        """The variance of log ratio that is chance, its keys being few; the worst key's is not told apart."""
        return 0.0 if statistic == "worst" else min(self.dispersion / max(self.keys, 0.5), 2.0)

    def text(self) -> str:
        """As JSON, every digit kept."""
        return json.dumps([self.claimed, self.true, self.keys, self.dispersion])

    @classmethod
    def of_text(cls, text: str) -> WindowRecord:
        """The inverse of `text`."""
        claimed, true, keys, dispersion = json.loads(text)
        return cls(tuple(claimed), tuple(true), keys, dispersion)


def window_record(expected: Floats, errors: Floats) -> WindowRecord | None:
    """The record of a window from the keys' expected and true relative errors, missing keys left out.

    Keys with an expected error of 0, all of whose rows were seen, tell nothing but lower both statistics alike. None
    where nothing was left to chance.
    """
    known = np.isfinite(expected) & np.isfinite(errors)
    expected, errors = expected[known], errors[known]
    if not np.any(expected > 0):
        return None
    ratio = float(errors.sum() / expected.sum())
    spread = float(np.square(errors - ratio * expected).sum())
    level = ratio**2 * float(np.square(expected).sum())
    keys = effective_keys(expected)
    dispersion = spread / level * keys / max(keys - 1, 0.5) if level > 0 else _NORMAL  # the ratio was fitted to them
    dispersion = float(np.clip(dispersion, _NORMAL, 30.0))
    return WindowRecord(astuple(claims(expected)), astuple(WindowErrors.of(errors)), keys, dispersion)
