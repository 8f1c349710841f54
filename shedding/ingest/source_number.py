"""How raw rows name the source they came from: a number, since every row carries it and texts are costly to write."""

from __future__ import annotations

import hashlib

from shedding import warehouse
from shedding.config import Settings
from shedding.errors import DataError


def source_number(source_id: str) -> int:
    """64 bits of the id, the `_source` of its raw rows; the log, counts and quarantine name the id itself."""
    return int.from_bytes(hashlib.blake2b(source_id.encode(), digest_size=8).digest(), "big", signed=True)


def check_numbered(settings: Settings, dataset: str, kind: str) -> None:
    """DataError where `_source` of the raw rows is of a `kind` of text, as it was before sources had numbers.

    Hidden rows could not be told from visible ones there.
    """
    if "string" in kind:
        kinds = warehouse.raw, warehouse.ingests, warehouse.concepts
        places = [kind(settings, dataset).uri for kind in kinds]
        raise DataError(
            f"{places[0]} was written by an older version, which named sources by text; "
            f"remove {', '.join(places)} and ingest the files again"
        )
