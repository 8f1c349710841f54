"""What is wrong with a file, in words that name the key, the value and what to write instead."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from shedding.fields import PATTERNS

_LONGEST = 120
_WANTED = {
    "greater_than": "a number greater than {gt}", "greater_than_equal": "a number greater than or equal to {ge}",
    "less_than": "a number less than {lt}", "less_than_equal": "a number less than or equal to {le}",
    "finite_number": "a finite number", "too_short": "a list of at least {min_length} item, e.g. [a]",
    "string_too_short": "text of at least {min_length} character, or leave the key out",
    "string_too_long": "text of at most {max_length} characters", "list_type": "a list, e.g. [a, b]",
    "dict_type": "a mapping, e.g. {{name: text}}",
}  # fmt: skip
_NUMBERS = {"int": "a whole number", "float": "a number", "string": "text", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with one file: where, what, and what to write instead."""

    file: Path
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file.parent.name}/{self.file.name}"
        text = f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}"
        return " ".join(text.split())


def problem_of(file: Path, model: type[BaseModel], detail: Mapping[str, Any]) -> Problem:
    """One error of validation in the owner's words."""
    place = [part for part in detail["loc"] if part != "[key]"]
    key = ".".join(str(part) for part in place)
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return Problem(file, key, _unknown(str(place[-1]), _known(model, place[:-1])))
    if kind == "missing":
        return Problem(file, key, "is missing; add it")
    if kind == "invalid_key":
        return Problem(file, str(given), "is no word; keys are words")
    text = _remedy(model, place, detail) or str(detail["msg"]).removeprefix("Value error, ")
    return Problem(file, key, text if not place else f"is {_shown(given)}: {text}")


def did_you_mean(name: str, there: list[str]) -> str:
    """A name that looks like the given one, if there is one."""
    near = difflib.get_close_matches(name.lower(), there, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _unknown(name: str, known: list[str]) -> str:
    names = f"; known keys: {', '.join(known)}" if known else ""
    return f"unknown key{did_you_mean(name, known)}; remove it or fix its spelling{names}"


def _remedy(model: type[BaseModel], place: list[Any], detail: Mapping[str, Any]) -> str | None:
    """What to write, where the validator's own words do not say it."""
    kind = str(detail["type"])
    context = detail.get("ctx", {})
    if kind == "string_pattern_mismatch":
        return f"write {PATTERNS[context['pattern']]}"
    if kind in ("model_type", "model_attributes_type"):
        known = _known(model, place)
        keys = f" with the keys {', '.join(known)}" if known else ""
        return f"write a mapping{keys}, not a single value or a list"
    if kind == "literal_error":
        words = [word.strip("'") for word in re.split(", | or ", context["expected"])]
        return f"write one of {context['expected']}{did_you_mean(str(detail['input']), words)}"
    if kind in _WANTED:
        return f"write {_WANTED[kind].format(**context)}"
    if kind.startswith("union_tag"):
        kinds = context.get("expected_tags", "'generator', 'csv', 'parquet', 'transactions'")
        return f"needs kind, one of {kinds}"
    word = kind.removesuffix("_type").removesuffix("_parsing").removesuffix("_from_float")
    return f"write {_NUMBERS[word]}" if word in _NUMBERS and kind != word else None


def _known(model: type[BaseModel], place: list[Any]) -> list[str]:
    """The keys of the part of the model that a place leads to; none where it cannot be told."""
    found: Any = model
    for part in place:
        models = _models(found)
        named = [m for m in models if str(part) in (_kind(m), *m.model_fields)]
        if isinstance(part, int) or not named:
            found = models
        elif _kind(named[0]) == part:
            found = named[0]
        else:
            found = named[0].model_fields[part].annotation
    models = _models(found)
    return list(models[0].model_fields) if len(models) == 1 else []


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, list):
        return [model for part in annotation for model in _models(part)]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _kind(model: type[BaseModel]) -> str | None:
    """The word that tells this model from the others of a union."""
    field = model.model_fields.get("kind")
    words = get_args(field.annotation) if field is not None else ()
    return str(words[0]) if len(words) == 1 else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
