"""The Makefile documents itself, and set-up says what is missing in one line."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_help_lists_every_target() -> None:
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(re.findall(r"make ([a-z-]+)", shown)) == sorted(targets)


def test_a_machine_without_python_311_is_told_what_to_install(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "infra").mkdir(parents=True)
    shutil.copy(ROOT / "infra" / "setup.sh", project / "infra")
    empty = tmp_path / "bin"
    empty.mkdir()
    for tool in ("bash", "dirname"):
        (empty / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        [str(empty / "bash"), str(project / "infra" / "setup.sh")],
        env={"PATH": str(empty)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "Python 3.11 is needed" in done.stderr.strip().splitlines()[-1]


def test_a_second_set_up_installs_nothing() -> None:
    subprocess.run(["make", "-s", "setup"], cwd=ROOT, capture_output=True, check=True)
    done = subprocess.run(["make", "-s", "setup"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[setup] ready"


def test_no_file_names_a_registry_or_a_path_of_this_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = re.compile("|".join(["pypi" + r"\.org", "index" + "-url", r"/work" + "/", r"/root" + "/"]))
    for name in listed.split():
        file = ROOT / name
        if file.is_file() and name not in ("Makefile", "tests/infra/test_makefile.py"):
            assert not words.search(file.read_text(errors="ignore")), name
