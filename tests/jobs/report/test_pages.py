"""The page of a warehouse that the pipeline filled: what it shows, that it is whole, and that nothing in it runs."""

from __future__ import annotations

import gzip
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from jobs.cli import main
from jobs.report.figures import EMPTY, QueryFigures
from jobs.report.key_figures import key_figures
from jobs.report.pages import FILE, Links, content_security_policy, front_page, query_page, report_file
from jobs.report.what_if import measured_policies
from shedding.config import Settings
from shedding.spec.query import QuerySpec
from shedding.tables import Table
from tests.jobs.report.many_slots import many_slots
from tests.jobs.report.specs import HOSTILE, make_query
from tests.jobs.report.world import settings_of, world, write_specs

pytestmark = pytest.mark.slow

MOST_BYTES = 400_000


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def figures(settings: Settings) -> QueryFigures:
    return QueryFigures.load(settings, make_query(), now=0)


class Elements(HTMLParser):
    """The tags of a page with their attributes, and that each is closed."""

    VOID = frozenset({"meta", "path", "input", "option", "td", "tr", "li", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_figures_are_those_of_the_tables(settings: Settings, figures: QueryFigures) -> None:
    published = set(Table(settings.table("published", "fares")).read(columns=["slot"])["slot"].to_pylist())
    assert sum(slot.outcome not in ("refused", "missing") for slot in figures.slots) == len(published)
    assert figures.counts["missing"] == 1
    assert figures.counts["approved"] >= 1
    assert figures.counts["refused"] >= 1
    assert figures.budget.promised == 2 * len(figures.slots)
    assert figures.burn_down[1][-1] == pytest.approx(figures.budget.left)


def test_a_key_has_its_band_and_its_exact_values_where_audited(settings: Settings, figures: QueryFigures) -> None:
    own = key_figures(settings, figures, chosen=HOSTILE)
    series = own.series[0]
    assert series.label == HOSTILE
    assert (series.low <= series.value).all()
    assert (series.value <= series.high).all()
    assert (np.diff(series.start) > 0).all()
    assert 0 < np.isfinite(series.truth).sum() < len(series.truth)
    assert all(0 < one.covered <= one.intervals or one.covered == 0 for one in own.by_sampled)
    errors = [key.error for key in own.worst]
    assert errors == sorted(errors, reverse=True)


def test_what_audits_measured_of_other_policies_is_there(figures: QueryFigures) -> None:
    policies = measured_policies(figures)
    assert [one.policy for one in policies] == ["posterior", "uniform"]
    for one in policies:
        assert one.at(one.fraction) == pytest.approx(one.error)
        assert one.at(one.needed(0.01)) == pytest.approx(0.01)
        assert one.at(1.0) == 0


def test_the_page_loads_nothing_and_runs_its_own_script_only(settings: Settings, figures: QueryFigures) -> None:
    page = report_file(settings, [figures])
    elements = Elements(page)
    assert elements.open == []
    tags = [tag for tag, _ in elements.tags]
    assert (tags.count("script"), tags.count("style")) == (1, 1)
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(tags)
    for tag, attributes in elements.tags:
        assert "src" not in attributes, tag
        assert "style" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not (attributes.get("href") or "").startswith(("http", "//", "javascript"))
    assert not re.search(r"https?://", page)
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "Ann &lt;ann@example.org&gt;" in page
    assert "'unsafe" not in content_security_policy()


def test_every_chart_has_a_table_and_its_marks_tell_measured_from_estimated(
    settings: Settings, figures: QueryFigures
) -> None:
    page = query_page(settings, figures, FILE)
    assert page.count("<figure") == page.count('<table class="data">') > 8
    chart = page[page.index("Error against its limit") :]
    drawn = re.findall(r'<path class="(measured|estimated)" d="M[\d.]+ [\d.]+([a-z])', chart[: chart.index("</svg>")])
    assert dict(drawn) == {"estimated": "m", "measured": "h"}


def test_links_of_the_served_page_are_relative(settings: Settings, figures: QueryFigures) -> None:
    links = Links(query="query/{}", front="../", keys=True)
    pages = front_page(settings, [figures], links) + query_page(settings, figures, links, key="no such key")
    found = re.findall(r'href="([^"]*)"', pages)
    assert "query/fares" in found
    assert not [link for link in found if link.startswith(("/", "http"))]
    assert "No published key is called that" in pages


@pytest.mark.parametrize("changes", [{"name": "nothing_yet"}, {"name": "nothing_yet", "group_by": []}])
def test_a_query_without_a_slot_has_a_page_that_says_so(settings: Settings, changes: dict[str, object]) -> None:
    figures = QueryFigures.load(settings, make_query(**changes), now=0)
    assert figures.standing == EMPTY
    assert math.isnan(figures.budget.achieved)
    assert "No slot has been run yet" in report_file(settings, [figures])
    assert "no slot yet" in front_page(settings, [figures], FILE)
    assert "There is no query yet" in report_file(settings, [])


def test_one_slot_is_a_page(settings: Settings, figures: QueryFigures) -> None:
    alone = QueryFigures(figures.query, figures.slots[:1], 0)
    page = report_file(settings, [alone])
    assert "NaN" not in page
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    assert Elements(page).open == []


def test_an_exact_query_has_a_page_that_says_so(settings: Settings, figures: QueryFigures) -> None:
    exact = QuerySpec.model_validate({**figures.query.model_dump(mode="json"), "shed": {
        "policy": "exact", "budget": {"fraction": 1}}})  # fmt: skip
    page = report_file(settings, [QueryFigures(exact, figures.slots, 0)])
    assert "This query reads every row" in page
    assert "Do the intervals hold?" not in page


def test_2000_windows_fit_into_one_small_file(settings: Settings, tmp_path: Path) -> None:
    large, query = settings_of(tmp_path), make_query(objective={"share": 0.9, "over": "50 days"})
    slots = many_slots(settings, large, query, 1000)
    figures = QueryFigures.load(large, query, now=0)
    assert figures.budget.promised == 2 * slots >= 2000
    assert len(gzip.compress(report_file(large, [figures]).encode())) < MOST_BYTES


def test_the_command_writes_the_file(settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_specs(settings, make_query(), make_query(name="other"))
    options = ["--warehouse", settings.warehouse, "--specs", str(settings.specs), "report"]
    assert main([*options, "--out", str(tmp_path / "all.html")]) == 0
    assert "2 queries" in capsys.readouterr().out
    page = (tmp_path / "all.html").read_text()
    assert 'href="#query-fares"' in page
    assert page.index('id="query-fares"') < page.index('id="query-other"')
    assert main([*options, "fares", "--out", str(tmp_path / "no" / "x.html")]) == 2
    assert main([*options, "nope", "--out", str(tmp_path / "x.html")]) == 2
