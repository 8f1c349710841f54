"""What several commands take: instants and an interval of time."""

from __future__ import annotations

import argparse
from pathlib import Path

from shedding.errors import SluiceError
from shedding.spec.times import LONGEST, format_instant, parse_instant

PICTURES = (".png", ".svg", ".pdf", ".jpg")
_FIRST, _END = parse_instant("0001-01-01") + 2 * LONGEST, parse_instant("9999-12-31") - 2 * LONGEST


def instant(text: str) -> int:
    """An ISO instant on the command line, in microseconds; far enough from the calendar's ends for any slot."""
    try:
        micros = parse_instant(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is {error}") from None
    if not _FIRST <= micros < _END:
        room = f"{format_instant(_FIRST)} to {format_instant(_END)}"
        raise argparse.ArgumentTypeError(f"{text!r} is too near the calendar's end; write one from {room}")
    return micros


def add_interval(parser: argparse.ArgumentParser, required: bool) -> None:
    """The options `--from T --to T`."""
    parser.add_argument("--from", dest="start", type=instant, metavar="T", required=required, help="first instant, ISO")
    parser.add_argument("--to", dest="end", type=instant, metavar="T", required=required, help="instant after the last")


def interval(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """The interval [from, to), None where neither is given; both or none, and not empty."""
    start, end = arguments.start, arguments.end
    if start is None and end is None:
        return None
    if start is None or end is None:
        raise SluiceError("--from and --to go together; give both")
    if start >= end:
        raise SluiceError(f"--from {format_instant(start)} is not before --to {format_instant(end)}; swap them")
    return start, end


def checked_picture(file: Path | None) -> None:
    """Refuse, before any work is done for it, the file of a picture that could not be written."""
    if file is None:
        return
    if not file.absolute().parent.is_dir():
        raise SluiceError(f"--plot {file}: its directory does not exist; make it, or name another file")
    if file.is_dir() or file.suffix.lower() not in PICTURES:
        raise SluiceError(f"--plot {file}: no file of a picture; name one that ends in {', '.join(PICTURES)}")


def required_interval(arguments: argparse.Namespace) -> tuple[int, int]:
    """The interval of a command that requires both options."""
    span = interval(arguments)
    assert span is not None
    return span
