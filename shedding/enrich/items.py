"""What the cost of a call goes by, as one whole number: the item that a cost sketch knows rows by."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shedding.keys import align

Ints = npt.NDArray[np.int64]


def items_of(column: str, rows: pa.Table, by: Sequence[str]) -> Ints:
    """The item of each row for the function that makes `column`: 64 bits of the values of the columns `by`.

    Made of values, not of how they are stored: rows in a worker and counts of arrival have the same items.
    """
    keys, (place,) = align([rows], by)
    values = [_plain(held).to_pylist() for held in keys.columns]
    texts = (json.dumps([column, *one], default=str) for one in zip(*values, strict=True))
    hashes = [_hash(text) for text in texts] if by else [_hash(json.dumps([column]))]
    return np.array(hashes, dtype=np.int64)[place] if hashes else np.zeros(rows.num_rows, dtype=np.int64)


def _plain(values: Any) -> Any:
    """Instants as microseconds, whatever zone and unit they are held in."""
    if not pa.types.is_timestamp(values.type):
        return values
    return values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)
