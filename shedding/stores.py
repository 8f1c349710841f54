"""Where tables lie: a directory or an object store behind a URL, seen through the file system that the tables use.

Nothing else looks at what is below the warehouse's root: to `pathlib` a URL is a directory that does not exist.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

SCHEMES = ("file", "s3", "s3a", "gs", "az", "adl", "abfs", "abfss")
"""The kinds of store on which a commit is refused where another writer made the same version first."""


def scheme_of(uri: str) -> str:
    """The scheme of a location, `file` for a path.

    >>> scheme_of("s3a://lake/warehouse"), scheme_of("/data/warehouse")
    ('s3a', 'file')
    """
    return urlsplit(uri).scheme.lower() if "://" in uri else "file"


def local_path(uri: str) -> Path | None:
    """The path of a location on this machine's file system; None for an object store."""
    if scheme_of(uri) != "file":
        return None
    return Path(unquote(urlsplit(uri).path)) if "://" in uri else Path(uri)


def folders(uri: str) -> list[str]:
    """The names of the folders directly below a location, in order; none where there is nothing."""
    from pyarrow.fs import FileSelector, FileType

    path = local_path(uri)
    if path is not None and not path.is_dir():
        return []  # delta-rs would make it
    entries = _handler(uri).get_file_info_selector(FileSelector("", allow_not_found=True, recursive=False))
    return sorted(entry.base_name for entry in entries if entry.type == FileType.Directory)


def read_bytes(uri: str, name: str) -> bytes:
    """The content of the file `name` below a location."""
    with _handler(uri).open_input_file(name) as stream:
        return bytes(stream.read())


def _handler(uri: str) -> Any:
    from deltalake.fs import DeltaStorageHandler

    return DeltaStorageHandler(uri)
