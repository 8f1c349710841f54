"""The JVM of a Spark session that this process starts itself, with a quiet beginning."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_NOISE = b"WARNING: Using incubator modules"
"""Spark asks every JVM for a module that only its machine learning uses, and Java warns of it in its first line."""


def start_jvm(conf: Mapping[str, str]) -> None:
    """Start the JVM that the next session of this process will use; nothing where there is one, as in spark-submit.

    What the JVM says on its standard error goes where this process' own goes, without that first warning.
    """
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    given = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    heard, said = os.pipe()
    threading.Thread(target=_pass_on, args=(heard, os.dup(2)), daemon=True).start()
    try:
        gateway = launch_gateway(given, {"stderr": said})  # type: ignore[no-untyped-call]
    finally:
        os.close(said)
    SparkContext._ensure_initialized(gateway=gateway, conf=given)


def _pass_on(heard: int, told: int) -> None:
    with open(heard, "rb") as lines, open(told, "wb", buffering=0) as output:
        for line in lines:
            if not line.startswith(_NOISE):
                output.write(line)
