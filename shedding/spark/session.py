"""The one way a Spark session is made."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from shedding.config import Settings
from shedding.errors import ConfigError
from shedding.spark.conf import spark_conf


def start_session(settings: Settings, name: str) -> SparkSession:
    """A session with Delta, in UTC; ConfigError where Java is missing.

    Under spark-submit the JVM is there already and its configuration wins.
    """
    builder = SparkSession.builder.appName(name).master(settings.master)
    for key, value in spark_conf(settings).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (FileNotFoundError, PySparkRuntimeError) as error:
        if "JAVA" not in str(error).upper():
            raise
        raise ConfigError(
            "Java 17 or newer is missing; run `make setup`, or install it "
            "(Debian/Ubuntu: apt-get install openjdk-17-jre-headless) and set JAVA_HOME"
        ) from error
    logging.getLogger("py4j").setLevel(logging.ERROR)
    return session


@contextmanager
def spark_session(settings: Settings, name: str) -> Iterator[SparkSession]:
    """A session that is stopped at the end, unless it was there before (a test's, a notebook's)."""
    existing = SparkSession.getActiveSession()
    session = existing or start_session(settings, name)
    try:
        yield session
    finally:
        if existing is None:
            session.stop()
