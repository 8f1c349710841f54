"""Notations of other tools inside a specification: date patterns, regular expressions, time zones, globs, delimiters.

Each is refused where the tool that reads it would fail on every row, or on none and mean something else.
"""

from __future__ import annotations

import re
import zoneinfo
from functools import cache
from typing import Annotated

from pydantic import AfterValidator

_MOST = {"G": 4, "y": 6, "M": 4, "L": 4, "d": 2, "D": 3, "a": 1, "h": 2, "H": 2, "K": 2, "k": 2, "m": 2, "s": 2, "S": 9,
         "V": 2, "z": 4, "O": 4, "X": 5, "x": 5}  # fmt: skip
"""The letters of a date pattern that texts are read by, and how many of each may stand in a row."""
_TOO_FEW = frozenset({"V", "OO", "OOO"})
_QUOTED = re.compile(r"'[^']*'")
_RUN = re.compile(r"([A-Za-z])\1*")
_ZONE = r"(?:[VzOXx]|'\s*(?i:z|utc|gmt)\s*')"
_HAS_ZONE = re.compile(rf"(?:'[^']*'|[^'])*{_ZONE}(?:'[^']*'|[^'])*")
_OPTIONAL_ZONE = re.compile(rf"\[(?:'[^']*'|[^\[\]'])*{_ZONE}(?:'[^']*'|[^\[\]'])*\]")
_OFFSET = re.compile(r"[+-](?:0\d|1[0-8]):[0-5]\d")
_ESCAPED = re.compile(r"\\Q.*?(?:\\E|$)|\\[pPxN]\{[^}]*\}|\\[pP][A-Z]|\\.", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_NOT_JAVA = re.compile(r"\(\?(?:P|\(|#|<\w*_|[a-z]*[aL])|\\[gijlmoqyCFIJKLMOTUY]|\{(?!\d+(?:,\d*)?\})")
"""What Python takes and Java does not: its own groups, letters that escape nothing, a bracket that repeats nothing."""


def has_zone(pattern: str) -> bool:
    """Whether texts of a date pattern tell their zone: by its letters, or by a quoted Z, UTC or GMT.

    >>> has_zone("yyyy-MM-dd'T'HH:mm:ss'Z'"), has_zone("MM/dd/yyyy hh:mm:ss a")
    (True, False)
    """
    return _HAS_ZONE.fullmatch(pattern) is not None


def without_optional_zone(pattern: str) -> str:
    """The date pattern of the texts that leave an optional zone out.

    >>> without_optional_zone("yyyy-MM-dd[ HH:mm[ VV]]")
    'yyyy-MM-dd[ HH:mm]'
    """
    return _OPTIONAL_ZONE.sub("", pattern)


def _date_pattern(text: str) -> str:
    bare = _QUOTED.sub("", text)
    strange = sorted({letter for letter in bare if letter.isalpha()} - _MOST.keys())
    if strange:
        more = "; the year is yyyy" if "Y" in strange else ""
        raise ValueError(f"{', '.join(strange)} is no letter of a date pattern{more}; write e.g. yyyy-MM-dd HH:mm:ss")
    if "y" not in bare:
        raise ValueError("a date pattern needs the year; write e.g. yyyy-MM-dd HH:mm:ss")
    runs = [run[0] for run in _RUN.finditer(bare)]
    wrong = [run for run in runs if len(run) > _MOST[run[0]] or run in _TOO_FEW]
    if wrong:
        raise ValueError(f"{wrong[0]} has too many letters or too few; write e.g. yyyy-MM-dd HH:mm:ss.SSSSSS")
    signs = [sign for sign in "'{}#" if sign in bare] + ["]"] * (bare.count("]") > bare.count("["))
    if signs:
        raise ValueError(f"{signs[0]} is no sign of a date pattern; put it into quotes, as in yyyy'{{'MM")
    if "D" in bare and ("M" in bare or "d" in bare):
        raise ValueError("D is the day of the year; write dd for the day of the month, e.g. yyyy-MM-dd")
    return text


def java_regular_expression(text: str) -> str:
    """The text, a regular expression that Java reads; ValueError with a remedy where it does not."""
    # Java reads it; what both languages share is how brackets, groups and repetitions fit together.
    bare = _ESCAPED.sub("x", text)
    odd = _NOT_JAVA.search(_CLASS.sub("x", bare)) or next(
        (s for s in map(_NOT_JAVA.match, _ESCAPED.findall(text)) if s), None
    )
    if odd is not None:
        raise ValueError(
            f"no regular expression of Java's ({odd[0]} means nothing there); fix it, or escape its signs with \\"
        )
    shape = bare.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    try:
        re.compile(shape)
    except re.error as error:
        if "look-behind" not in str(error):
            raise ValueError(f"no regular expression ({error}); fix it, or escape its signs with \\") from None
    return text


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _time_zone(text: str) -> str:
    if text not in ("UTC", "Z") and not _OFFSET.fullmatch(text) and text not in _zones():
        raise ValueError("no time zone; write a name like Europe/Paris, or an offset like +02:00")
    return text


def _glob_below(text: str) -> str:
    parts = text.split("/")
    astray = parts[0] == "" or parts[-1] in ("", ".", "**") or ".." in parts or "\0" in text
    if astray or any("**" in part and part != "**" for part in parts):
        raise ValueError(
            "no glob of files below the landing directory; write e.g. trips/*.csv, without a leading / and .."
        )
    return text


def _delimiter(text: str) -> str:
    if text in ("whitespace", "tab"):
        return text
    if len(text) != 1 or text.isalnum() or text in '"\n\r\0\\' or ord(text) > 0xFFFF:
        raise ValueError(
            "no delimiter; write one character that is no letter, digit, quote, backslash or end of a line, "
            "or the words 'whitespace' or 'tab'"
        )
    return text


DatePattern = Annotated[str, AfterValidator(_date_pattern)]
RegularExpression = Annotated[str, AfterValidator(java_regular_expression)]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Glob = Annotated[str, AfterValidator(_glob_below)]
Delimiter = Annotated[str, AfterValidator(_delimiter)]
