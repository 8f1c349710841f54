"""Every command and snippet of the README works as it stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.airflow_home import SHORT_JOBS
from shedding.spec import load_catalog

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    lines = [line.split("  #")[0].strip() for block in blocks("bash") for line in block.splitlines()]
    return list(dict.fromkeys(line for line in lines if line))


def test_the_readme_has_commands_of_both_kinds_and_no_others() -> None:
    assert {command.split()[0] for command in commands()} == {"make", "sluice"}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`?make ([a-z-]+)", README)) - {"it"}))
def test_every_make_target_exists(target: str) -> None:
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_the_example_query_is_valid(tmp_path: Path) -> None:
    (text,) = [block for block in blocks("yaml") if block.startswith("name:")]
    shutil.copytree(ROOT / "jobs" / "datasets", tmp_path / "datasets")
    (tmp_path / "queries").mkdir()
    (tmp_path / "queries" / "taxi_zone_tip.yaml").write_text(text)
    catalog = load_catalog(tmp_path)
    assert catalog.problems == ()
    assert list(catalog.queries) == ["taxi_zone_tip"]


def small_taxi(specs: Path) -> Path:
    """The repository's specifications with fewer trips an hour."""
    for kind in ("datasets", "queries", "pools", "functions"):
        shutil.copytree(ROOT / "jobs" / kind, specs / kind)
    text = (specs / "datasets" / "taxi.yaml").read_text()
    assert "rows_per_hour: 20000" in text
    (specs / "datasets" / "taxi.yaml").write_text(text.replace("rows_per_hour: 20000", "rows_per_hour: 3000"))
    return specs


@pytest.mark.spark
@pytest.mark.slow
def test_the_commands_and_the_snippet_run_in_the_order_of_the_readme(tmp_path: Path) -> None:
    environment = {
        **os.environ, "SLUICE_WAREHOUSE": str(tmp_path / "warehouse"), "SLUICE_DOCS": str(tmp_path / "docs"),
        "SLUICE_SPECS": str(small_taxi(tmp_path / "specs")), "SLUICE_JAVA_OPTIONS": SHORT_JOBS,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    outputs = {}
    for command in commands():
        if command.startswith("sluice"):
            done = subprocess.run(
                command.split(), env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            outputs[command] = done.stdout
    shown = next(text for command, text in outputs.items() if "show published" in command)
    assert "mean_fare_low" in shown
    assert "(5 rows)" in shown
    (snippet,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mean_fare_high" in done.stdout


def test_every_file_that_contributors_are_sent_to_is_there() -> None:
    named = re.findall(
        r"`((?:shedding|jobs|expectations|dags|infra|tests)/[^`]*)`", (ROOT / "CONTRIBUTING.md").read_text()
    )
    assert len(named) > 15
    assert [path for path in named if not (ROOT / path).exists()] == []
