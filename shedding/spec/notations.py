"""Notations of other tools inside a specification: date patterns, regular expressions, time zones, globs, delimiters.

Each is refused where the tool that reads it would fail on every row, or on none and mean something else.
"""

from __future__ import annotations

import re
import zoneinfo
from functools import cache
from typing import Annotated

from pydantic import AfterValidator

_LETTERS = frozenset("GyMLdDQqEFahKkHmsSVzOXx")
_QUOTED = re.compile(r"'[^']*'")
_OFFSET = re.compile(r"[+-](?:0\d|1[0-8]):[0-5]\d")
_JAVA_CLASS = re.compile(r"\\Q.*?\\E|\\[pP](?:\{[^}]*\}|[A-Z])|\\[A-Za-z]")


def _date_pattern(text: str) -> str:
    bare = _QUOTED.sub("", text)
    strange = sorted({letter for letter in bare if letter.isalpha()} - _LETTERS)
    if strange:
        more = "; the year is yyyy" if "Y" in strange else ""
        raise ValueError(f"{', '.join(strange)} is no letter of a date pattern{more}; write e.g. yyyy-MM-dd HH:mm:ss")
    if "y" not in bare:
        raise ValueError("a date pattern needs the year; write e.g. yyyy-MM-dd HH:mm:ss")
    if "D" in bare and ("M" in bare or "d" in bare):
        raise ValueError("D is the day of the year; write dd for the day of the month, e.g. yyyy-MM-dd")
    return text


def _regular_expression(text: str) -> str:
    # Java reads it; what both languages share is how brackets, groups and repetitions fit together.
    shape = _JAVA_CLASS.sub("x", text).replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    try:
        re.compile(shape)
    except re.error as error:
        if "look-behind" not in str(error):
            raise ValueError(f"no regular expression ({error}); mend it, or escape its signs with \\") from None
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
    if not text or text.startswith("/") or ".." in parts or any("**" in part and part != "**" for part in parts):
        raise ValueError("no glob below the landing directory; write e.g. trips/*.csv, without a leading / and ..")
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
RegularExpression = Annotated[str, AfterValidator(_regular_expression)]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
Glob = Annotated[str, AfterValidator(_glob_below)]
Delimiter = Annotated[str, AfterValidator(_delimiter)]
