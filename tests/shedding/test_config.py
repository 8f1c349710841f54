from __future__ import annotations

from pathlib import Path

import pytest

from shedding.config import Settings
from shedding.errors import ConfigError


def test_a_flag_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_WAREHOUSE", "from-environment")
    assert Settings.load().warehouse == "from-environment"
    assert Settings.load(warehouse="from-flag").warehouse == "from-flag"
    assert Settings.load(warehouse=None).warehouse == "from-environment"


def test_an_empty_flag_is_no_directory() -> None:
    for name in ("warehouse", "specs"):
        with pytest.raises(ConfigError, match=f"--{name} is empty; name a directory"):
            Settings.load(**{name: ""})


def test_a_wrong_setting_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLUICE_SHUFFLE_PARTITIONS", "many")
    with pytest.raises(ConfigError, match=r"shuffle_partitions .*SLUICE_SHUFFLE_PARTITIONS.*'many'"):
        Settings.load()


def test_a_child_process_gets_the_same_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(warehouse=str(tmp_path), landing=tmp_path / "in", shuffle_partitions=7)
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.load() == settings


@pytest.mark.parametrize("uri", ["hdfs://node/lake", "dbfs://lake", "s3n://lake", "http://host/lake"])
def test_a_warehouse_whose_commits_cannot_be_conditional_is_refused(uri: str) -> None:
    with pytest.raises(ConfigError, match="commits cannot be made safe against other writers; name a directory or"):
        Settings.load(warehouse=uri)


@pytest.mark.parametrize("switch", ["AWS_S3_ALLOW_UNSAFE_RENAME=true", "AWS_CONDITIONAL_PUT=disabled"])
def test_a_switch_that_makes_commits_unconditional_is_refused(monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    monkeypatch.setenv(*switch.split("="))
    assert Settings.load(warehouse="gs://lake/w").warehouse == "gs://lake/w"
    with pytest.raises(ConfigError, match=f"{switch} switches off conditional commits.*unset it"):
        Settings.load(warehouse="s3a://lake/w")


@pytest.mark.parametrize("start", ["", "file://"])
def test_a_warehouse_that_is_a_file_is_refused(tmp_path: Path, start: str) -> None:
    (tmp_path / "w").write_text("")
    with pytest.raises(ConfigError, match="is a file; name a directory"):
        Settings.load(warehouse=f"{start}{tmp_path}/w")
