"""What a paper says, what was measured here, and a verdict on the two; a bound that does not hold fails the target."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["reproduced", "with an erratum", "another scale", "contradicted"]


@dataclass(frozen=True)
class Claim:
    """One row of the table. `holds` says whether the measurement is within the bound that `verdict` stands for."""

    figure: str
    what: str
    paper: str
    measured: str
    verdict: Verdict
    holds: bool
    why: str = ""


@dataclass
class Evidence:
    """The claims and plots of a run; figures add to it."""

    data: Path
    claims: list[Claim] = field(default_factory=list)
    plots: dict[str, bytes] = field(default_factory=dict)
    tables: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    def expect(
        self, figure: str, what: str, *, paper: str, measured: str, verdict: Verdict, holds: bool, why: str = ""
    ) -> None:
        """Note a claim; `verdict` is what the bound `holds` was written for."""
        self.claims.append(Claim(figure, what, paper, measured, verdict, bool(holds), why))

    def table(self, figure: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """The figures behind a plot."""
        self.tables[figure] = list(rows)

    @contextmanager
    def plot(self, figure: str, x: str, y: str, **axes: Any) -> Iterator[Any]:
        """Matplotlib's axes of a figure; what is drawn on them becomes a picture of the page."""
        from matplotlib.figure import Figure

        picture = Figure(figsize=(6.4, 3.6), layout="constrained")
        on = picture.subplots()
        yield on
        on.set(xlabel=x, ylabel=y, title=figure, **axes)
        on.grid(alpha=0.3)
        if on.get_legend_handles_labels()[0]:
            on.legend(frameon=False)
        file = io.BytesIO()
        picture.savefig(file, format="png", dpi=110)
        self.plots[figure] = file.getvalue()

    @property
    def broken(self) -> list[Claim]:
        """The claims whose bound does not hold."""
        return [claim for claim in self.claims if not claim.holds]
