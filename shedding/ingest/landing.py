"""Files as they lie in the landing directory: found, hashed, and refused where they cannot be what they claim."""

from __future__ import annotations

import csv
import gzip
import hashlib
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from shedding.config import Settings
from shedding.errors import SourceError, innermost
from shedding.ingest.line_counter import BLOCK, LineCounter
from shedding.spec.dataset import DatasetSpec, DelimitedSource, FileSource, ParquetSource

CHUNK = 1 << 22
BETWEEN = "\n"
"""What stands between name and type in a Parquet file's layout; no type has one, and names may have colons."""
_PEEK, _LONGEST = 1 << 16, 1 << 24
_GLOB_SIGNS = frozenset("*?[]{}:\\")
_UNREAD = frozenset({".br", ".bz2", ".deflate", ".lz4", ".snappy", ".xz", ".zip", ".zst"})
"""Endings of compressed texts that are not read here, among them those by which Spark takes a text for compressed."""
_UNPACKED = frozenset({"BROTLI", "LZO"})
"""Compressions of Parquet that Spark has no code for."""
_ENDS = frozenset(b"\n\r\0")
_DAMAGES = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A file that can be ingested: its name below the landing directory, its content's hash, its layout.

    `layout` is what tells files apart that cannot be read together: header names, or a Parquet schema. Of a text,
    `lines` are all its lines and `before` those before each block of it; a compressed one is one block. `nul` says
    that bytes of value 0 are somewhere among them, `ascii` that none is above 127, `quotes` that some are quotes:
    what a file has none of need not be looked for in every line. `stamp` is what changes when the file does.
    """

    path: Path
    name: str
    content: str
    size: int
    layout: tuple[str, ...]
    lines: int = 0
    before: tuple[int, ...] = (0,)
    nul: bool = False
    ascii: bool = False
    quotes: bool = True
    stamp: tuple[int, ...] = ()


def landed_files(settings: Settings, dataset: DatasetSpec) -> list[Path]:
    """The files that the dataset's glob finds, by name; hidden and unfinished ones (`.x`, `_x`, `*.part`) are not."""
    source = dataset.source
    if not isinstance(source, FileSource):
        return []
    found = [path for path in settings.landing.glob(source.path) if _may_be_file(path)]
    return sorted(path for path in found if path.name[0] not in "._" and path.suffix not in (".part", ".tmp"))


def inspect(settings: Settings, dataset: DatasetSpec, path: Path) -> LandedFile:
    """Everything about a file that is known without parsing it.

    Raises SourceError, and nothing else, for a file that cannot be taken: missing, empty, cut short, binary where text
    is declared, without a declared column, or odd in a way that nobody thought of. Nothing of such a file is kept.
    """
    try:
        return _inspected(settings, dataset, path)
    except SourceError:
        raise
    except OSError as error:
        why = error.strerror or innermost(error)
        raise SourceError(f"{readable(path)} cannot be read ({why}); fix its permissions, or remove it") from error
    except Exception as error:
        raise SourceError(unfit(path, error)) from error


def unfit(path: Path, error: Exception) -> str:
    """Words on a file that cannot be taken for a reason that only the error knows."""
    return (
        f"{readable(path)} cannot be ingested ({type(error).__name__}: {innermost(error)}); nothing of it was kept; "
        "fix the file, or remove it"
    )


def changed(file: LandedFile) -> bool:
    """Whether a file is, or was for a while, another than when it was inspected.

    The stamp tells of a file that was put in its place and taken away again; the content of one that was written anew
    within the same tick of the clock, or on a file system without such ticks.
    """
    try:
        return _stamp(file.path) != file.stamp or _passed(file.path, binary=True)[0] != file.content
    except OSError:
        return True


def _stamp(path: Path) -> tuple[int, ...]:
    """What no writer can leave or set back: which file it is, how large, when it changed by the system's own clock."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _may_be_file(path: Path) -> bool:
    """Whether to look at it: also where that cannot be told, so that it is refused by name."""
    try:
        return path.is_file()
    except OSError:
        return True


def _inspected(settings: Settings, dataset: DatasetSpec, path: Path) -> LandedFile:
    if not path.is_file():
        raise SourceError(f"{path} does not exist or is no file; check the name")
    if readable(path) != str(path):
        raise SourceError(f"{readable(path)} has a name that is no UTF-8 text; rename it")
    strange = sorted({sign for sign in str(path.resolve()) if sign in _GLOB_SIGNS or ord(sign) < ord(" ")})
    if strange:
        raise SourceError(f"{path} has {' '.join(map(repr, strange))} in its name, which Spark misreads; rename it")
    stamp = _stamp(path)  # before anything is read
    size = path.stat().st_size
    if size == 0:
        raise SourceError(f"{path} is empty; deliver it again, or remove it")
    columnar = isinstance(dataset.source, ParquetSource)
    layout = _parquet_layout(path, dataset) if columnar else _text_layout(path, dataset)
    if columnar or _has_header(dataset):
        listed = [part.rpartition(BETWEEN)[0] for part in layout] if columnar else list(layout)
        names = set(listed)
        # A text's columns are told apart by place, those of Parquet by Spark, which is blind to case.
        alike = [name.lower() for name in listed] if columnar else listed
        doubled = sorted({name for name, sign in zip(listed, alike, strict=True) if alike.count(sign) > 1})
        if doubled:
            shown = " and ".join(map(repr, doubled))
            raise SourceError(f"{path} has the column {shown} more than once; rename or remove one of them")
        missing = [c.source or c.name for c in dataset.columns if (c.source or c.name) not in names]
        if missing:
            raise SourceError(
                f"{path} lacks the declared column{'s' * (len(missing) > 1)} {', '.join(missing)}; it has "
                f"{', '.join(sorted(names - {''}))[:300] or 'none'}; fix the file, or `source:` in "
                f"datasets/{dataset.name}.yaml"
            )
    content, counter = _passed(path, columnar)
    place = path.resolve(), _name(settings, path)
    signs = counter.nul, counter.ascii, counter.quotes
    return LandedFile(*place, content, size, layout, counter.lines, tuple(counter.before), *signs, stamp)


def readable(path: Path) -> str:
    """A path as text that can be printed, whatever bytes its name has."""
    return str(path).encode("utf-8", "replace").decode()


def _has_header(dataset: DatasetSpec) -> bool:
    return isinstance(dataset.source, DelimitedSource) and dataset.source.header


def _name(settings: Settings, path: Path) -> str:
    """A file's name as the log knows it: below the landing directory, or alone where it lies elsewhere."""
    try:
        return path.resolve().relative_to(settings.landing.resolve()).as_posix()
    except ValueError:
        return path.name


def _passed(path: Path, binary: bool) -> tuple[str, LineCounter]:
    """The hash of a file's bytes and the lines of its text, in one pass; a second one where it is compressed."""
    digest, counter = hashlib.blake2b(digest_size=16), LineCounter(BLOCK)
    zipped = path.suffix == ".gz"
    with path.open("rb") as stream:
        for chunk in _chunks(stream):
            digest.update(chunk)
            if not (binary or zipped):
                counter.add(chunk)
    return digest.hexdigest(), _unzipped_lines(path) if zipped and not binary else counter


def _unzipped_lines(path: Path) -> LineCounter:
    counter = LineCounter(sys.maxsize)
    try:
        with path.open("rb") as stream:
            for chunk in _unzipped(stream):
                counter.add(chunk)
    except _DAMAGES as error:
        raise _damaged(path, error) from error
    return counter


def _unzipped(stream: IO[bytes]) -> Iterator[bytes]:
    """What a gzip file holds, one member after another; bytes that are no member are damage, also zeros.

    Python's reader passes over zeros at the end, Hadoop's fails on them in the middle of a job.
    """
    member = zlib.decompressobj(wbits=31)
    for chunk in _chunks(stream):
        rest = chunk
        while rest:
            if member.eof:
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(rest)
            rest = member.unused_data
    if not member.eof:
        raise EOFError("it ends in the middle")


def _damaged(path: Path, error: Exception) -> SourceError:
    return SourceError(f"{path} is cut short or damaged ({error}); nothing of it was kept; deliver it again")


def _text_layout(path: Path, dataset: DatasetSpec) -> tuple[str, ...]:
    """The header's names where there is one."""
    if path.suffix in _UNREAD:
        raise SourceError(
            f"{path} ends in {path.suffix}, and of compressed texts gzip is read; deliver it as .gz or plain"
        )
    with path.open("rb") as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
    if zipped != (path.suffix == ".gz"):
        raise SourceError(
            f"{path} is {'' if zipped else 'not '}gzip, against its ending; rename it or deliver it again"
        )
    try:
        with cast(IO[bytes], gzip.open(path, "rb") if zipped else path.open("rb")) as stream:
            start = stream.read(_PEEK)
            # A header of thousands of columns is read whole; a line without end is none.
            while len(start) < _LONGEST and not _ENDS.intersection(start) and (more := stream.read(CHUNK)):
                start += more
    except _DAMAGES as error:
        raise _damaged(path, error) from error
    if b"\x00" in start:
        raise SourceError(f"{path} is binary, not text; deliver text, or declare another source kind")
    if not start.strip():
        raise SourceError(f"{path} holds no line of text; deliver it again, or remove it")
    if not _has_header(dataset):
        return ()
    return _header(path, start.splitlines()[0], dataset)


def _header(path: Path, line: bytes, dataset: DatasetSpec) -> tuple[str, ...]:
    assert isinstance(dataset.source, DelimitedSource)
    mark = {"whitespace": None, "tab": "\t"}.get(dataset.source.delimiter, dataset.source.delimiter)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}, line 1 is not UTF-8 text ({error}); deliver UTF-8") from error
    if mark in (None, "\t"):
        return tuple(name.strip().strip('"') for name in text.split(mark))
    try:
        return tuple(name.strip() for name in next(csv.reader([text], delimiter=mark, skipinitialspace=True)))
    except csv.Error as error:
        raise SourceError(f"{path}, line 1 is no header ({error}); fix the file, or remove it") from error


def _parquet_layout(path: Path, dataset: DatasetSpec) -> tuple[str, ...]:
    import pyarrow.parquet as pq
    from pyarrow.lib import ArrowException

    try:
        with pq.ParquetFile(path) as file:
            stored, schema, packed = file.schema, file.schema_arrow, _packed(file.metadata, dataset)
    except (ArrowException, OSError) as error:
        first = str(error).splitlines()[0]
        raise SourceError(f"{path} is no Parquet file or is cut short ({first}); deliver it again") from error
    if packed & _UNPACKED:
        raise SourceError(
            f"{path} is compressed by {', '.join(sorted(packed & _UNPACKED)).capitalize()}, which Spark does not read; "
            "write it with zstd, snappy or gzip"
        )
    # Arrow maps INT96 and nanosecond timestamps to one type; Spark reads them differently.
    old = {leaf.path for leaf in map(stored.column, range(len(stored))) if leaf.physical_type == "INT96"}
    return tuple(f"{field.name}{BETWEEN}{'hive ' * (field.name in old)}{field.type}" for field in schema)


def _packed(metadata: Any, dataset: DatasetSpec) -> set[str]:
    """By what the declared columns of a Parquet file are compressed."""
    declared = {column.source or column.name for column in dataset.columns}
    leaves = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    places = [
        place
        for place, path in enumerate(leaves)
        if any(path == name or path.startswith(f"{name}.") for name in declared)
    ]
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return {str(group.column(place).compression) for group in groups for place in places}


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk
