"""Rates that differ by key, brought to the rows by the key's 64-bit hash: a fraction of a join on the key itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import functions as sf

from shedding.errors import DataError
from shedding.ingest.key_hash import key_hash
from shedding.keys import Keys
from shedding.rates import Rates

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

Hashes = npt.NDArray[np.int64]

NUMBER = "_number"
"""A known key's place in the list of keys; null for other keys."""
_HASH = "_hash"


def with_rates(
    spark: SparkSession, rows: DataFrame, keys: Sequence[str], legs: Sequence[Rates]
) -> tuple[DataFrame, list[Column], Keys | None]:
    """The rows with each leg's rate at hand, and the keys whose `NUMBER` they carry, if any, in the rows' own types.

    A rate is a literal where it is the same for all keys, else joined. Two keys with one hash share the larger rate,
    which estimates by key do not mind, and have no number.
    """
    varying = [leg for leg in legs if leg.constant is None]
    known: Keys | None = None
    if varying and keys:
        if any(leg.keys is not varying[0].keys for leg in varying):
            raise DataError("the legs of one scan have rates over different keys; allocate them over one list of keys")
        known, hashes = _hashed(spark, rows, varying[0].keys)
        table = spark.createDataFrame(rate_table(hashes, varying))
        rows = rows.join(sf.broadcast(table), _hash_of(keys) == sf.col(_HASH), "left")
    rates: list[Column] = []
    for leg in legs:
        if leg.constant is not None:
            rates.append(sf.lit(float(leg.unseen)))
        elif not keys:
            rates.append(sf.lit(float(leg.values[0])))
        else:
            rates.append(sf.coalesce(sf.col(_rate(varying.index(leg))), sf.lit(float(leg.unseen))))
    return rows, rates, known


def _rate(place: int) -> str:
    return f"_rate{place}"


def _hashed(spark: SparkSession, rows: DataFrame, keys: Keys) -> tuple[Keys, Hashes]:
    """The keys in the rows' own types, and the hash that Spark makes of each; a small list takes no job."""
    columns = [sf.col(f"`{name}`").cast(rows.schema[name].dataType).alias(name) for name in keys.names]
    typed_rows = spark.createDataFrame(keys.table()).select(*columns)
    table = typed_rows.withColumn(_HASH, _hash_of(keys.names)).toArrow()
    typed = Keys(keys.names, tuple(table.column(name).combine_chunks() for name in keys.names), keys.size)
    return typed, np.asarray(table.column(_HASH).to_numpy(), dtype=np.int64)


def _hash_of(keys: Sequence[str]) -> Column:
    return key_hash([sf.col(f"`{key}`") for key in keys])


def rate_table(hashes: Hashes, legs: Sequence[Rates]) -> pa.Table:
    """One row a hash: its key's number (null where several keys have it) and the largest of its keys' rates."""
    found, place, shared = np.unique(hashes, return_inverse=True, return_counts=True)
    number = np.empty(len(found), dtype=np.int64)
    number[place] = np.arange(len(hashes))
    columns = {_HASH: pa.array(found), NUMBER: pa.array(number, mask=shared > 1)}
    for i, leg in enumerate(legs):
        rate = np.zeros(len(found))
        np.maximum.at(rate, place, leg.values)
        columns[_rate(i)] = pa.array(rate)
    return pa.table(columns)
