"""Counting the lines of a text while its bytes pass by, so that any block of it knows its line numbers."""

from __future__ import annotations

BLOCK = 32 << 20
"""Bytes of a block: text files are read in blocks of this size, each by one task."""


class LineCounter:
    """Lines of a text, ended by LF, CR LF or CR; `before[i]` is how many lines precede those of block i.

    As in Hadoop's reader, a line belongs to the block that holds the byte before it; the reader of block i skips the
    partial first line.
    """

    def __init__(self, block: int) -> None:
        self.before: list[int] = [0]
        self.nul = False  # whether there are bytes of value 0, which text has none of
        self.ascii = True
        self.quotes = False
        self._block = block
        self._size = 0
        self._ends = 0
        self._last = b""

    def add(self, chunk: bytes) -> None:
        """Count the next bytes of the text."""
        self.nul = self.nul or b"\0" in chunk
        self.ascii = self.ascii and chunk.isascii()
        self.quotes = self.quotes or b'"' in chunk
        while chunk:
            room = self._block - self._size % self._block
            self._count(chunk[:room])
            chunk = chunk[room:]

    @property
    def lines(self) -> int:
        """Lines so far, a last one without end among them."""
        return self._ends + (self._last not in (b"", b"\n"))

    def _count(self, piece: bytes) -> None:
        # Only now is it known whether a CR before the piece stood alone.
        self._ends += self._last == b"\r" and not piece.startswith(b"\n")
        if self._size and self._size % self._block == 0:
            self.before.append(self._ends + 1)
        self._ends += piece.count(b"\n")
        if b"\r" in piece:
            self._ends += piece.count(b"\r") - piece.count(b"\r\n") - piece.endswith(b"\r")
        self._size += len(piece)
        self._last = piece[-1:]
