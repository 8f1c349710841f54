"""Optimal load shedding, Fig. 5a and 5b: patterns on the wrong side of the support threshold."""

from __future__ import annotations

import numpy as np

from shedding.allocation.concept import Concept
from shedding.allocation.hull import hull_rows
from shedding.allocation.support_curve import SupportCurve
from shedding.allocation.water_filling import optimal_rates
from tests.oracles.coefficients import wrong_side
from tests.reproduce.evidence import Evidence
from tests.reproduce.kosarak import THRESHOLD, WINDOW, Floats, Patterns

PARTS = (0.1, 0.2, 0.3, 0.5, 0.7)


def run(evidence: Evidence) -> None:
    """Expected false negatives and positives of uniform rates, the printed coefficients and the hull."""
    patterns = Patterns.of(evidence.data, THRESHOLD / 2)
    frequent = patterns.truth >= THRESHOLD
    ways = {"uniform": _uniform, "printed b": _printed, "hull": _hull}
    wrong = {
        (name, part): wrong_side(patterns.truth, THRESHOLD, way(patterns, part))
        for name, way in ways.items()
        for part in PARTS
    }
    negatives = {at: float(chance[frequent].sum()) for at, chance in wrong.items()}
    positives = {at: float(chance[~frequent].sum()) for at, chance in wrong.items()}
    total = {at: negatives[at] + positives[at] for at in wrong}
    evidence.table(
        "Optimal, Fig. 5",
        [
            {"resources": part}
            | {f"FN, {name}": negatives[name, part] for name in ways}
            | {f"FP, {name}": positives[name, part] for name in ways}
            for part in PARTS
        ],
    )
    for figure, values, label in (("a", negatives, "false negatives"), ("b", positives, "false positives")):
        with evidence.plot(f"Optimal, Fig. 5{figure}", "resources", f"expected {label}") as on:
            for name in ways:
                on.plot(PARTS, [values[name, part] for part in PARTS], marker="o", label=name)
    evidence.expect(
        "Optimal, Fig. 5a, 5b", "FN + FP of the hull over uniform at 10 / 30 / 50 / 70 %", verdict="reproduced",
        paper="far below uniform above 30 %",
        measured=" / ".join(f"{total['hull', p] / total['uniform', p]:.2f}" for p in (0.1, 0.3, 0.5, 0.7)),
        holds=all(total["hull", p] <= total["uniform", p] for p in PARTS)
        and total["hull", 0.5] <= 0.25 * total["uniform", 0.5]
        and total["hull", 0.7] <= 0.05 * total["uniform", 0.7],
    )  # fmt: skip
    evidence.expect(
        "Optimal, Fig. 5a", f"false negatives of {int(frequent.sum())} true patterns at 50 %: uniform, hull",
        paper="none at 50 %", measured=f"{negatives['uniform', 0.5]:.1f}, {negatives['hull', 0.5]:.1f}",
        verdict="reproduced", holds=negatives["hull", 0.5] < 0.01 * frequent.sum(),
    )  # fmt: skip
    evidence.expect(
        "Optimal, Eq. 18", "FN + FP of the printed coefficients over uniform", paper="below uniform",
        measured=" / ".join(f"{total['printed b', p] / total['uniform', p]:.2f}" for p in PARTS),
        verdict="contradicted", holds=all(total["printed b", p] > total["uniform", p] for p in PARTS),
        why="b = (f - a)^2 / pi gives most to the patterns farthest from the threshold",
    )  # fmt: skip


def _uniform(patterns: Patterns, part: float) -> Floats:
    return np.full(patterns.prior.size, part)


def _printed(patterns: Patterns, part: float) -> Floats:
    """The approximation below Eq. 18; a pattern on the threshold itself has the least positive coefficient."""
    b = np.maximum(np.square(patterns.prior - THRESHOLD), 1.0) / np.pi
    return optimal_rates(b, 1.0, np.ones_like(b), part * b.size)


def _hull(patterns: Patterns, part: float) -> Floats:
    size = patterns.prior.size
    curve = SupportCurve(np.full(size, float(WINDOW)), patterns.prior, THRESHOLD)
    strata = Concept.grouped(curve.population).strata
    return hull_rows(strata, curve, part * WINDOW * size, np.ones(size)) / WINDOW
