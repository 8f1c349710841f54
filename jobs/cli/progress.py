"""Progress: one line rewritten on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self, TextIO


class Progress:
    """Reports steps of a known or unknown number; on a terminal the line is cleared at the end."""

    def __init__(self, label: str, total: int | None = None, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = total
        self._stream = stream or sys.stderr
        self._done = 0
        self._terminal = self._stream.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._write("\r\x1b[K")

    def step(self, text: str) -> None:
        """One more step is done, or (without a total) is going on."""
        self._done += 1
        count = f" {self._done}/{self._total}" if self._total else ""
        line = f"{self._label}{count}: {text}"
        self._write(f"\r\x1b[K{line}" if self._terminal else f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
