"""The JVM that a command starts: quiet where nothing is wrong, heard where something is."""

from __future__ import annotations

import subprocess
import sys

import pytest

SESSION = """
from shedding.config import Settings
from shedding.spark.session import spark_session
with spark_session(Settings(master="local[1]"), "quiet") as spark:
    assert spark.range(3).count() == 3
    for number in range(2):
        spark._jvm.java.lang.System.err.println(f"told {number}")
    import time; time.sleep(0.5)
"""


@pytest.mark.spark
def test_a_command_with_spark_says_nothing_of_its_own_and_passes_on_what_java_says() -> None:
    done = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert done.stderr == "told 0\ntold 1\n"
