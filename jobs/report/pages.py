"""The page as HTML: one self-contained text that loads nothing, from any host or from none.

Jinja escapes every value. The one style sheet and the one script are inline, and the content security policy names them
by their hashes: nothing else runs, whatever stored text says.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from jobs.report import charts, texts
from jobs.report.figures import QueryFigures, least_budget_first
from jobs.report.key_figures import KeyFigures, key_figures, shown_measure
from jobs.report.slots import EXACT, REFUSED, STATES
from jobs.report.svg import sparkline
from jobs.report.what_if import advice, measured_policies
from shedding.config import Settings
from shedding.spec.times import format_duration


@dataclass(frozen=True, slots=True)
class Links:
    """Where links lead: `query` with a name in it, `front`; in a file they stay inside it, served they are relative.

    `keys` says whether any key may be asked for; a file has only those that it brings.
    """

    query: str = "#query-{}"
    front: str = "#"
    docs: str = ""
    keys: bool = False


FILE = Links()


def front_page(settings: Settings, figures: Sequence[QueryFigures], links: Links) -> str:
    """The front page alone, the query with the least budget first."""
    return _page("Error budgets", front=least_budget_first(figures), queries=(), links=links)


def query_page(
    settings: Settings, figures: QueryFigures, links: Links, measure: str | None = None, key: str | None = None
) -> str:
    """One query's page alone."""
    shown = [query_view(settings, figures, measure, key)]
    return _page(figures.query.name, front=(), queries=shown, links=links)


def message_page(title: str, text: str, links: Links) -> str:
    """A page that says one thing."""
    return _page(title, front=(), queries=(), links=links, message=text)


def report_file(settings: Settings, figures: Sequence[QueryFigures]) -> str:
    """Everything in one file: the front page, where there are several queries, and each query's page."""
    front = least_budget_first(figures) if len(figures) != 1 else ()
    shown = [query_view(settings, one) for one in least_budget_first(figures)]
    title = figures[0].query.name if len(figures) == 1 else "Error budgets"
    return _page(title, front=front, queries=shown, links=FILE)


def query_view(
    settings: Settings, figures: QueryFigures, measure: str | None = None, key: str | None = None
) -> dict[str, Any]:
    """What the template shows of a query: figures, charts and tables."""
    own = key_figures(settings, figures, measure, key)
    policies = measured_policies(figures, measure)
    return {
        "figures": figures,
        "measure": shown_measure(figures.query, measure).name,
        "of_keys": own,
        "asked": key,
        "charts": _charts(figures),
        "key_charts": [charts.key_chart(series, own.measure) for series in own.series],
        "calibration": _calibration(figures, own),
        "what_if": charts.what_if_chart(figures, policies) if policies else None,
        "advice": advice(figures, policies),
        "sheds": figures.query.shed.policy != EXACT,
        "refused": figures.slots[-1] if figures.slots and figures.slots[-1].outcome == REFUSED else None,
        "decisions": [slot for slot in reversed(figures.recent) if slot.checks],
    }


def content_security_policy() -> str:
    """What a page may do: show itself. Frames of its own host may hold it, its form asks its own host."""
    script, style = (_hash(_text(name)) for name in ("page.js", "style.css"))
    return (
        f"default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'self'"
    )


def _charts(figures: QueryFigures) -> dict[str, charts.Chart]:
    if not figures.slots:
        return {}
    return {
        "burn_down": charts.burn_down_chart(figures),
        "error": charts.error_chart(figures),
        "cost": charts.cost_chart(figures),
        "drift": charts.drift_chart(figures),
    }


def _calibration(figures: QueryFigures, own: KeyFigures) -> list[charts.Chart]:
    by_slot, by_rows = charts.coverage_chart(figures), own.by_sampled
    return [
        chart
        for chart, known in ((by_slot, by_slot.rows), (charts.sampled_chart(by_rows) if by_rows else None, by_rows))
        if known and chart is not None
    ]


def _page(title: str, **values: Any) -> str:
    environment = _environment()
    meta = content_security_policy().replace("; frame-ancestors 'self'", "")  # a meta element cannot say that
    return environment.get_template("page.html").render(title=title, policy=meta, message=values.pop("message", ""),
                                                        **values)  # fmt: skip


@cache
def _environment() -> Environment:
    environment = Environment(loader=FunctionLoader(_text), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {
        "percent": texts.percent, "share": texts.share, "number": texts.number, "instant": texts.instant,
        "duration": texts.duration, "span": format_duration, "spark": sparkline,
        "slug": lambda text: text.replace(" ", "-"),
    }  # fmt: skip
    environment.globals |= {
        "style": Markup(_text("style.css")), "script": Markup(_text("page.js")), "states": STATES,
    }  # fmt: skip
    return environment


@cache
def _text(name: str) -> str:
    return (files("jobs.report") / "templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
