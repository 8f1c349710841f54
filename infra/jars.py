"""Fetch Delta's jars into `.jars/`, once, so that no job resolves packages at run time.

One Spark session with `spark.jars.packages` downloads them through Ivy, for the versions of Delta and Spark that are
installed; of what Ivy brings, only the jars that Spark does not ship already are kept.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

GROUPS = ("io.delta_", "io.unitycatalog_")
"""How Ivy's names of the kept jars begin; all else that Delta depends on is part of Spark."""
TARGET = Path(__file__).resolve().parent.parent / ".jars"
RESOLVE = """
import sys
from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.jars.ivy", sys.argv[1])
for name in ("spark.driver.host", "spark.driver.bindAddress"):
    builder = builder.config(name, "127.0.0.1")
configure_spark_with_delta_pip(builder.config("spark.ui.enabled", "false")).getOrCreate().stop()
"""


class FetchError(Exception):
    """Raised when the jars could not be had; the message names the log with all that the resolver said."""


def fetch(target: Path = TARGET) -> None:
    """Leave exactly the needed jars in `target`; what the resolver says goes to a log, kept where it failed."""
    target.mkdir(exist_ok=True)
    log = target / "resolver.log"
    with tempfile.TemporaryDirectory() as ivy:
        with log.open("wb") as output:
            code = subprocess.run(
                [sys.executable, "-c", RESOLVE, ivy], stdout=output, stderr=output, check=False
            ).returncode
        jars = [path for path in Path(ivy).glob("jars/*.jar") if path.name.startswith(GROUPS)]
        if code or not jars:
            raise FetchError(f"the resolver ended with code {code} and brought {len(jars)} of them; see {log}")
        for stale in target.glob("*.jar"):
            stale.unlink()
        for jar in jars:
            shutil.copy(jar, target / jar.name.split("_", 1)[1])
    log.unlink()


if __name__ == "__main__":
    try:
        fetch()
    except (FetchError, OSError) as error:  # one line for the person at the terminal, not a traceback
        sys.exit(f"[setup] error: Delta's jars could not be fetched from Maven Central: {error}")
