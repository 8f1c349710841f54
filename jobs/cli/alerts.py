"""`sluice alerts`: burn-rate rules for Prometheus and a Grafana board, from the queries' objectives."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import yaml

from shedding.config import Settings
from shedding.errors import SluiceError
from shedding.spec import load_catalog

RULES, BOARD = "sluice-rules.yaml", "sluice-board.json"


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("alerts", help="write Prometheus rules and a Grafana board of the objectives")
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help=f"where {RULES} and {BOARD} go")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once both files are written."""
    from jobs.report.alerts import alert_rules, grafana_board

    directory: Path = arguments.out
    if not directory.is_dir():
        raise SluiceError(f"--out {directory}: no such directory; make it, or name another")
    queries = [query for _, query in sorted(load_catalog(settings.specs).queries.items())]
    (directory / RULES).write_text(yaml.safe_dump(alert_rules(queries), sort_keys=False, width=1000), encoding="utf-8")
    (directory / BOARD).write_text(json.dumps(grafana_board(), indent=2) + "\n", encoding="utf-8")
    print(f"{directory / RULES}, {directory / BOARD}: {len(queries)} queries")
    return 0
