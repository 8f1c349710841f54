"""The wheel in somebody else's Airflow: a fresh environment, their own five-line DAG, a slot published."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shedding.config import Settings
from shedding.tables import Table
from tests.dags.test_end_to_end import CITY, FARES

ROOT = Path(__file__).resolve().parents[3]
SLOT = dt.datetime(2026, 11, 2, 10, tzinfo=dt.UTC)
(SNIPPET,) = re.findall(r"^```py\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
THEIRS = SNIPPET.replace("taxi_route_fare", "city_fares").replace("taxi", "city")
"""The README's own DAG, of a smaller example."""
ASK = """
from importlib.metadata import requires
from airflow.configuration import conf
from airflow.plugins_manager import get_plugin_info
from airflow.providers_manager import ProvidersManager
manager = ProvidersManager()
manager.initialize_providers_configuration()
print("provider", "sluice" in manager.providers, "option", conf.get("sluice", "shuffle_partitions"))
print("plugin", [plugin["name"] for plugin in get_plugin_info() if plugin["name"] == "sluice"])
"""
RUN = """
import datetime as dt, sys
from pathlib import Path
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
folder = Path(sys.argv[1])
DagBundlesManager().sync_bundles_to_db()
bag = BundleDagBag(dag_folder=str(folder), bundle_path=folder, bundle_name="dags-folder")
assert not bag.import_errors, bag.import_errors
sync_bag_to_db(bag, "dags-folder", None)
run = bag.dags["fares"].test(run_conf={"from": sys.argv[2], "to": sys.argv[3], "slot": sys.argv[2]})
print("THEIRS", run.state, *sorted(f"{ti.task_id}={ti.state}" for ti in run.get_task_instances()))
"""


def run(*command: str | Path, environment: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, env=environment, cwd=cwd
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment that has the wheel and Airflow, and nothing of this repository."""
    place = tmp_path_factory.mktemp("elsewhere")
    source = place / "source"  # a build leaves folders beside what it builds
    kept = shutil.ignore_patterns("__pycache__")
    for name in ("shedding", "jobs", "expectations"):
        shutil.copytree(ROOT / name, source / name, ignore=kept)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    uv = Path(sys.executable).parent / "uv"
    run(uv, "build", "--wheel", "-q", "--out-dir", place / "dist", source)
    (wheel,) = (place / "dist").glob("*.whl")
    run(uv, "venv", "-q", "--python", sys.executable, place / "venv")
    lock = ROOT / "infra" / "requirements.lock"
    run(
        uv,
        "pip",
        "install",
        "-q",
        "--python",
        place / "venv" / "bin" / "python",
        "--constraints",
        lock,
        f"{wheel}[airflow]",
    )
    return place / "venv" / "bin" / "python"


@pytest.fixture(scope="module")
def environment(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Airflow configured by its own means: a section `[sluice]`, and nothing else that Sluice knows."""
    home = tmp_path_factory.mktemp("theirs")
    for kind, name, text in (("datasets", "city", CITY), ("queries", "city_fares", FARES)):
        (home / "specs" / kind).mkdir(parents=True, exist_ok=True)
        (home / "specs" / kind / f"{name}.yaml").write_text(text)
    for name in ("dags", "landing"):
        (home / name).mkdir()
    (home / "dags" / "theirs.py").write_text(THEIRS)
    foreign = ("SLUICE_", "AIRFLOW", "PYTHONPATH", "VIRTUAL_ENV", "SPARK_HOME")
    pyspark = python.parent.parent / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / "pyspark"
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "SPARK_HOME": str(pyspark),
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
        "AIRFLOW__SLUICE__WAREHOUSE": str(home / "warehouse"),
        "AIRFLOW__SLUICE__SPECS": str(home / "specs"),
        "AIRFLOW__SLUICE__LANDING": str(home / "landing"),
        "AIRFLOW__SLUICE__DOCS": str(home / "docs"),
        "AIRFLOW__SLUICE__JARS": str(ROOT / ".jars"),
        "AIRFLOW__SLUICE__SHUFFLE_PARTITIONS": "3",
    }


@pytest.mark.airflow
def test_airflow_knows_the_provider_its_section_and_its_plugin(python: Path, environment: dict[str, str]) -> None:
    said = run(python, "-c", ASK, environment=environment, cwd=python.parent)
    assert "provider True option 3" in said
    assert "plugin ['sluice']" in said


@pytest.mark.airflow
def test_five_lines_publish_a_slot(python: Path, environment: dict[str, str]) -> None:
    run(python, "-m", "airflow", "db", "migrate", environment=environment, cwd=python.parent)
    end = SLOT + dt.timedelta(hours=1)
    dags = environment["AIRFLOW__CORE__DAGS_FOLDER"]
    said = run(python, "-c", RUN, dags, SLOT.isoformat(), end.isoformat(), environment=environment, cwd=python.parent)
    (line,) = [line for line in said.splitlines() if line.startswith("THEIRS")]
    states = dict(part.split("=") for part in line.split()[2:])
    assert line.split()[1] == "success"
    assert states == {
        "ingest": "success", "city_fares.wait_for_raw": "success", "city_fares.aggregate": "success",
        "city_fares.gate": "success", "city_fares.publish": "success", "city_fares.quarantine": "skipped",
        "city_fares.done": "success",
    }  # fmt: skip
    settings = Settings(warehouse=environment["AIRFLOW__SLUICE__WAREHOUSE"])
    starts = set(Table(settings.table("published", "city_fares")).read(columns=["window_start"])[0].to_pylist())
    assert starts == {SLOT}
