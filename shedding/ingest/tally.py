"""How many records a batch has and what became of them, counted while Spark reads them for another purpose."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as fn


@dataclass(frozen=True)
class Tally:
    """Of the `rows` of a frame `read` are records: each kept, broken or excluded, for one of so many reasons."""

    rows: int
    read: int
    broken: int = 0
    excluded: tuple[int, ...] = ()

    @property
    def kept(self) -> int:
        """What is neither broken nor excluded."""
        return self.read - self.broken - sum(self.excluded)


def tallied(frame: DataFrame, seen: Observation, reasons: int) -> DataFrame:
    """The frame, whose rows with their `_verdict` are counted by whoever reads all of it first."""
    excluded = [fn.count_if(fn.col("_verdict") == -place).alias(f"excluded{place}") for place in range(1, reasons + 1)]
    return frame.observe(
        seen,
        fn.count("*").alias("rows"),
        fn.count("_verdict").alias("read"),
        fn.count_if(fn.col("_verdict") > 0).alias("broken"),
        *excluded,
    )


def tally_of(seen: Observation) -> Tally:
    """What was counted; to be asked for after the frame was read."""
    found: dict[str, int] = dict(seen.get)
    excluded = tuple(count for name, count in found.items() if name.startswith("excluded"))
    return Tally(found["rows"], found["read"], found["broken"], excluded)
