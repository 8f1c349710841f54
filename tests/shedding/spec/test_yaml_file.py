"""A YAML file means what its owner wrote: nothing twice, no word or number turned into something else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shedding.errors import SpecError
from shedding.spec.yaml_file import read_mapping


def read(tmp_path: Path, content: str | bytes) -> dict[str, object]:
    file = tmp_path / "file.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_mapping(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("yes", "yes"), ("true", True), ("False", False), ("010", 10.0), ("0", 0), ("1_000", 1000),
        ("-5", -5), ("1:30", "1:30"), ("1e3", 1000.0), ("1e-2", 0.01), (".5", 0.5), ("0x1f", "0x1f"), ("~", None),
        (".inf", float("inf")), ("5%", "5%"), ("1.2.3", "1.2.3"),
        ("2024-01-31", "2024-01-31"), ("2024-02-30", "2024-02-30"), ("0000-01-01 00:00:00", "0000-01-01 00:00:00"),
    ],
)  # fmt: skip
def test_words_and_numbers_are_read_as_written(tmp_path: Path, text: str, value: object) -> None:
    found = read(tmp_path, f"key: {text}\n")["key"]
    assert (found, type(found)) == (value, type(value))


def test_a_byte_order_mark_anchors_and_merged_mappings_are_fine(tmp_path: Path) -> None:
    text = "\ufeffa: &x {size: 1}\nb: *x\nc:\n  <<: *x\n  slide: 2\n"
    assert read(tmp_path, text) == {"a": {"size": 1}, "b": {"size": 1}, "c": {"size": 1, "slide": 2}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key a is there twice, first in line 1; remove one"),
        ("a: {b: 1, b: 2}\n", "the key b is there twice"),
        ("a:\n\tb: 1\n", "line 2, column 1: .* indent with blanks, not tabs"),
        ("a: [\n", "line 2"),
        ("a: 1\n---\na: 2\n", "expected a single document"),
        ("a: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("a: !!int x\n", "cannot be read as YAML: .* remove the tag"),
        ("a: !!timestamp 2024-02-30\n", "remove the tag"),
        ("", "holds no mapping; write `name:"),
        ("- a\n", "holds no mapping"),
        ("[" * 5000, "nested too deeply"),
        (b"a: caf\xe9\n", "is not UTF-8 text .* save it as UTF-8"),
        ("a: b\x00\n", "special characters are not allowed"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(tmp_path: Path, content: str | bytes, words: str) -> None:
    with pytest.raises(SpecError, match=words) as refusal:
        read(tmp_path, content)
    assert "\n" not in str(refusal.value)
    assert "<unicode string>" not in str(refusal.value)


BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGED = "a: &a0 {x: 1}\n" + "".join(f"b{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12))


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGED,
        "a: &a [*a]\n",
        "a: &a {b: *a}\n",
        "a: &a\n  <<: *a\n",
        "a: &x [" + "1, " * 9000 + "]\nb: [*x, *x]\n",
    ],
)
def test_aliases_that_stand_for_too_much_are_refused_at_once(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    with pytest.raises(SpecError, match=r"its aliases \(\*name\) stand for more than"):
        read(tmp_path, text)
    assert time.process_time() - started < 3


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file.yaml")
    with pytest.raises(SpecError, match="it is no file; remove it"):
        read_mapping(tmp_path / "file.yaml")


def test_a_file_beyond_measure_is_refused_unread(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is larger than"):
        read(tmp_path, "a: 1\n" + "# x\n" * 400_000)


def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(SpecError, match="cannot be read"):
        read_mapping(tmp_path / "folder.yaml")
