"""Every figure's bounds hold on the real slices; a broken one fails the target; the page stands alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reproduce.__main__ import FIGURES, run
from tests.reproduce.evidence import Evidence
from tests.reproduce.page import html, markdown

TIMED = {"optimal_table1"}
"""Figures of seconds: only `make reproduce` measures them."""


@pytest.mark.data
@pytest.mark.parametrize("figure", [figure for figure in FIGURES if figure not in TIMED])
def test_the_bounds_of_a_figure_hold(figure: str, data_dir: Path) -> None:
    evidence = Evidence(data_dir)
    run(figure, evidence)
    assert evidence.claims
    assert [f"{claim.what}: {claim.measured}" for claim in evidence.broken] == []


def test_every_module_of_a_figure_is_run() -> None:
    here = Path(__file__).parent
    figures = {file.stem for file in here.glob("*.py") if "\ndef run(evidence: Evidence)" in file.read_text()}
    assert figures == set(FIGURES)


def test_a_broken_bound_is_told_and_shown(tmp_path: Path) -> None:
    evidence = Evidence(tmp_path)
    evidence.expect("Fig. 1", "a <b>", paper="1", measured="2", verdict="reproduced", holds=False)
    with evidence.plot("Fig. 1", "x", "y") as on:
        on.plot([0, 1], [0, 1])
    assert [claim.what for claim in evidence.broken] == ["a <b>"]
    page = html(evidence)
    assert "bound broken" in page
    assert "a &lt;b&gt;" in page
    assert "data:image/png;base64," in page
    assert "http" not in page
    assert markdown(evidence.claims).count("\n") == 3
