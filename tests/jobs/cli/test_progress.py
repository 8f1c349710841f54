"""Progress is a bar where somebody looks at it, and plain lines in a file."""

from __future__ import annotations

import io
import sys

import pytest

from jobs.cli.progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_in_a_file_every_step_is_a_line_and_nothing_else() -> None:
    stream = io.StringIO()
    with Progress("run fares", 2, stream) as progress:
        progress.step("slot one")
        progress.step("slot two")
    assert stream.getvalue() == "run fares 1/2: slot one\nrun fares 2/2: slot two\n"


def test_without_a_number_of_steps_none_is_counted() -> None:
    stream = io.StringIO()
    with Progress("ingest trips", stream=stream) as progress:
        progress.step("looking at [a]")
    assert stream.getvalue() == "ingest trips: looking at [a]\n"


@pytest.mark.parametrize("total", [3, None])
def test_on_a_terminal_a_bar_shows_the_step_and_leaves_the_cursor(
    total: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with Progress("run fares", total, stream) as progress:
        progress.step("slot [one]")
        progress.step("slot [two]")
    text = stream.getvalue()
    assert "run fares: slot [two]" in text
    assert ("1/3" in text) is (total is not None)
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")


def test_what_is_printed_beside_a_bar_reaches_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with Progress("run fares", 1, Terminal()):
        assert sys.stdout is before
        print("a line for a file")
    assert capsys.readouterr().out == "a line for a file\n"
