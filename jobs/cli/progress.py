"""Progress: a bar with its rate and the time that remains on a terminal, plain lines elsewhere; on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """Reports steps of a known or unknown number; on a terminal the bar is cleared at the end."""

    def __init__(self, label: str, total: int | None = None, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = total
        self._stream = stream or sys.stderr
        self._steps = 0
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            self._bar = _bar(self._stream, self._total is not None)
            self._bar.add_task(self._label, total=self._total)
            self._bar.start()
            self._bar.console.show_cursor(True)  # Ctrl-C may end the process without a clean-up
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self, text: str) -> None:
        """The next step begins: those before it are done."""
        if self._bar is not None:
            task = self._bar.tasks[0]
            self._bar.update(task.id, description=f"{self._label}: {text}", completed=self._steps)
        self._steps += 1
        if self._bar is None:
            count = f" {self._steps}/{self._total}" if self._total else ""
            self._stream.write(f"{self._label}{count}: {text}\n")
            self._stream.flush()


def _bar(stream: TextIO, counted: bool) -> Bar:
    """Rich's bar; of steps whose number is not known only the time that passed is shown."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            return Text("" if task.speed is None else f"{60 * task.speed:.3g}/min")

    steps = [BarColumn(), MofNCompleteColumn(), Rate(), TimeElapsedColumn(), TimeRemainingColumn()]
    columns = steps if counted else [TimeElapsedColumn()]
    label = TextColumn("{task.description}", markup=False)
    # What is printed meanwhile goes above the bar, unless it goes to a file.
    above = sys.stdout.isatty()
    return Bar(label, *columns, console=Console(file=stream), transient=True, redirect_stdout=above)
