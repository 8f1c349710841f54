"""Lines counted while bytes pass: as a text editor counts them, and as Hadoop's readers share them out."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from shedding.ingest.line_counter import LineCounter

TEXTS = st.text("ab \r\n", max_size=60).map(str.encode)


def starts_of(text: bytes) -> list[int]:
    """Where each line begins."""
    begins = [0, *(end.end() for end in re.finditer(rb"\r\n|\r|\n", text))]
    return [begin for begin in begins if begin < len(text)]


@given(TEXTS, st.integers(1, 20), st.integers(1, 20))
def test_every_block_knows_how_many_lines_precede_its_own(text: bytes, block: int, chunk: int) -> None:
    counter = LineCounter(block)
    for place in range(0, len(text), chunk):
        counter.add(text[place : place + chunk])

    starts = starts_of(text)
    assert counter.lines == len(starts)
    for number, before in enumerate(counter.before[1:], 1):
        later = [begin for begin in starts if begin > number * block]
        if later:
            assert before == len(starts) - len(later)
    assert len(counter.before) == max(1, -(-len(text) // block))


def test_line_ends_of_dos_count_once_even_between_two_chunks() -> None:
    counter = LineCounter(2)
    for chunk in (b"a\r", b"\nb", b"\r"):
        counter.add(chunk)
    assert (counter.lines, counter.before) == (2, [0, 1, 2])


def test_a_text_knows_whether_some_checks_of_its_lines_can_fail() -> None:
    def signs(*chunks: bytes) -> tuple[bool, bool, bool]:
        counter = LineCounter(64)
        for chunk in chunks:
            counter.add(chunk)
        return counter.nul, counter.ascii, counter.quotes

    assert signs(b"a,b\n", b"c\n") == (False, True, False)
    assert signs(b"a\0", b"c") == (True, True, False)
    assert signs("\u00e9".encode()[:1], b"\xa9") == (False, False, False)
    assert signs(b'"a"', b"b") == (False, True, True)
