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
        (DatePattern, ["yyyy-MM-dd['T'HH:mm:ss][XX]", "yyyyMMddHHmmssSSSSSS", "dd.MM.yyyy h:mm a VV", "yyyy'#'MM O"]),
        (RegularExpression, ["[A-Z].*", r"\p{L}+", r"(?<year>\d{4})", r"(?<=a|bc)x", r"\h*\Qa[b\E", "a++", "(?i)x|y"]),
        (RegularExpression, [r"C:\\dir\\y", r"\{a\}", r"x{2,}|\x{1F600}", r"[\]y{}(?P]", r"\Q{(\E\k", "(?s-i:a)"]),
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
        (
            DatePattern,
            ["yyyyyyy", "yyyy-MMMMM", "yyyy ddd", "yyyy SSSSSSSSSS", "yyyy V", "yyyy OO"],
            "too many letters or too few",
        ),
        (DatePattern, ["EEE yyyy", "yyyy QQ"], "is no letter of a date pattern"),
        (DatePattern, ["yyyy{MM", "yyyy#", "yyyy]", "yyyy '"], "put it into quotes"),
        (RegularExpression, ["(?P<a>x)", "(?#c)a", r"\y", "a{,3}", "{a}", "(?<a_b>x)", "(?a)x"], "means nothing there"),
        (RegularExpression, ["[a", "(a", "a)", "*a", "a{2,1}"], "fix it"),
        (TimeZone, ["Mars/Phobos", "", "+25:00", "CEST5"], "Europe/Paris"),
        (Glob, ["", "/etc/*", "../x", "a/../b", "**x/*.csv", ".", "./", "a/**", "a/", "a\0b"], "trips/*.csv"),
        (Delimiter, ["", "||", "a", "7", '"', "\n", "\r", "\0", "\\", "\U0001f600"], "write one character"),
    ],
)
def test_what_its_reader_would_fail_on_is_refused_with_a_remedy(kind: Any, texts: list[str], remedy: str) -> None:
    for text in texts:
        with pytest.raises(ValidationError) as refusal:
            TypeAdapter(kind).validate_python(text)
        assert remedy in str(refusal.value)
