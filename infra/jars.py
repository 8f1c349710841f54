"""Fetch Delta's jars into `.jars/`, once, so that no job resolves packages at run time.

One Spark session with `spark.jars.packages` downloads them through Ivy; of what Ivy brings, only
the jars that Spark does not ship already are kept.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

DELTA = "4.4.0"
UNITY_CATALOG = "0.6.0"
JARS = (
    f"delta-spark_4.2_2.13-{DELTA}.jar",
    f"delta-storage-{DELTA}.jar",
    f"delta-kernel-api-{DELTA}.jar",
    f"delta-kernel-defaults-{DELTA}.jar",
    f"delta-kernel-unitycatalog-{DELTA}.jar",
    f"unitycatalog-client-{UNITY_CATALOG}.jar",
    f"unitycatalog-hadoop-{UNITY_CATALOG}.jar",
)
TARGET = Path(__file__).resolve().parent.parent / ".jars"


def fetch(target: Path = TARGET) -> None:
    """Leave exactly the needed jars in `target`, or raise naming the one that is missing."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as ivy:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.jars.packages", f"io.delta:delta-spark_4.2_2.13:{DELTA}")
            .config("spark.jars.ivy", ivy)
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .getOrCreate()
        )
        spark.stop()
        target.mkdir(exist_ok=True)
        downloaded = {path.name.split("_", 1)[-1]: path for path in Path(ivy).glob("jars/*.jar")}
        for jar in JARS:
            source = next((p for name, p in downloaded.items() if name.endswith(jar)), None)
            if source is None:
                raise FileNotFoundError(f"Ivy brought no {jar}; it brought {sorted(downloaded)}")
            shutil.copy(source, target / jar)
    (target / ".complete").write_text("\n".join(JARS) + "\n")


if __name__ == "__main__":
    try:
        fetch()
    except Exception as error:  # one line for the person at the terminal, not a traceback
        sys.exit(f"[setup] error: Delta's jars could not be fetched from Maven Central: {error}")
