"""Delta's jars: the version that is installed, without the resolver's noise, and what went wrong in one line."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from infra import jars

ROOT = Path(__file__).resolve().parent.parent.parent
BRINGS = """
import pathlib, sys
print(':: resolving dependencies ::', file=sys.stderr)
folder = pathlib.Path(sys.argv[1], 'jars')
folder.mkdir()
for name in ('io.delta_delta-spark_9-1.jar', 'io.unitycatalog_client-2.jar', 'org.slf4j_slf4j-api-2.jar'):
    (folder / name).touch()
"""


def test_the_needed_jars_take_the_place_of_earlier_ones_and_nothing_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "RESOLVE", BRINGS)
    (tmp_path / "delta-spark_8-1.jar").touch()
    jars.fetch(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["client-2.jar", "delta-spark_9-1.jar"]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("script", ["raise SystemExit('no network')", "print('no network')"])
def test_a_resolver_that_fails_is_told_of_with_its_log_and_takes_no_jar_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(jars, "RESOLVE", script)
    (tmp_path / "delta-spark_8-1.jar").touch()
    with pytest.raises(jars.FetchError, match=re.escape(str(tmp_path / "resolver.log"))):
        jars.fetch(tmp_path)
    assert "no network" in (tmp_path / "resolver.log").read_text()
    assert (tmp_path / "delta-spark_8-1.jar").exists()


def test_deltas_version_stands_in_the_project_and_its_lock_only() -> None:
    version = re.search(r'"delta-spark==([^"]+)"', (ROOT / "pyproject.toml").read_text())
    assert version
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    texts = {name: (ROOT / name).read_text(errors="ignore") for name in listed if (ROOT / name).is_file()}
    naming = {name for name, text in texts.items() if version[1] in text}
    assert naming == {"pyproject.toml", "infra/requirements.lock"}
