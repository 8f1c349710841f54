"""`sluice explain`: all that was decided about one slot and why, on one page, from the tables and without a JVM."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.cli.arguments import instant
from jobs.cli.rendering import cell, json_text, plain_rows, render
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.timeline import slot_name
from shedding.spec.times import format_instant

if TYPE_CHECKING:
    from expectations.verdict import Verdict
    from shedding.tables import Table

Row = Mapping[str, Any]
LEARNT = ("audited", "audit_reason", "prior_slots", "last_audit", "prior_keys", "spot_keys")
BUDGET = (
    "slot_rows", "budget_rows", "processed_rows", "processed_fraction", "charged_rows", "union_rows", "omitted_keys",
    "exceeded_by", "reason",
)  # fmt: skip
PARTS = ("plan_seconds", "scan_seconds", "estimate_seconds", "write_seconds")
COST = (
    "total_rows", "rows_read", "bytes_read", "seconds", *PARTS, "forecast_seconds", "forecast_exact_seconds",
    "repaired_keys", "repair_rows", "repair_bytes",
)  # fmt: skip
CHECKED = ("check", "passed", "kind", "estimate", "observed", "limit", "severity")

SIZE = "rows of a key"
RATES = {
    SIZE: "length(CAST(CAST(population AS BIGINT) AS VARCHAR))",  # digits, null where the population is unknown
    "keys": "count(*)",
    "least rate": "min(sampling_rate)",
    "mean rate": "avg(sampling_rate)",
    "largest rate": "max(sampling_rate)",
    "sampled rows": "sum(sampled_rows)",
    "exact keys": "count(*) FILTER (WHERE is_exact)",
    "imputed keys": "count(*) FILTER (WHERE is_imputed)",
}


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "explain", help="one slot of a query: what it learnt, read and cost, and its verdict"
    )
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("--slot", type=instant, metavar="T", required=True, help="an instant of the slot, ISO")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the page is printed, whatever the verdict."""
    query = load_catalog(settings.specs).query(arguments.query)
    settings.require_warehouse()
    page = explained(settings, query, query.timeline.slot_of(arguments.slot))
    print(json_text(page) if arguments.format == "json" else as_text(page))
    return 0


def explained(settings: Settings, query: QuerySpec, slot: int) -> dict[str, Any]:
    """Everything the page says, as JSON holds it; DataError where the slot was never computed."""
    from shedding import warehouse

    runs = [row for row in _slot_rows(warehouse.runs(settings, query.name), slot) if row["published"]]
    if not runs:
        span = f"--from {format_instant(slot)} --to {format_instant(slot + query.timeline.slot)}"
        raise DataError(
            f"slot {slot_name(slot)} of {query.name} was never computed; run `sluice run {query.name} {span}`"
        )
    first = min(runs, key=lambda row: row["window_start"])
    judged = _verdicts(settings, query, slot, first["run_id"])
    return {
        "query": query.name,
        "slot": format_instant(slot),
        "windows": len(runs),
        "leg": first["leg"],
        "run_id": first["run_id"],
        "decision": _decision(settings, query, slot, judged),
        "learnt": _chosen(first, LEARNT),
        "budget": _chosen(first, BUDGET),
        "rates": _rates(settings, query, slot, first),
        "checks": [{"attempt": verdict.attempt, **check} for verdict in judged for check in _checks(verdict)],
        "cost": _chosen(first, COST) | {name: value for name, value in first.items() if name.startswith("seconds_")},
    }


def as_text(page: Mapping[str, Any]) -> str:
    """The page for people: the decision first, then what led to it."""
    title = (
        f"{page['query']}, slot {page['slot']}: {page['windows']} windows of leg {page['leg']}, run {page['run_id']}"
    )
    checks = page["checks"]
    columns = [name for name in ("attempt", *CHECKED) if name != "attempt" or any(c["attempt"] for c in checks)]
    rates = page["rates"]
    parts = {
        "Learnt from": _figures(page["learnt"]),
        "Budget": _figures(page["budget"]),
        "Rates by size of key": render(rates, list(rates[0]), "table") if rates else "(no key is shown)",
        "Checks": render(checks, columns, "table") if checks else "(not judged yet)",
        "Read and cost": _figures(page["cost"]),
    }
    return "\n\n".join([f"{title}\n{page['decision']}", *(f"{name}\n{text}" for name, text in parts.items())])


def _decision(settings: Settings, query: QuerySpec, slot: int, judged: Sequence[Verdict]) -> str:
    """Why the slot's rows are published, or are not, in a sentence or two."""
    from shedding import warehouse

    rows = _slot_rows(warehouse.published(settings, query.name), slot)
    visible = f"revision {rows[0]['revision']} of run {rows[0]['run_id']}" if rows else "nothing"
    if not judged:
        return f"Computed and not judged yet; consumers read {visible}."
    last = judged[-1]
    if not last.passed:
        return f"Not published: {'; '.join(check.detail for check in last.failed)}. Consumers read {visible}."
    if not rows or rows[0]["run_id"] != last.run_id:
        return f"Passed its gate and not published yet; consumers read {visible}."
    how = last.outcome if last.failed else f"passed {len(last.checks)} checks"
    repaired = " after a repair" if last.attempt else ""
    return f"Published as revision {rows[0]['revision']}: {how}{repaired}."


def _checks(verdict: Verdict) -> list[dict[str, Any]]:
    return [
        {"check": check.name, **{name: getattr(check, name) for name in (*CHECKED[1:], "detail")}}
        for check in sorted(verdict.checks, key=lambda check: (check.passed, check.name))
    ]


def _verdicts(settings: Settings, query: QuerySpec, slot: int, run_id: str) -> list[Verdict]:
    """The verdicts on the run, by attempt."""
    from expectations.verdict import verdict_of
    from shedding import warehouse

    rows = [row for row in _slot_rows(warehouse.verdicts(settings, query.name), slot) if row["run_id"] == run_id]
    attempts = sorted({row["attempt"] for row in rows})
    return [verdict_of(query.name, slot, run_id, rows, attempt) for attempt in attempts]


def _rates(settings: Settings, query: QuerySpec, slot: int, run: Row) -> list[dict[str, Any]]:
    """By powers of ten of the rows that a key has in a window: how many such keys, and how they were sampled."""
    from jobs.cli.quick_table import QuickTable
    from shedding import warehouse

    table = QuickTable(warehouse.results(settings, query.name).uri, run["results_version"])
    where = f"WHERE slot = '{slot_name(slot)}' AND leg = '{run['leg']}'"
    columns = ", ".join(f'{column} AS "{name}"' for name, column in RATES.items())
    classes: list[dict[str, Any]] = table.select(f"{where} GROUP BY 1 ORDER BY 1", columns).to_pylist()
    for one in classes:
        digits = one[SIZE]
        one[SIZE] = "unknown" if digits is None else f"{10 ** (digits - 1)} to {10**digits - 1}"
    return classes


def _slot_rows(table: Table, slot: int) -> list[dict[str, Any]]:
    from jobs.cli.quick_table import QuickTable

    return plain_rows(QuickTable(table.uri).select(f"WHERE slot = '{slot_name(slot)}'")) if table.exists() else []


def _chosen(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: row.get(name) for name in names}


def _figures(values: Mapping[str, Any]) -> str:
    """One figure a line; what the run did not record is left out."""
    shown = {name: ", ".join(value) if isinstance(value, list) else value for name, value in values.items()}
    width = max(map(len, shown))
    texts = {name: value if isinstance(value, str) else cell(value) for name, value in shown.items()}
    kept = [f"  {name.ljust(width)}  {text}" for name, text in texts.items() if text]
    return "\n".join(kept) or "  (nothing recorded)"
