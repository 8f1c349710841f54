"""The served page and the file in a real Chromium, as a person uses them; pictures are kept under build/page/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.report.figures import QueryFigures
from jobs.report.pages import report_file
from shedding.config import Settings
from tests.jobs.provider.chromium import Browser, chromium
from tests.jobs.provider.page_server import OTHER, serving
from tests.jobs.report.specs import HOSTILE, make_query
from tests.jobs.report.world import world, write_specs

pytestmark = pytest.mark.airflow
PICTURES = Path(__file__).resolve().parents[3] / "build" / "page"
ERRORS = "figure.chart:nth-of-type(2) .canvas > svg"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    made = world(tmp_path_factory.mktemp("world"))
    write_specs(made, make_query(), make_query(name=OTHER))
    return made


@pytest.fixture(scope="module")
def address(settings: Settings) -> Iterator[str]:
    with serving(settings.specs.parent) as (found, _):
        yield found


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        opened.look(1280, 900)
        yield opened
        assert opened.errors == []


@pytest.fixture
def logged_in(browser: Browser, address: str) -> Browser:
    browser.call("Network.setCookie", name="_token", value="ann", url=address, httpOnly=True, sameSite="Lax")
    return browser


def tip(browser: Browser) -> str:
    return str(browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"))


def test_from_the_front_page_to_a_query_a_key_and_a_value(logged_in: Browser, address: str) -> None:
    browser = logged_in
    browser.open(f"{address}/sluice/")
    assert browser.run("[...document.querySelectorAll('tbody th')].map((e) => e.textContent)") == ["fares", OTHER]
    browser.screenshot(PICTURES / "front.png")
    browser.act("document.querySelector('tbody th a').click()")
    assert browser.run("location.pathname") == "/sluice/query/fares"
    browser.screenshot(PICTURES / "query.png")
    browser.run(f"document.querySelector('input[name=key]').value = {HOSTILE!r}")
    browser.act("document.querySelector('form.choose button').click()")
    assert browser.run("document.querySelector('.keys figcaption').textContent") == HOSTILE
    browser.hover(ERRORS)
    assert "error: " in tip(browser)
    browser.screenshot(PICTURES / "hover.png", whole=False)
    browser.act("document.querySelector('.crumb a').click()")
    assert browser.run("location.pathname") == "/sluice/"
    assert [url for url in browser.requests if not url.startswith((address, "data:"))] == []


def test_values_are_read_by_the_keyboard_alone(logged_in: Browser, address: str) -> None:
    browser = logged_in
    browser.open(f"{address}/sluice/query/fares")
    browser.run("document.querySelector('figure.chart').focus()")
    browser.press("ArrowRight")
    first = tip(browser)
    browser.press("ArrowRight")
    assert first != tip(browser) != ""
    browser.press("Escape")
    assert tip(browser) == ""


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, True)])
def test_it_fits_narrow_windows_and_dark_rooms(logged_in: Browser, address: str, width: int, dark: bool) -> None:
    logged_in.look(width, 900, dark)
    for name, path in (("front", ""), ("query", "query/fares")):
        logged_in.open(f"{address}/sluice/{path}")
        assert logged_in.run("document.documentElement.scrollWidth") <= width
        light = logged_in.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 128")
        assert light is not dark
        logged_in.screenshot(PICTURES / f"{name}-{width}{'-dark' if dark else ''}.png")


def test_the_file_works_from_disk(browser: Browser, settings: Settings, tmp_path: Path) -> None:
    file, queries = tmp_path / "report.html", [make_query(), make_query(name=OTHER)]
    file.write_text(report_file(settings, [QueryFigures.load(settings, query, now=0) for query in queries]))
    browser.open(file.as_uri())
    shown = "[...document.querySelectorAll('section')].filter((e) => e.offsetHeight).map((e) => e.id || e.className)"
    assert browser.run(shown) == ["front"]
    browser.run("document.querySelector('tbody th a').click()")
    assert browser.run(shown) == ["query-fares"]
    browser.run("(() => { const s = document.querySelector('select.key'); s.value = '3';"
                "s.dispatchEvent(new Event('change')); })()")  # fmt: skip
    chosen = browser.run("document.querySelector('select.key').selectedOptions[0].textContent")
    visible = "[...document.querySelectorAll('.of-key figcaption')].filter((e) => e.offsetHeight)"
    assert browser.run(f"{visible}.map((e) => e.textContent)") == [chosen]
    assert {url for url in browser.requests if not url.startswith("data:")} == {file.as_uri()}
