"""Burn-rate rules for Prometheus and one Grafana board, from the queries' objectives alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shedding.compare.error_budget import burn_windows
from shedding.spec.query import QuerySpec
from shedding.spec.times import UNITS, format_duration


def alert_rules(queries: Sequence[QuerySpec]) -> dict[str, Any]:
    """A group a query: an alert per pair of windows, counted in slots, and one for slots that do not come.

    A fast burn pages, a slow one writes a ticket; both windows must burn, so that an alert ends soon after its cause.
    """
    return {"groups": [{"name": f"sluice_{query.name}", "rules": _rules(query)} for query in queries]}


def _rules(query: QuerySpec) -> list[dict[str, Any]]:
    name = query.name
    rules = [
        {
            "alert": "SluiceErrorBudgetBurn",
            "expr": f'sluice_burn_rate{{query="{name}",slots="{alert.long_slots}"}} > {alert.rate:.4g} and '
            f'ignoring (slots) sluice_burn_rate{{query="{name}",slots="{alert.short_slots}"}} > {alert.rate:.4g}',
            "labels": {"severity": alert.severity, "query": name, "slots": str(alert.long_slots)},
            "annotations": {
                "summary": f"{name} burns its error budget over {alert.rate:.3g} times too fast",
                "description": f"objective {query.objective.share:g} over {format_duration(query.objective.over)}; "
                "sluice report shows which windows were over a limit or not published",
            },
        }
        for alert in burn_windows(query.objective, query.timeline)
    ]
    late = {
        "alert": "SluiceSlotsLate",
        "expr": f'sluice_late_slots{{query="{name}"}} > 0',
        "for": f"{max(60, query.timeline.slot // UNITS['second'] // 4)}s",
        "labels": {"severity": "ticket", "query": name},
        "annotations": {"summary": f"{name}: slots are due and were not run", "description": "see sluice status"},
    }
    return [*rules, late]


_PANELS = (
    ("Error budget left", "sluice_budget_left_ratio", "{{query}}", "percentunit"),
    ("Burn rate", "sluice_burn_rate", "{{query}}, {{slots}} slots", "none"),
    ("Age of the newest published slot", "sluice_freshness_seconds", "{{query}}", "s"),
    ("Error over its limit", "sluice_error_over_limit_ratio", "{{query}}, {{kind}}", "percentunit"),
    ("Coverage at the last audit", "sluice_coverage_ratio", "{{query}}", "percentunit"),
    ("Windows by verdict", "sluice_windows", "{{query}}, {{verdict}}", "none"),
    ("Rows by leg", "sluice_rows", "{{query}}, {{leg}}", "short"),
    ("Seconds of a slot", "sluice_slot_seconds", "{{query}}", "s"),
    ("Drift", "sluice_drift_distance", "{{query}}", "none"),
    ("Rows in quarantine", "sluice_quarantined_rows", "{{of}} {{name}}", "short"),
)


def grafana_board() -> dict[str, Any]:
    """One board of all queries, for a Prometheus source that the reader chooses."""
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "title": "Sluice error budgets", "uid": "sluice", "schemaVersion": 39, "refresh": "1m",
        "time": {"from": "now-7d", "to": "now"},
        "templating": {"list": [
            {"name": "source", "type": "datasource", "query": "prometheus"},
            {"name": "query", "type": "query", "datasource": source,
             "query": "label_values(sluice_objective_ratio, query)", "includeAll": True, "multi": True, "refresh": 2},
        ]},
        "panels": [
            {
                "id": place + 1, "type": "timeseries", "title": title, "datasource": source,
                "gridPos": {"x": 12 * (place % 2), "y": 8 * (place // 2), "w": 12, "h": 8},
                "fieldConfig": {"defaults": {"unit": unit}, "overrides": []},
                "targets": [{"refId": "A", "datasource": source, "expr": _expression(metric), "legendFormat": legend}],
            }
            for place, (title, metric, legend, unit) in enumerate(_PANELS)
        ],
    }  # fmt: skip


def _expression(metric: str) -> str:
    return metric if metric == "sluice_quarantined_rows" else f'{metric}{{query=~"$query"}}'
