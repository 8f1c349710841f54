"""`sluice compare`: policies and budgets beside the exact answer, on real rows; publishes nothing."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jobs.cli.arguments import add_interval, checked_picture, required_interval
from jobs.cli.progress import Progress
from jobs.cli.rendering import print_rows
from shedding.config import Settings
from shedding.errors import SluiceError
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.shed import BudgetSpec

ESTIMATES = ("plain", "shrunk")
SHOWN = [
    "policy", "budget", "estimates", "measure", "processed_fraction", "total_fraction", "mean_error", "p95_error",
    "missing_keys", "imputed_keys", "coverage", "half_width", "windows", "seconds", "bytes",
]  # fmt: skip


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("compare", help="policies and budgets against the exact answer; publishes nothing")
    parser.add_argument("query", metavar="QUERY")
    add_interval(parser, required=True)
    parser.add_argument("--policies", type=_words, help="comma-separated; default: the query's own and its compared")
    parser.add_argument("--budgets", type=_fractions, default=[0.02, 0.05, 0.10], help="fractions, e.g. 0.02,0.05")
    parser.add_argument("--estimates", type=_words, default=["shrunk"], help="plain, shrunk, or plain,shrunk")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="error against processed fraction, a line a policy"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print one line per policy, budget, kind of estimate and measure."""
    query = load_catalog(settings.specs).query(arguments.query)
    policies = arguments.policies or [p for p in query.legs if p != "exact"]
    _check(query, policies, arguments.estimates)
    span = required_interval(arguments)
    checked_picture(arguments.plot)
    lines = _compare(arguments, settings, policies, span)
    columns = SHOWN if arguments.format != "table" else [c for c in SHOWN if c not in ("imputed_keys", "bytes")]
    print_rows(lines, columns, arguments.format)
    if arguments.format == "table":
        print("\n".join(break_even_lines(settings, query, arguments.budgets, query.timeline.slot_of(span[0]))))
    if arguments.plot is not None:
        plot(lines, query, arguments.plot)
    return 0


def break_even_lines(settings: Settings, query: QuerySpec, budgets: Sequence[float], slot: int) -> list[str]:
    """By budget: from how many groups on the slot's exact answer would cost less, by the cost model; see `forecast`."""
    from shedding.ingest.side import sides_of
    from shedding.planning.cost_model import break_even, forecast
    from shedding.stretches import Stretches

    side = sides_of(settings, load_catalog(settings.specs), query)[0]
    lines = []
    for fraction in budgets:
        shed = query.shed.model_copy(update={"budget": BudgetSpec(fraction=fraction)})
        asked = query.model_copy(update={"shed": shed})
        told = forecast(asked, side, slot, settings.costs)
        if told is None:
            return ["break-even with exact: not modelled for this query"]
        rows = side.rows(Stretches.of((slot, slot + query.timeline.slot)))
        groups = break_even(asked, side, rows, settings.costs)
        limit = "never" if groups is None else f"from {groups:.0f} groups on"
        lines.append(
            f"at {fraction:g} of {rows:.0f} rows exact costs less {limit}; the slot has {told.groups:.0f} "
            f"({told.exact_seconds:.3g} s exact, {told.shed_seconds:.3g} s sampled by the cost model)"
        )
    return lines


def _compare(
    arguments: argparse.Namespace, settings: Settings, policies: Sequence[str], span: tuple[int, int]
) -> list[dict[str, Any]]:
    from shedding.compare.comparison import compare_between, slots_with_rows
    from shedding.compare.experiment import Leg
    from shedding.ingest.side import sides_of
    from shedding.scan.spark_scans import SlotScan
    from shedding.spark.session import spark_session

    catalog = load_catalog(settings.specs)
    query = catalog.query(arguments.query)
    legs = [Leg(policy, fraction) for policy in policies for fraction in arguments.budgets]
    slots_with_rows(query, sides_of(settings, catalog, query), span)  # an empty interval is told before Java starts
    with (
        Progress(f"compare {query.name}") as progress,
        spark_session(settings, f"sluice compare {query.name}") as spark,
    ):
        scans = SlotScan(spark, settings, query)
        return compare_between(settings, catalog, query, scans, span, legs, arguments.estimates, progress.step)


def plot(lines: Sequence[Mapping[str, Any]], query: QuerySpec, file: Path) -> None:
    """Mean relative error against the fraction of rows processed, one line a policy and kind of estimate."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    measure = next((m.name for m in query.measures if m.column is not None), query.measures[0].name)
    chosen = [line for line in lines if line["measure"] == measure and line["mean_error"] is not None]
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for policy, kind in dict.fromkeys((line["policy"], line["estimates"]) for line in chosen):
        points = sorted(
            (line["processed_fraction"], line["mean_error"])
            for line in chosen
            if (line["policy"], line["estimates"]) == (policy, kind)
        )
        axes.plot(*zip(*points, strict=True), marker="o", linestyle="-" if kind == "shrunk" else "--",
                  label=f"{policy}, {kind}")  # fmt: skip
    axes.set(xlabel="fraction of rows processed", ylabel=f"mean relative error of {measure}", title=query.name)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _check(query: QuerySpec, policies: Sequence[str], estimates: Sequence[str]) -> None:
    from shedding.compare.experiment import ORACLE
    from shedding.policies import POLICIES

    known = [*(p for p in POLICIES if p != "exact"), ORACLE]
    for kind, given, allowed in (("policy", policies, known), ("estimate", estimates, list(ESTIMATES))):
        unknown = [name for name in given if name not in allowed]
        if unknown or not given:
            raise SluiceError(f"no {kind} {', '.join(unknown) or 'given'}; choose from: {', '.join(allowed)}")
    if query.join is not None and ORACLE in policies:
        served = ", ".join(name for name in known if name != ORACLE)
        raise SluiceError(f"{query.name} is a join: no oracle knows its slots; choose from: {served}")
    exact_only = [m.name for m in query.measures if m.traits.exact_only]
    if exact_only:
        raise SluiceError(f"{query.name}: measure {exact_only[0]} is exact only, so there is nothing to compare")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _fractions(text: str) -> list[float]:
    try:
        found = [float(word) for word in _words(text)]
    except ValueError:
        found = []
    if not found or not all(0 < value <= 1 for value in found):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of fractions in (0, 1]; write e.g. 0.02,0.05,0.10")
    return found
