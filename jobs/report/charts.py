"""The charts of a query's page, each with the table of what it shows. Measured and estimated are never drawn alike.

A measured error is a filled dot, an expected one a hollow diamond with a whisker up to the bound that the gate judged,
an exact one a small cross: shapes as well as colours, so that nobody needs to tell colours apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from jobs.report.figures import QueryFigures
from jobs.report.key_figures import Calibration, KeySeries
from jobs.report.slots import APPROVED, EXACT, MISSING, REFUSED, REPAIRED, Slot, judged_statistic
from jobs.report.svg import HALF, WIDTH, Plot, nice_ticks, time_ticks
from jobs.report.texts import instant, number, percent
from jobs.report.what_if import FRACTIONS, PolicyError
from shedding.measures import CONFIDENCE

MARKS = {REPAIRED: "triangle", APPROVED: "diamond", REFUSED: "cross", MISSING: "square"}
"""The shape of each event on the burn-down."""


@dataclass(frozen=True)
class Chart:
    """A picture, its legend as (class, shape, words), and its table: cells by row, with the row's place in pixels."""

    title: str
    svg: Markup
    legend: Sequence[tuple[str, str, str]]
    columns: Sequence[str]
    rows: Sequence[tuple[float, Sequence[str]]]
    note: str = ""


def burn_down_chart(figures: QueryFigures) -> Chart:
    """Budget left after each slot, with a mark where something happened to it."""
    at, left = figures.burn_down
    slots = figures.recent
    low = min(0.0, float(left.min(initial=0.0)))
    plot = _timed(slots, figures, (low * 1.08, 1.04), percent)
    changed = _changes(slots)
    for slot in changed:
        plot.upright(slot.start, "change")
    points = [(float(x), float(y)) for x, y in zip(at, left, strict=True)]
    held = [(x, y) for (_, y), (x, _) in pairwise(points)]  # a value holds until the next
    stairs = [point for pair in zip(points, held, strict=False) for point in pair] + points[-1:]
    plot.band([(x, 0.0, y) for x, y in stairs], "fill")
    plot.rule(0.0, "zero")
    plot.line(points, "main", step=True)
    for state, shape in MARKS.items():
        here = [point for point, slot in zip(points, slots, strict=True) if slot.outcome == state]
        plot.marks(here, f"mark {state}", shape)
    legend = [("main", "line", "budget left")]
    legend += [(f"mark {state}", shape, state) for state, shape in MARKS.items() if figures.counts.get(state)]
    legend += [("change", "bar", "specification changed")] if changed else []
    rows = [
        (plot.px(x), (instant(slot.start), percent(y), slot.outcome, "changed" if slot in changed else ""))
        for (x, y), slot in zip(points, slots, strict=True)
    ]
    return Chart("Error budget", plot.svg("error budget left by slot"), legend,
                 ("slot", "budget left", "state", "specification"), rows)  # fmt: skip


def error_chart(figures: QueryFigures) -> Chart:
    """The error of each slot against its limit."""
    slots, statistic = figures.recent, judged_statistic(figures.query)
    every = [v for s in slots for v in (s.error, s.limit, s.bound) if math.isfinite(v)]
    limit = max((s.limit for s in slots if math.isfinite(s.limit)), default=math.nan)
    top = min(max(every, default=0.1), 3 * limit if limit > 0 else math.inf)
    plot = _timed(slots, figures, (0.0, top * 1.1 or 0.1), percent)
    plot.line([(s.start, s.limit) for s in slots], "limit", step=True)
    kinds = {kind: [s for s in slots if s.kind == kind] for kind in ("estimated", "measured", EXACT)}
    plot.whiskers([(s.start, s.error, s.bound) for s in kinds["estimated"]], "whisker")
    shapes = {"estimated": "diamond", "measured": "dot", EXACT: "cross"}
    for kind, shape in shapes.items():
        plot.marks([(s.start, s.error) for s in kinds[kind]], kind, shape)
    words = {"estimated": "estimated, with the bound that was judged", "measured": "measured against the exact answer",
             EXACT: "exact"}  # fmt: skip
    legend = [(kind, shapes[kind], words[kind]) for kind in shapes if kinds[kind]] + [("limit", "line", "limit")]
    rows = [
        (plot.px(s.start), (instant(s.start), s.kind or s.outcome, percent(s.error),
                            percent(s.bound) if s.kind == "estimated" else "", percent(s.limit)))
        for s in slots
    ]  # fmt: skip
    return Chart(f"Error against its limit ({statistic} relative error of a window's keys, the worst window and measure"
                 " of the slot)", plot.svg("error by slot"), legend,
                 ("slot", "kind", "error", "bound", "limit"), rows)  # fmt: skip


def key_chart(series: KeySeries, measure: str) -> Chart:
    """One key's answers with their band, exact crosses where audited, imputed values grey."""
    values = np.concatenate([series.low, series.high, series.truth, series.value])
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    pad = (high - low or abs(high) or 1.0) * 0.08
    starts = series.start.astype(float)
    plot = Plot((float(starts[0]), float(starts[-1])), (low - pad, high + pad))
    plot.y_axis([(v, number(v)) for v in nice_ticks(low - pad, high + pad)])
    plot.x_axis(time_ticks(int(plot.x[0]), int(plot.x[1])))
    plot.band(list(zip(starts, series.low.tolist(), series.high.tolist(), strict=True)), "band")
    plot.line(zip(starts, series.value.tolist(), strict=True), "main")
    imputed = series.imputed.astype(bool)
    plot.marks(zip(starts[imputed], series.value[imputed].tolist(), strict=True), "imputed", "square")
    plot.marks(zip(starts, series.truth.tolist(), strict=True), EXACT, "cross")
    rows = [
        (plot.px(x), (instant(int(x)), number(v), number(lo), number(hi), number(t),
                      "imputed" if i else "exact" if e else "estimated"))
        for x, v, lo, hi, t, i, e in zip(starts, series.value, series.low, series.high, series.truth, imputed,
                                         series.exact, strict=True)
    ]  # fmt: skip
    legend = [("main", "line", measure), ("band", "area", "95 % interval"), (EXACT, "cross", "exact, where audited")]
    legend += [("imputed", "square", "imputed: no row sampled")] if imputed.any() else []
    return Chart(series.label, plot.svg(f"{measure} of {series.label}"), legend,
                 ("window", measure, "low", "high", "exact", "kind"), rows)  # fmt: skip


def coverage_chart(figures: QueryFigures) -> Chart:
    """Measured coverage of the audited slots' intervals."""
    slots = [slot for slot in figures.recent if not math.isnan(slot.coverage)]
    plot = _timed(figures.recent, figures, _coverage_range([slot.coverage for slot in slots]), percent, HALF)
    plot.rule(CONFIDENCE, "target")
    plot.marks([(slot.start, slot.coverage) for slot in slots], "measured", "dot")
    rows = [(plot.px(slot.start), (instant(slot.start), percent(slot.coverage))) for slot in slots]
    return Chart("Coverage by slot", plot.svg("coverage by slot"),
                 [("measured", "dot", "measured"), ("target", "line", percent(CONFIDENCE))],
                 ("slot", "coverage"), rows)  # fmt: skip


def sampled_chart(classes: Sequence[Calibration]) -> Chart:
    """Coverage by the rows that were sampled of a key, with its binomial interval."""
    ends = [end for one in classes for end in one.interval]
    plot = Plot((-0.5, len(classes) - 0.5), _coverage_range(ends), HALF)
    plot.y_axis([(v, percent(v)) for v in nice_ticks(*plot.y)])
    plot.x_axis([(i, one.group) for i, one in enumerate(classes)])
    plot.rule(CONFIDENCE, "target")
    plot.whiskers([(i, *one.interval) for i, one in enumerate(classes)], "whisker strong")
    plot.marks([(i, one.share) for i, one in enumerate(classes)], "measured", "dot")
    rows = [
        (plot.px(i), (one.group, str(one.intervals), percent(one.share), *map(percent, one.interval)))
        for i, one in enumerate(classes)
    ]
    return Chart("Coverage by sampled rows of the key", plot.svg("coverage by sampled rows"),
                 [("measured", "dot", "measured, with its 95 % interval"), ("target", "line", percent(CONFIDENCE))],
                 ("sampled rows", "intervals", "coverage", "low", "high"), rows)  # fmt: skip


def drift_chart(figures: QueryFigures) -> Chart:
    """Distance of each slot's keys from the slot's before."""
    slots = [slot for slot in figures.recent if not math.isnan(slot.drift)]
    limit = figures.query.gate.drift or figures.query.audit.drift_limit
    top = max([slot.drift for slot in slots] + ([limit] if limit else []), default=0.1)
    plot = _timed(figures.recent, figures, (0.0, top * 1.1 or 0.1), number)
    if limit:
        plot.rule(limit, "limit")
    plot.line([(slot.start, slot.drift) for slot in slots], "main")
    plot.marks([(slot.start, slot.drift) for slot in slots if limit and slot.drift > limit], "mark refused", "cross")
    rows = [(plot.px(slot.start), (instant(slot.start), number(slot.drift))) for slot in slots]
    legend = [("main", "line", "distance from the slot before")] + ([("limit", "line", "limit")] if limit else [])
    return Chart("Drift of the keys", plot.svg("drift by slot"), legend, ("slot", "distance"), rows)


def cost_chart(figures: QueryFigures) -> Chart:
    """Rows of each slot: shed, audits and repairs stacked against what exact takes."""
    slots = [slot for slot in figures.recent if not math.isnan(slot.cost.rows)]
    top = max((max(slot.cost.rows, slot.cost.exact_rows) for slot in slots), default=1.0)
    plot = _timed(figures.recent, figures, (0.0, top * 1.06 or 1.0), number)
    width = max(1.0, min(14.0, 0.7 * (plot.width - 70) / max(1, len(figures.recent))))
    base = {slot.start: 0.0 for slot in slots}
    for part in ("shed", "audit", "repair"):
        text = []
        for slot in slots:
            size = max(0.0, getattr(slot.cost, f"{part}_rows"))
            below, base[slot.start] = base[slot.start], base[slot.start] + size
            if size:
                x, y = plot.px(slot.start) - width / 2, plot.py(base[slot.start])
                text.append(f"M{x:.1f} {y:.1f}h{width:.1f}V{plot.py(below):.1f}h-{width:.1f}z")
        plot.path("".join(text), f"bar {part}")
    plot.line([(slot.start, slot.cost.exact_rows) for slot in slots], "target", step=True)
    rows = [
        (plot.px(s.start), (instant(s.start), *(number(getattr(s.cost, f"{part}_rows")) for part in _PARTS),
                            number(s.cost.bytes), number(s.cost.seconds)))
        for s in slots
    ]  # fmt: skip
    legend = [("bar shed", "area", "shed"), ("bar audit", "area", "audits and priors"),
              ("bar repair", "area", "repairs"), ("target", "line", "rows of the slot: what exact takes")]  # fmt: skip
    return Chart("Rows processed by slot", plot.svg("rows processed by slot"), legend,
                 ("slot", "shed", "audits", "repairs", "exact", "bytes", "seconds"), rows)  # fmt: skip


_PARTS = ("shed", "audit", "repair", "exact")


def what_if_chart(figures: QueryFigures, policies: Sequence[PolicyError]) -> Chart:
    """Error against budget: what audits measured, and what the law of samples expects of other budgets."""
    limit = getattr(figures.query.gate, f"{judged_statistic(figures.query)}_relative_error")
    top = max([one.error for one in policies] + ([limit] if limit else [0.0])) * 2.2 or 0.1
    plot = Plot((math.log10(FRACTIONS[0]), 0.0), (0.0, top))
    plot.y_axis([(v, percent(v)) for v in nice_ticks(0.0, top)])
    plot.x_axis([(math.log10(f), percent(f)) for f in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)])
    if limit:
        plot.rule(limit, "limit")
    for place, one in enumerate(policies):
        curve = [(math.log10(f), e if (e := one.at(f)) <= top else math.nan) for f in FRACTIONS]
        plot.line(curve, f"modelled series{place % 4}")
        plot.marks([(math.log10(one.fraction), one.error)], f"measured series{place % 4}", "dot")
    legend = [(f"measured series{i % 4}", "dot", f"{one.policy}, measured") for i, one in enumerate(policies)]
    legend += [("modelled", "line", "expected at other budgets")] + ([("limit", "line", "limit")] if limit else [])
    rows = [(plot.px(math.log10(f)), (percent(f), *(percent(one.at(f)) for one in policies))) for f in FRACTIONS]
    return Chart("Error against budget", plot.svg("error against budget"), legend,
                 ("budget", *(f"{one.policy} (expected)" for one in policies)), rows)  # fmt: skip


def _timed(
    slots: Sequence[Slot], figures: QueryFigures, y: tuple[float, float], words: Callable[[float], str],
    width: int = WIDTH,
) -> Plot:  # fmt: skip
    """A picture over the slots' time."""
    ends = (slots[0].start, slots[-1].start + figures.query.timeline.slot) if slots else (0, 1)
    plot = Plot((float(ends[0]), float(ends[1])), y, width)
    plot.y_axis([(value, words(value)) for value in nice_ticks(*y)])
    plot.x_axis(time_ticks(*ends, most=width // 100))
    return plot


def _changes(slots: Sequence[Slot]) -> list[Slot]:
    """The slots whose specification is another than that of the run slot before."""
    told = [slot for slot in slots if slot.specification and slot.policy != EXACT]
    return [new for old, new in pairwise(told) if old.specification != new.specification]


def _coverage_range(values: Iterable[float]) -> tuple[float, float]:
    return max(0.0, min([0.8, *values]) - 0.05), 1.02
