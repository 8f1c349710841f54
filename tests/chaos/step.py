"""The process that gets killed: `python -m tests.chaos.step STAGE DIRECTORY`; says `ready` before it begins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chaos.city import build_city
from tests.chaos.stages import SPARK, run_stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(stage: str, directory: Path) -> None:
    import jobs.publish
    import jobs.repair  # noqa: F401 - so that the time after `ready` is the stage's own

    settings = build_city(directory)
    spark: SparkSession | None = None
    if stage in SPARK:
        from shedding.spark.session import start_session

        spark = start_session(settings, f"chaos {stage}")

    def session() -> SparkSession:
        assert spark is not None
        return spark

    print("ready", flush=True)
    run_stage(stage, directory, session)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
