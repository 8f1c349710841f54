"""What a scan returns: the rows that it grouped, and what reading them cost."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Read:
    """What a scan found, and the bytes of the files that it could not skip."""

    table: pa.Table
    bytes: int
