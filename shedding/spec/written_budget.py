"""A budget written into a query's file, whose comments and layout stay as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from shedding.errors import SpecError
from shedding.spec.yaml_file import parse_text


def write_fraction(file: Path, fraction: float) -> None:
    """Put `budget: {fraction: ...}` in the place of what the file's `shed.budget` states.

    Nothing but that one entry changes: comments, order and style stay. Raises SpecError, and leaves the file as it is,
    where it has no such entry or the entry is an alias that others share.
    """
    text = file.read_bytes().decode("utf-8")
    remedy = f"write  budget: {{fraction: {fraction:g}}}  below shed: yourself"
    entry = None if text.startswith("\ufeff") else _budget_entry(yaml.compose(text, Loader=yaml.SafeLoader))
    if entry is None:
        raise SpecError(f"{file}: shed.budget is no mapping with one entry there; {remedy}")
    start, end = entry
    changed = f"{text[:start]}fraction: {fraction:g}{text[end:]}"
    before, after = parse_text(text), parse_text(changed)
    if {**after, "shed": {**after["shed"], "budget": None}} != {**before, "shed": {**before["shed"], "budget": None}}:
        raise SpecError(f"{file}: shed.budget is shared with another entry; {remedy}")
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_bytes(changed.encode("utf-8"))
    fresh.replace(file)


def _budget_entry(root: Any) -> tuple[int, int] | None:
    """From where to where the entries of `shed.budget` reach in the text: from the first key to the last value."""
    node = root
    for name in ("shed", "budget"):
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for key, value in node.value if key.value == name), None)
    if not isinstance(node, yaml.MappingNode) or not node.value:
        return None
    if not all(isinstance(value, yaml.ScalarNode) for _, value in node.value):
        return None
    return node.value[0][0].start_mark.index, node.value[-1][1].end_mark.index
