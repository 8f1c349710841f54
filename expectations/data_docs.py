"""Data Docs: one page per judged run, and an index per query.

Only the run's own page and the index are written, whatever the number of earlier runs, each by an atomic
rename, so concurrent gates of a backfill neither slow down nor disturb one another.
"""

from __future__ import annotations

import contextlib
import hashlib
import html
import os
import re
from pathlib import Path
from typing import Any

from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
from great_expectations.render.view import DefaultJinjaPageView

from shedding.spec.timeline import slot_name

KEPT = 500
"""How many pages a query keeps, those written last; the index lists them all. Verdicts themselves are kept in Delta."""

PAGES = "*-*-*-*.html"

_FOREIGN = [
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"<script\b.*?</script\s*>",
        r"<(?:link|img|base|iframe|object|embed)\b[^>]*>",
        r"<(button|label)\b.*?</\1\s*>",  # they show and hide by a script
        r"<footer\b.*?</footer\s*>",  # a newsletter
        r"background: url\([^)]*\)[^;]*;",
    )
]
_STYLE = """<style>body{font:16px/1.5 system-ui,sans-serif;margin:1rem}table{border-collapse:collapse}
td,th{border:1px solid #ddd;padding:.25rem .75rem;text-align:left;vertical-align:top}
.card:has(.btn-group-toggle){display:none}.badge{background:#eee;border-radius:.25rem;padding:0 .3rem}
.text-success{color:#1a7f37}.text-danger{color:#cf222e}</style>"""

_INDEX = """<!doctype html><meta charset="utf-8"><title>{query}: verdicts</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:50rem;padding:0 1rem}}
td{{padding:.1rem 1rem .1rem 0}}.passed{{color:#1a7f37}}.failed{{color:#cf222e}}</style>
<h1>{query}</h1><p>Verdicts of the gate, newest slot first.</p><table>{rows}</table>"""


def write_page(directory: Path, query: str, slot: int, run_id: str, attempt: int, result: Any, passed: bool) -> str:
    """Render the validation result; the page's path below `directory`, `<query>/<page>`."""
    site = directory / query
    site.mkdir(parents=True, exist_ok=True)
    run = hashlib.blake2b(run_id.encode(), digest_size=4).hexdigest()
    state = "passed" if passed else "failed"
    stem = f"{slot_name(slot)}-{run}-{attempt}"
    for stale in site.glob(f"{stem}-*.html"):
        stale.unlink(missing_ok=True)
    page = f"{stem}-{state}.html"
    _write(site / page, _alone(DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(result))))
    _prune(site)
    _write(site / "index.html", _index(site, query))
    return f"{query}/{page}"


def _alone(page: str) -> str:
    """The page without what it would load or run: Great Expectations' own has scripts and styles of seven hosts.

    It lies beside its index, not four folders below it as in a site that Great Expectations builds.
    """
    for foreign in _FOREIGN:
        page = foreign.sub("", page)
    return re.sub(r"(\.\./)+index\.html", "index.html", page).replace("</head>", f"{_STYLE}</head>", 1)


def _prune(site: Path) -> None:
    """Delete the pages written longest ago; two gates that prune at once may each find the other's work done."""
    written = {}
    for page in site.glob(PAGES):
        with contextlib.suppress(FileNotFoundError):
            written[page] = page.stat().st_mtime_ns
    for page in sorted(written, key=lambda page: (written[page], page))[:-KEPT]:
        page.unlink(missing_ok=True)


def _index(site: Path, query: str) -> str:
    pages = sorted((page.name for page in site.glob(PAGES)), reverse=True)
    rows = "".join(
        '<tr><td><a href="{0}">{1}</a></td><td>{2}</td><td class="{3}">{3}</td></tr>'.format(
            html.escape(page), slot, "after repair" if attempt != "0" else "", state
        )
        for page in pages
        for slot, _, attempt, state in [page.removesuffix(".html").split("-")]
    )
    return _INDEX.format(query=html.escape(query), rows=rows)


def _write(path: Path, text: str) -> None:
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
