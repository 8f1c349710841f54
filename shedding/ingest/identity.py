"""A row's stable identity and its place `u` in [0, 1): the same in every retry, layout and cluster."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn


def identity_of(columns: list[str]) -> Column:
    """64 bits that depend on the values of `columns` only."""
    return fn.xxhash64(*[fn.col(f"`{name}`") for name in columns])


def place_of(identity: Column, salt: str) -> Column:
    """`u`: the upper 53 bits of hash(identity, salt) as an exact double in [0, 1)."""
    return fn.shiftrightunsigned(fn.xxhash64(identity, fn.lit(salt)), 11) / fn.lit(float(2**53))
