"""The table of the promise: every row that is wanted beside what was measured, met or not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[2] / "README.md"
RISK, MOST_OVER, MOST_AFTER_JUMP = 0.05, 0.08, 0.10
LEAST_PUBLISHED = {"x1.5": 0.6, "x2": 0.8}
COVERAGE = (0.93, 0.97)
MOST_OVER_PLAIN = 1.05
MOST_WORSE = 1.03
"""Most that a cell of the README's accuracy may be above its figure."""
MOST_ROWS, ROWS_FROM = 2.0, 25
"""All rows processed over the budget, where audits are one in so many or rarer."""
MOST_GATE_SECONDS = 1.5
ROUNDING = 0.0005
"""Half of the last digit that the README's cells have."""

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Line:
    """One thing that is wanted of one family, cell or limit."""

    what: str
    where: str
    measured: str
    wanted: str
    met: bool

    def __str__(self) -> str:
        return f"| {self.what} | {self.where} | {self.measured} | {self.wanted} | {'yes' if self.met else 'NO'} |"


def table(lines: list[Line]) -> str:
    """The lines as Markdown, by what they are about, what is not met first."""
    order = list(dict.fromkeys(line.what for line in lines))
    lines = sorted(lines, key=lambda line: (order.index(line.what), line.met))
    return "\n".join(["| what | where | measured | wanted | met |", "|---|---|---|---|---|", *map(str, lines)])


def family_lines(name: str, figures: Figures) -> Iterator[Line]:
    """Of a family of streams: shares over the limit and published, coverage, rows."""
    limits = {label: one for label, one in figures.items() if label != "coverage"}
    for label, one in limits.items():
        most = MOST_AFTER_JUMP if "jump" in name else MOST_OVER
        share = f"{one['over']:.3f} [{one['low']:.3f}, {one['high']:.3f}] of {one['published']:.0f}"
        met = one["low"] <= RISK and one["over"] <= most
        yield Line("truly over the limit", f"{name}, {label}", share, f"interval touches {RISK}, at most {most}", met)
    for label, one in limits.items():
        share = f"{one['over_repaired']:.3f} of {one['repaired']:.0f}"
        yield Line("the same after repair", f"{name}, {label}", share, f"<= {RISK}", one["over_repaired"] <= RISK)
    for label in (label for label in LEAST_PUBLISHED if label in limits):
        found, least = limits[label]["published_share"], LEAST_PUBLISHED[label]
        yield Line(
            "published without the whole slot", f"{name}, {label}", f"{found:.2f}", f">= {least}", found >= least
        )
    yield _coverage(name, figures["coverage"]["covered"])
    every = re.search(r"1 in (\d+)", name)
    if every and int(every[1]) >= ROWS_FROM and "x2" in limits:
        rows = limits["x2"]["rows_over_budget"]
        yield Line("all rows over the budget", f"{name}, x2", f"{rows:.2f}", f"<= {MOST_ROWS:g}", rows <= MOST_ROWS)


def measure_lines(figures: Figures) -> Iterator[Line]:
    """Of a stream and a measure, at every budget and share of audits: error over plain sampling, coverage."""
    for cell, one in figures.items():
        ratio = one["over_plain"]
        met = ratio <= MOST_OVER_PLAIN
        yield Line("posterior over the better plain one", cell, f"{ratio:.3f}", f"<= {MOST_OVER_PLAIN}", met)
    for cell, one in figures.items():
        yield _coverage(cell, one["coverage"])


def accuracy_lines(stream: str, figures: Mapping[str, float]) -> Iterator[Line]:
    """Of a stream of the README's accuracy table: each cell over its printed figure."""
    for budget, printed in readme_cells().get(stream, {}).items():
        found = figures[budget]
        met = found <= MOST_WORSE * printed + ROUNDING
        yield Line("README's accuracy of AVG", f"{stream}, {budget}", f"{found:.4f}", f"{printed} and 3 %", met)


def gate_lines(seconds: float) -> Iterator[Line]:
    """Of the gate at 100,000 keys."""
    met = seconds <= MOST_GATE_SECONDS
    yield Line("a gate's seconds", "100,000 keys", f"{seconds:.2f}", f"<= {MOST_GATE_SECONDS}", met)


def readme_cells(text: str | None = None) -> dict[str, dict[str, float]]:
    """Stream -> budget -> the mean error that the README prints for `posterior`.

    >>> readme_cells("| green, week, zone | .8 .7 .6 | .4 | .3 | .3 | **.100 .053 .025** | .121 | .98 |")
    {'green week': {'2%': 0.1, '5%': 0.053, '10%': 0.025}}
    """
    found = {}
    for line in (README.read_text() if text is None else text).splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        bold = next((cell for cell in cells if re.fullmatch(r"\*\*(\.\d+ ?){3}\*\*", cell)), None)
        if bold is not None:
            stream = " ".join(cells[0].split(", ")[:2])
            found[stream] = dict(zip(("2%", "5%", "10%"), map(float, bold.strip("*").split()), strict=True))
    return found


def _coverage(where: str, found: float) -> Line:
    low, high = COVERAGE
    wanted = f"{low} to {high}" + (", quantiles above" if re.search(r"\bp\d\d", where) else "")
    met = low <= found and (found <= high or "above" in wanted)
    return Line("coverage of 95 %, unaudited", where, f"{found:.3f}", wanted, met)


def lines_of(part: str, figures: Any) -> list[Line]:
    """The lines of a part by its kind, which its name begins with."""
    kind, _, name = part.partition(": ")
    match kind:
        case "stream":
            return list(family_lines(name, figures))
        case "measure":
            return list(measure_lines(figures))
        case "accuracy":
            return list(accuracy_lines(name, figures))
        case _:
            return list(gate_lines(figures["seconds"]))
