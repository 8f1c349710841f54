"""Pictures as SVG text: scales, axes, lines, bands and marks. Looks come from the page's style sheet, by class.

Many points are one path, so that a picture of thousands stays small. Every text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from shedding.spec.times import UNITS, as_datetime

WIDTH, HALF, HEIGHT = 1040, 520, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 26
_HOUR, _DAY = UNITS["hour"], UNITS["day"]
_STEPS = [_HOUR * n for n in (1, 2, 3, 6, 12)] + [_DAY * n for n in (1, 2, 4, 7, 14, 28, 91, 182, 365, 3650)]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map of [low, high] onto pixels [start, end]; a single value lies in the middle."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The pixel of a value, clipped a little outside the range."""
        if self.high <= self.low:
            return (self.start + self.end) / 2
        part = min(max((value - self.low) / (self.high - self.low), -0.02), 1.02)
        return self.start + part * (self.end - self.start)


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round values in [low, high], at most about `most` of them.

    >>> nice_ticks(0, 0.23)
    [0.0, 0.05, 0.1, 0.15, 0.2]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(step * n, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def time_ticks(low: int, high: int, most: int = 7) -> list[tuple[int, str]]:
    """Instants at whole hours or days in [low, high] with short names."""
    step = next((s for s in _STEPS if (high - low) / s <= most), _STEPS[-1])
    form = "%H:%M" if step < _DAY else "%d %b" if step < 182 * _DAY else "%b %Y"
    ticks = range(-(-low // step) * step, high + 1, step)
    return [(t, as_datetime(t).strftime("%d %b" if step < _DAY and t % _DAY == 0 else form)) for t in ticks]


@dataclass
class Plot:
    """A picture under construction: x and y scales inside the margins, parts in the order of drawing."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    parts: list[Markup] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.px = Scale(*self.x, self.left + 4, self.width - RIGHT - 4)
        self.py = Scale(*self.y, self.height - BOTTOM, TOP)

    def y_axis(self, ticks: Sequence[tuple[float, str]]) -> None:
        """Horizontal grid lines with their values."""
        for value, text in ticks:
            y = self.py(value)
            self.parts.append(
                Markup('<path class="grid" d="M{} {:.1f}H{}"/>').format(self.left, y, self.width - RIGHT)
                + Markup('<text class="tick" x="{}" y="{:.1f}" text-anchor="end">{}</text>').format(
                    self.left - 6, y + 3.5, text
                )
            )

    def x_axis(self, ticks: Iterable[tuple[float, str]]) -> None:
        """Names below the picture."""
        base = self.height - BOTTOM
        for value, text in ticks:
            x = self.px(value)
            anchor = "start" if x < self.left + 20 else "end" if x > self.width - RIGHT - 20 else "middle"
            self.parts.append(
                Markup('<path class="notch" d="M{:.1f} {}v4"/><text class="tick" x="{:.1f}" y="{}" text-anchor="{}">'
                       "{}</text>").format(x, base, x, base + 17, anchor, text)
            )  # fmt: skip

    def line(self, points: Iterable[Point], kind: str, step: bool = False) -> None:
        """A line through the points; a point that is no number interrupts it."""
        text, drawing, last = [], False, ""
        for x, y in points:
            if math.isnan(y):
                drawing = False
                continue
            px, py = f"{self.px(x):.1f}", f"{self.py(y):.1f}"
            if not drawing:
                text.append(f"M{px} {py}")
            elif step:
                text.append(f"H{px}" if py == last else f"H{px}V{py}")
            else:
                text.append(f"L{px} {py}")
            drawing, last = True, py
        self.path("".join(text), kind)

    def band(self, points: Sequence[tuple[float, float, float]], kind: str) -> None:
        """The area between low and high of (x, low, high); gaps where either is no number."""
        text, piece = [], list[tuple[float, float, float]]()
        for point in [*points, (0.0, math.nan, math.nan)]:
            if not (math.isnan(point[1]) or math.isnan(point[2])):
                piece.append(point)
            elif piece:
                up = "L".join(f"{self.px(x):.1f} {self.py(high):.1f}" for x, _, high in piece)
                down = "L".join(f"{self.px(x):.1f} {self.py(low):.1f}" for x, low, _ in reversed(piece))
                text.append(f"M{up}L{down}Z")
                piece = []
        self.path("".join(text), kind)

    def rule(self, y: float, kind: str) -> None:
        """A horizontal line across the picture."""
        self.path(f"M{self.left} {self.py(y):.1f}H{self.width - RIGHT}", kind)

    def upright(self, x: float, kind: str) -> None:
        """A vertical line across the picture."""
        self.path(f"M{self.px(x):.1f} {TOP}V{self.height - BOTTOM}", kind)

    def marks(self, points: Iterable[Point], kind: str, shape: str) -> None:
        """The same mark at every point: `dot`, `diamond`, `cross`, `triangle` or `square`."""
        form = _SHAPES[shape]
        self.path("".join(f"M{self.px(x):.1f} {self.py(y):.1f}{form}" for x, y in points if not math.isnan(y)), kind)

    def whiskers(self, points: Iterable[tuple[float, float, float]], kind: str) -> None:
        """A vertical line from low to high of each (x, low, high)."""
        self.path(
            "".join(
                f"M{self.px(x):.1f} {self.py(low):.1f}V{self.py(high):.1f}"
                for x, low, high in points
                if not (math.isnan(low) or math.isnan(high))
            ),
            kind,
        )

    def path(self, d: str, kind: str) -> None:
        """A path of a class; nothing where it is empty."""
        if d:
            self.parts.append(Markup('<path class="{}" d="{}"/>').format(kind, d))

    def text(self, x: float, y: float, text: str, kind: str = "note", anchor: str = "start") -> None:
        """A text at pixels."""
        form = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
        self.parts.append(form.format(kind, x, y, anchor, text))

    def svg(self, label: str) -> Markup:
        """The whole picture, with the line that follows the pointer."""
        head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}" preserveAspectRatio="xMidYMid meet">')
        hair = Markup('<path class="hair" d="M0 {}V{}"/></svg>').format(TOP, self.height - BOTTOM)
        return head.format(self.width, self.height, label) + Markup("").join(self.parts) + hair


_SHAPES = {
    "dot": "h0",  # a line without length and with round ends
    "diamond": "m0-4l4 4-4 4-4-4z",
    "cross": "m-3.5-3.5l7 7m0-7l-7 7",
    "triangle": "m0-5l5 9h-10z",
    "square": "m-4-4h8v8h-8z",
}


def sparkline(values: Sequence[float]) -> Markup:
    """A small line of a budget between 0 and 1, the zero line below it."""
    plot = Plot((0, max(1, len(values) - 1)), (min(0.0, *values, 0.0), 1.0), 120, 28 + TOP + BOTTOM, left=2)
    plot.rule(0.0, "zero")
    plot.band([(i, 0.0, v) for i, v in enumerate(values)], "fill")
    plot.line(list(enumerate(values)), "main")
    box = Markup('<svg class="spark" viewBox="0 {} 120 32" aria-hidden="true">').format(TOP - 2)
    return box + Markup("").join(plot.parts) + Markup("</svg>")
