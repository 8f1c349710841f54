"""Which part of a run its seconds went to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

PARTS = ("plan", "scan", "estimate", "write")
"""Counts, what is remembered and rates; raw rows; answers and their errors; commits."""


class Stopwatch:
    """Seconds by part. A part that begins inside another stops the other's clock until it ends.

    Guarantee: every moment counts for one part, so that the parts add up to what the outermost took.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count what is done inside for the part."""
        self._settle()
        self._open.append(name)
        try:
            yield
        finally:
            self._settle()
            self._open.pop()

    def columns(self) -> dict[str, float]:
        """As columns of a run: `plan_seconds`, `scan_seconds`, ..."""
        return {f"{name}_seconds": seconds for name, seconds in self.seconds.items()}

    def _settle(self) -> None:
        now = time.monotonic()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now
