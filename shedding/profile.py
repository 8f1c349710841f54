"""What a dataset is like, and what that means for shedding: pure NumPy on counts per window and key."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BUDGETS = (0.01, 0.02, 0.05, 0.10)


@dataclass(frozen=True)
class Profile:
    """Figures over the windows that have rows; shares are of rows unless the name says keys."""

    rows: int
    windows: int
    keys: int
    rows_per_window: float
    keys_per_window: float
    top1_share: float
    top10_share: float
    keys_seen_once_share: float
    drift: float
    """Mean total-variation distance between the key frequencies of neighbouring windows, in [0, 1]."""
    least_budget: float
    """Keys over rows of the median window: below this fraction no sampler has a row for every key."""

    def shown_at(self, budget: float) -> float:
        """The largest share of a median window's keys that any sampler can show at a budget."""
        return min(1.0, budget / self.least_budget) if self.least_budget else 1.0

    def as_dict(self) -> dict[str, Any]:
        """All figures, with the keys that can be shown at usual budgets."""
        return asdict(self) | {f"keys_shown_at_{budget:g}": self.shown_at(budget) for budget in BUDGETS}


def profile(window: NDArray[np.int64], key: NDArray[np.int64], rows: NDArray[np.int64]) -> Profile:
    """The profile of counted rows: entry i says that `window[i]` has `rows[i]` rows of `key[i]`, each pair once."""
    if not len(rows):
        return Profile(0, 0, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    windows, place = np.unique(window, return_inverse=True)
    per_window = np.bincount(place, weights=rows)
    keys_in = np.bincount(place)
    names, column = np.unique(key, return_inverse=True)
    per_key = np.sort(np.bincount(column, weights=rows))[::-1]
    total = int(rows.sum())
    return Profile(
        rows=total,
        windows=len(windows),
        keys=len(names),
        rows_per_window=float(np.median(per_window)),
        keys_per_window=float(np.median(keys_in)),
        top1_share=float(per_key[0] / total),
        top10_share=float(per_key[:10].sum() / total),
        keys_seen_once_share=float((per_key == 1).mean()),
        drift=_drift(place, column, rows / per_window[place], len(windows)),
        least_budget=float(np.median(keys_in / per_window)),
    )


def _drift(window: NDArray[np.intp], key: NDArray[np.intp], share: NDArray[np.float64], windows: int) -> float:
    """Mean over neighbouring windows of half the sum over keys of the difference of shares."""
    if windows < 2:
        return 0.0
    # Each share counts once as itself and once, negated, in the window after: what meets cancels.
    pairs = np.concatenate([window, window + 1]), np.concatenate([key, key])
    flat = pairs[0].astype(np.int64) * (int(key.max()) + 1) + pairs[1]
    found, place = np.unique(flat, return_inverse=True)
    difference = np.abs(np.bincount(place, weights=np.concatenate([share, -share])))
    between = (found // (int(key.max()) + 1) > 0) & (found // (int(key.max()) + 1) < windows)
    return float(difference[between].sum() / 2 / (windows - 1))
