"""Spark's configuration as plain data, so that DAG files can use it without importing pyspark."""

from __future__ import annotations

from pathlib import Path

from shedding.config import Settings
from shedding.errors import ConfigError

_LOGGING = Path(__file__).with_name("log4j2.properties")


def spark_conf(settings: Settings) -> dict[str, str]:
    """What every job's session is configured with; `spark.jars` names files, nothing is resolved at run time."""
    jars = sorted(settings.jars.glob("*.jar"))
    if not jars:
        raise ConfigError(f"no jars in {settings.jars}; run `make setup`, or point SLUICE_JARS at Delta's jars")
    conf = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "UTC",
        # Else a filter's instants go to Parquet by way of the calendar that lacks 1582-10-05 to 14: rows would be lost.
        "spark.sql.datetime.java8API.enabled": "true",
        # Else `${env:HOME}` in a text of a specification's condition is read as what the environment has.
        "spark.sql.variable.substitute": "false",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        # Small logs: without these a small commit runs 50 to 200 tasks.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
        # Tasks small enough to be shared out evenly: by default 300 MB are three tasks, on two cores two rounds.
        "spark.sql.files.maxPartitionBytes": "32m",
        # What opening a file counts for in that: at 4 MB, the default, a task would read a handful of ranked files.
        "spark.sql.files.openCostInBytes": "1m",
        # A task's groups up to 2**18 in the quick table of an aggregation, not 2**16: a fifth off a scan of many legs.
        "spark.sql.codegen.aggregate.fastHashMap.capacityBit": "18",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Eight bytes with statistics; Spark's default, INT96, is slow to decode and has none.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={_LOGGING}" {settings.java_options}'.rstrip(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Tables stay readable by every Delta reader.
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    }
    if settings.master.startswith("local"):
        conf |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return conf
