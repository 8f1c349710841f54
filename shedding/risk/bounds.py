"""What the gate judges of a window without an exact leg: bounds of its errors at the stated risk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shedding.estimates.accuracy import STATISTICS, WindowErrors
from shedding.risk.claims import claim, effective_keys
from shedding.risk.law import ErrorLaw, fit_law
from shedding.risk.record import WindowRecord
from shedding.risk.spots import SpotCheck

Floats = NDArray[np.float64]
AUDITS, SPOTS, REPAIRED = "audits", "spot checks", "repaired keys"
"""What a bound rests on."""
_TOLD_APART = 0.02
"""A spot check decided where it moved the bound by more than this share."""


@dataclass(frozen=True, slots=True)
class WindowLaws:
    """The laws of a window's statistics, one each, in the order of STATISTICS."""

    laws: tuple[ErrorLaw, ...]

    def bound(self, statistic: str, expected: Floats, missing: int, risk: float) -> float:
        """What the statistic of keys with these expected errors stays below but for `risk` of all windows.

        Guarantee: grows with every expected error; the claim itself where nothing is left to chance.
        """
        if not expected.size + missing:
            return np.nan
        if np.any(np.isinf(expected)):
            return np.inf
        reach = self.laws[STATISTICS.index(statistic)].reach(effective_keys(expected), risk)
        return claim(statistic, expected * reach, missing)

    def bounds(self, expected: Floats, missing: int, risk: float) -> WindowErrors:
        """The bounds of all statistics."""
        return WindowErrors(*(self.bound(statistic, expected, missing, risk) for statistic in STATISTICS))

    def updated(self, ratio: float, keys: float) -> WindowLaws:
        """The laws after `keys` independent errors of single keys were measured to be `ratio` times their claims.

        They measure the scale of single errors, hence of the mean; the other statistics move with it.
        """
        usual = self.laws[0].usual
        return WindowLaws(tuple(law.updated(ratio * law.usual / usual, keys) for law in self.laws))

    def checked(self, claimed: Floats, errors: Floats) -> WindowLaws:
        """The laws after some keys of the window, chosen by their claims alone, turned out to be wrong by `errors`.

        Guarantee: the laws themselves where no such key had anything to be wrong about.
        """
        usable = np.isfinite(claimed) & np.isfinite(errors) & (claimed > 0)
        if not usable.any():
            return self
        ratio = float(errors[usable].sum() / claimed[usable].sum())
        return self.updated(ratio, effective_keys(claimed[usable]))

    def text(self) -> str:
        """As JSON, every digit kept."""
        return json.dumps([law.text() for law in self.laws])

    @classmethod
    def of_text(cls, text: str | None) -> WindowLaws:
        """The inverse of `text`; of nothing, the laws that hold before any audit."""
        if text is None:
            return window_laws([], WindowErrors.unknown())
        return cls(tuple(ErrorLaw.of_text(one) for one in json.loads(text)))


def window_laws(
    audits: Sequence[Sequence[WindowRecord]], claimed: WindowErrors, spots: SpotCheck | None = None
) -> WindowLaws:
    """The laws of a window with these claims, from the last audits' records and the slot's spot check."""
    fitted = WindowLaws(tuple(fit_law(audits, getattr(claimed, statistic), statistic) for statistic in STATISTICS))
    return fitted if spots is None else fitted.updated(spots.ratio, spots.effective)


def decided_by(expected: Floats, missing: int, told: WindowLaws, by_audits: WindowLaws, risk: float) -> str:
    """Which evidence the bound of the mean rests on: the audits', or the spot check's where it moved the bound."""
    with_spots, without = (laws.bound("mean", expected, missing, risk) for laws in (told, by_audits))
    if not (np.isfinite(with_spots) and np.isfinite(without)):
        return AUDITS
    return SPOTS if abs(with_spots - without) > _TOLD_APART * without else AUDITS
