"""Other policies and budgets: what audited slots measured, and what another budget would do. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jobs.report.figures import QueryFigures
from jobs.report.key_figures import shown_measure
from jobs.report.slots import EXACT, judged_statistic

FRACTIONS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class PolicyError:
    """The error that a policy was measured to make at the budget of the audited slots, in the mean over windows."""

    policy: str
    fraction: float
    error: float
    windows: int

    def at(self, fraction: float) -> float:
        """The error at another budget by the law of simple random samples: it goes with sqrt(1/f - 1).

        (Cochran, Sampling Techniques, 1977, eq. 2.20: the variance of a mean is S^2 (1/n - 1/N).)
        """
        base = math.sqrt(max(1 / self.fraction - 1, 0.0))
        return self.error * math.sqrt(max(1 / fraction - 1, 0.0)) / base if base else math.nan

    def needed(self, limit: float) -> float:
        """The least fraction whose error is at most `limit`, by the same law."""
        ratio = limit / self.error if self.error else math.inf
        return 1 / (1 + ratio**2 * (1 / self.fraction - 1)) if math.isfinite(ratio) else 0.0


def measured_policies(figures: QueryFigures, measure: str | None = None) -> list[PolicyError]:
    """Every shed leg of the audited slots of the stretch, the published policy first."""
    column = f"{shown_measure(figures.query, measure).name}_{judged_statistic(figures.query)}_error"
    found: dict[str, list[tuple[float, float]]] = {}
    for slot in figures.recent:
        for leg, rows in slot.legs.items() if slot.audited else ():
            if leg != EXACT:
                found.setdefault(leg, []).extend(_points(rows, column))
    own = figures.query.shed.policy
    made = [_mean(leg, points) for leg, points in found.items() if points]
    return sorted(made, key=lambda one: (one.policy != own, one.error))


def advice(figures: QueryFigures, policies: Sequence[PolicyError]) -> str | None:
    """The line of YAML that would bring the error to its limit with the fewest rows; None where nothing is known."""
    limit = getattr(figures.query.gate, f"{judged_statistic(figures.query)}_relative_error")
    if limit is None or not policies:
        return None
    best = min(policies, key=lambda one: one.needed(limit))
    fraction = min(1.0, max(0.001, math.ceil(best.needed(limit) * 1000) / 1000))
    return f"shed: {{policy: {best.policy}, budget: {{fraction: {fraction:g}}}}}"


def _points(rows: Sequence[Mapping[str, object]], column: str) -> list[tuple[float, float]]:
    return [
        (float(row["processed_fraction"]), float(row[column]))  # type: ignore[arg-type]
        for row in rows
        if row.get(column) is not None and row["error_kind"] == "measured" and row["processed_fraction"]
    ]


def _mean(leg: str, points: Sequence[tuple[float, float]]) -> PolicyError:
    fraction, error = np.mean(np.array(points), axis=0)
    return PolicyError(leg, float(fraction), float(error), len(points))
