"""The one way a Spark session is made."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pyspark.errors import PySparkRuntimeError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from shedding.config import Settings
from shedding.errors import ConfigError
from shedding.interruption import raise_quietly
from shedding.job_environment import job_environment
from shedding.spark.conf import spark_conf
from shedding.spark.connect import connect
from shedding.spark.gateway import start_jvm

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def start_session(settings: Settings, name: str, *, shared: bool = False) -> SparkSession:
    """A session with Delta, in UTC; ConfigError where Java is missing.

    Under spark-submit the JVM is there already and its configuration wins. Work that may be `shared` is done by the
    Spark that is up already, where there is one.
    """
    if shared and settings.connected:
        return connect(settings.connect_url)
    conf = {"spark.app.name": name, "spark.master": settings.master, **spark_conf(settings)}
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run users' functions with what is installed here
    try:
        with job_environment(settings.job_variables):
            start_jvm(conf)
            session = builder.getOrCreate()
    except (FileNotFoundError, PySparkRuntimeError) as error:
        if "JAVA" not in str(error).upper():
            raise
        raise ConfigError(
            "Java 17 or newer is missing; run `make setup`, or install it "
            "(Debian/Ubuntu: apt-get install openjdk-17-jre-headless) and set JAVA_HOME"
        ) from error
    _say_errors_once()
    raise_quietly()  # PySpark's own handler asks Java to cancel in the midst of another call, which fails with a stack
    return session


def _say_errors_once() -> None:
    """Py4J and PySpark also log what they raise, with all its frames; whoever catches it tells it in one line."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def spark_session(settings: Settings, name: str, *, shared: bool = False) -> Iterator[SparkSession]:
    """A session that is stopped at the end, unless it was there before (a test's, a notebook's)."""
    existing = SparkSession.getActiveSession()
    session = existing or start_session(settings, name, shared=shared)
    try:
        yield session
    except KeyboardInterrupt:
        with suppress(Exception):  # Java may be gone already
            session.sparkContext.setLogLevel("OFF")  # what is cut short would be told with all its frames
        raise
    finally:
        if existing is None:
            session.stop()
