"""Sources by number: the same in every process, and tables from before there were any are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shedding.config import Settings
from shedding.errors import DataError
from shedding.ingest.source_number import check_numbered, source_number


def test_a_number_is_64_bits_and_the_same_for_ever() -> None:
    assert source_number("good") == source_number("good") != source_number("bad")
    assert pa.scalar(source_number("a"), pa.int64()).as_py() == source_number("a")


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_raw_rows_that_name_sources_by_text_are_refused_with_a_remedy(settings: Settings, kind: str) -> None:
    with pytest.raises(DataError, match=r"named sources by text; remove .* and ingest the files again"):
        check_numbered(settings, "rides", kind)
    check_numbered(settings, "rides", "int64")
    check_numbered(settings, "rides", "bigint")
