"""Date patterns, regular expressions, zones, globs and delimiters: refused where all rows would fail."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from shedding.spec.notations import DatePattern, Delimiter, Glob, RegularExpression, TimeZone


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (DatePattern, ["yyyy-MM-dd HH:mm:ss", "dd/MMM/yyyy:HH:mm:ss Z".replace("Z", "xx"), "yyyy-DDD", "yy'T'MMdd"]),
        (RegularExpression, ["[A-Z].*", r"\p{L}+", r"(?<year>\d{4})", r"(?<=a|bc)x", r"\h*\Qa[b\E", "a++", "(?i)x|y"]),
        (TimeZone, ["UTC", "Europe/Paris", "America/New_York", "+02:00", "-11:30"]),
        (Glob, ["*.csv", "trips/*.csv.gz", "a/**/b*.txt", "x[0-9].csv", "green tripdata.parquet"]),
        (Delimiter, [",", ";", "|", "tab", "whitespace", " ", "\x01", "^"]),
    ],
)
def test_what_its_reader_takes_passes(kind: Any, texts: list[str]) -> None:
    for text in texts:
        assert TypeAdapter(kind).validate_python(text) == text


@pytest.mark.parametrize(
    ("kind", "texts", "remedy"),
    [
        (DatePattern, ["YYYY-MM-dd", "yyyy-ww", "foo bar", "", "HH:mm"], "write e.g. yyyy-MM-dd HH:mm:ss"),
        (DatePattern, ["yyyy-MM-DD"], "write dd for the day of the month"),
        (RegularExpression, ["[a", "(a", "a)", "*a", "a{2,1}"], "mend it"),
        (TimeZone, ["Mars/Phobos", "", "+25:00", "CEST5"], "Europe/Paris"),
        (Glob, ["", "/etc/*", "../x", "a/../b", "**x/*.csv"], "trips/*.csv"),
        (Delimiter, ["", "||", "a", "7", '"', "\n", "\r", "\0", "\\", "\U0001f600"], "write one character"),
    ],
)
def test_what_its_reader_would_fail_on_is_refused_with_a_remedy(kind: Any, texts: list[str], remedy: str) -> None:
    for text in texts:
        with pytest.raises(ValidationError) as refusal:
            TypeAdapter(kind).validate_python(text)
        assert remedy in str(refusal.value)
