"""The environment of Spark's processes: what Java, Spark and the file systems need, and no secret of the scheduler's.

A job computes expressions that others wrote. Airflow's keys and connections, which its workers hold, are not for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_NAMES = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "TMP", "TEMP", "HOSTNAME",
    "PWD", "VIRTUAL_ENV", "JAVA_HOME", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "KUBECONFIG",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
})  # fmt: skip
_PREFIXES = (
    "SLUICE_", "SPARK_", "PYSPARK_", "PYTHON", "LC_", "HADOOP_", "HIVE_", "YARN_", "KRB5", "KUBERNETES_", "AWS_",
    "AZURE_", "GOOGLE_", "GCS_", "SSL_CERT_", "OMP_", "MALLOC_", "COVERAGE_",
)  # fmt: skip


def foreign_names(environment: Mapping[str, str], further: str = "") -> list[str]:
    """The variables that a job does not get; `further` are names, separated by commas, that it gets besides."""
    more = {name.strip() for name in further.split(",")}
    return sorted(
        name
        for name in environment
        if name.upper() not in _NAMES and not name.upper().startswith(_PREFIXES) and name not in more
    )


@contextmanager
def job_environment(further: str = "") -> Iterator[None]:
    """What is started inside inherits no more than a job needs; this process has all its variables again after it."""
    taken = {name: os.environ.pop(name) for name in foreign_names(os.environ, further)}
    try:
        yield
    finally:
        os.environ.update(taken)
