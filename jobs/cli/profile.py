"""`sluice profile`: how a dataset's rows spread over keys and windows, and what that means for shedding."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cli.arguments import checked_picture
from jobs.cli.progress import Progress
from jobs.cli.rendering import json_text, render
from shedding.config import Settings
from shedding.errors import NotReadyError, SpecError
from shedding.spec import Catalog, load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.times import format_duration, format_instant, parse_duration
from shedding.stretches import Stretches

if TYPE_CHECKING:
    from shedding.compare.profile import Profile
    from shedding.ingest.arrivals import Arrivals


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("profile", help="rate, keys, skew and drift of a dataset, and what budgets can show")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--by", metavar="COLUMNS", help="comma-separated keys; default: those of its first query")
    parser.add_argument(
        "--window",
        type=_duration,
        metavar="D",
        help="length of a window, e.g. '30 minutes'; default: its first query's",
    )
    parser.add_argument(
        "--cost", action="store_true", help="what the calls of its queries' functions took, and what seconds buy"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="rows by rank of key, and keys against budgets")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the profile of all visible rows is printed; a query's `where` is not applied."""
    catalog = load_catalog(settings.specs)
    dataset = catalog.dataset(arguments.dataset)
    if arguments.cost:
        return _costs(settings, catalog, dataset, arguments.format)
    keys, width = default_keys(catalog, dataset), arguments.window or default_window(catalog, dataset)
    if arguments.by is not None:
        keys = [word.strip() for word in arguments.by.split(",") if word.strip()]
    _check(dataset, keys)
    checked_picture(arguments.plot)
    from shedding.ingest.arrivals import Arrivals

    arrivals = Arrivals.load(settings, dataset.name)
    found = _scan(settings, dataset, keys, width, arrivals)
    report = figures(found, dataset, keys, arrivals)
    print(json_text(report) if arguments.format == "json" else as_text(report))
    if arguments.plot is not None:
        plot(found, dataset.name, arguments.plot)
    return 0


def _costs(settings: Settings, catalog: Catalog, dataset: DatasetSpec, form: str) -> int:
    """0 once the costs of every query with functions are printed; no Spark is needed."""
    from shedding.compare.cost_profile import cost_profile

    queries = [query for query in catalog.queries_of(dataset.name) if query.enrich]
    if not queries:
        raise SpecError(f"no query on {dataset.name} has enrich; --cost is about calls of functions")
    found, missing = {}, None
    for query in queries:
        try:
            found[query.name] = asdict(cost_profile(settings, query))
        except NotReadyError as error:
            missing = missing or error
    if not found and missing is not None:
        raise missing
    print(json_text(found) if form == "json" else "\n\n".join(_cost_text(*one) for one in found.items()))
    return 0


def _cost_text(name: str, found: dict[str, Any]) -> str:
    """Of one query the classes of cost, and what budgets buy."""
    whole = [{"figure": key, "value": _number(value)} for key, value in found.items() if not isinstance(value, tuple)]
    classes = [
        {"seconds from": f"{line['least']:.3g}", "calls": line["calls"],
         "of the calls": f"{line['share_of_calls']:.1%}", "of the seconds": f"{line['share_of_seconds']:.1%}"}
        for line in found["classes"]
    ]  # fmt: skip
    budgets = [
        {"budget": f"{{seconds: {line['seconds']:.3g}}}", "rows, one rate": f"{line['blind']:.1%}",
         "rows, by cost": f"{line['aware']:.1%}", "error over that of one rate": f"{line['error']:.2f}"}
        for line in found["purchases"]
    ]  # fmt: skip
    return "\n\n".join([
        render([{"figure": "query", "value": name}, *whole], ["figure", "value"], "table"),
        render(classes, list(classes[0]), "table"), render(budgets, list(budgets[0]), "table"),
    ])  # fmt: skip


def default_keys(catalog: Catalog, dataset: DatasetSpec) -> list[str]:
    """The keys of the dataset's first query by name, else those of its layout (none: all rows are one key)."""
    queries = catalog.queries_of(dataset.name)
    if not queries:
        return list(dataset.layout.keys)
    return list(queries[0].group_by)  # of a join too: it groups by the columns it joins on


def default_window(catalog: Catalog, dataset: DatasetSpec) -> int:
    """The window of the dataset's first query by name, else the interval of its ingests."""
    queries = catalog.queries_of(dataset.name)
    return queries[0].window.size if queries else dataset.schedule.every


def figures(found: Profile, dataset: DatasetSpec, keys: list[str], arrivals: Arrivals) -> dict[str, Any]:
    """Everything the command says, as JSON holds it."""
    from shedding.compare.profile import Spread, late_rows
    from shedding.compare.season import found_season

    first, last = arrivals.first_event, arrivals.last_event
    assert first is not None  # there are rows
    assert last is not None
    windows = found.windows
    spreads = {
        "rows": Spread.of(windows.rows),
        "keys": Spread.of(windows.keys),
        "keys_seen_once": Spread.of(windows.once),
        "top_1_share": Spread.of(windows.top_1 / windows.rows),
        "top_10_share": Spread.of(windows.top_10 / windows.rows),
        "keys_over_rows": found.floor,
        "overlap": Spread.of([drift.overlap for drift in found.drift]),
        "distance": Spread.of([drift.distance for drift in found.drift]),
    }
    late = late_rows(arrivals, dataset.allowed_lateness)
    season = found_season(windows.start, windows.rows, found.width)
    return {
        "dataset": dataset.name,
        "by": keys,
        "window": format_duration(found.width),
        "rows": found.rows,
        "first_event": format_instant(first),
        "last_event": format_instant(last),
        "rows_per_second": found.rows / ((last - first) / 1e6) if last > first else None,
        "windows": int(windows.start.size),
        "keys": found.keys,
        "keys_seen_once": found.once,
        "top_1_share": found.top_share(1),
        "top_10_share": found.top_share(10),
        "late_rows": late,
        "late_share": late / found.rows,
        "season": None if season is None else format_duration(season),
        "per_window": {name: None if spread is None else asdict(spread) for name, spread in spreads.items()},
        "keys_over_rows": found.floor_overall,
        "budgets": [asdict(outlook) for outlook in found.outlooks],
    }


def as_text(report: dict[str, Any]) -> str:
    """The figures for people: of the dataset, of its windows, of budgets, and a conclusion."""
    shown = {name: value for name, value in report.items() if name not in ("per_window", "budgets", "keys_over_rows")}
    shown["by"] = ", ".join(report["by"]) or "(no key)"
    whole = [{"figure": name, "value": _number(value)} for name, value in shown.items()]
    windows = [
        {"per window": name, **({} if spread is None else spread)} for name, spread in report["per_window"].items()
    ]
    blank = dict.fromkeys(("least", "median", "most"))
    budgets = [
        {
            "budget": f"{line['budget']:.0%}",
            "windows too small for their keys": f"{line['short']:.1%}",
            "keys shown at best": f"{line['best']:.1%}",
            "by uniform sampling": f"{line['uniform']:.1%}",
        }
        for line in report["budgets"]
    ]
    return "\n\n".join([
        render(whole, ["figure", "value"], "table"),
        render([blank | line for line in windows], ["per window", "least", "median", "most"], "table"),
        render(budgets, list(budgets[0]), "table"),
        conclusion(report),
    ])  # fmt: skip


def conclusion(report: dict[str, Any]) -> str:
    """Below which budget no sampler can show every key, and the season that audits should know."""
    floor = report["per_window"]["keys_over_rows"]
    median, every, moved = (f"{100 * x:.3g} %" for x in (floor["median"], floor["most"], report["keys_over_rows"]))
    season = report["season"]
    told = (
        ""
        if season is None
        else f"\nRows follow a period of {season}: write audit: {{season: {season}}} to learn by it."
    )
    return (
        f"Each key shown takes a row. Below a budget of {median} no sampler can show every key of the median window,\n"
        f"below {every} not of every window, and below {moved} not even if it moves rows from window to window."
        f"{told}"
    )


def plot(found: Profile, name: str, file: Path) -> None:
    """Rows of each key by its rank, and the keys of each window beside the rows that each budget allows."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (ranks, budgets) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    ranks.loglog(np.arange(1, found.keys + 1), found.ranked, marker=".", linestyle="-", linewidth=0.8)
    ranks.set(xlabel="rank of the key", ylabel="rows", title=f"{name}: rows of each key")
    hours = (found.windows.start - found.windows.start[0]) / 3.6e9
    for outlook in found.outlooks:
        budgets.plot(hours, outlook.budget * found.windows.rows, label=f"rows at {outlook.budget:.0%}", linewidth=1)
    budgets.plot(hours, found.windows.keys, color="black", marker=".", linewidth=1.5, label="keys")
    budgets.set(xlabel="hours since the first window", ylabel="per window", title="keys against budgets", yscale="log")
    budgets.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    for axes in (ranks, budgets):
        axes.grid(alpha=0.3)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _scan(settings: Settings, dataset: DatasetSpec, keys: list[str], width: int, arrivals: Arrivals) -> Profile:
    first, last = arrivals.first_event, arrivals.last_event
    if first is None or last is None:
        raise NotReadyError(f"dataset {dataset.name} has no rows yet; run `sluice ingest {dataset.name}` first")
    from shedding.compare.profile import profile
    from shedding.ingest.raw_rows import read_raw
    from shedding.scan.window_counts import window_counts
    from shedding.spark.session import spark_session

    with (
        Progress(f"profile {dataset.name}") as progress,
        spark_session(settings, f"sluice profile {dataset.name}") as spark,
    ):
        progress.step(f"counting rows by {', '.join(keys) or 'window'}")
        counts = window_counts(
            read_raw(spark, settings, dataset, Stretches.of((first, last + 1)), arrivals), keys, width
        )
    return profile(counts, keys, width)


def _check(dataset: DatasetSpec, keys: list[str]) -> None:
    unknown = [key for key in keys if key not in dataset.column_names]
    if unknown:
        there = ", ".join(dataset.column_names)
        raise SpecError(f"--by {unknown[0]}: dataset {dataset.name} has no such column; it has: {there}")
    lists = [column.name for column in dataset.columns if column.name in keys and column.type.startswith("array")]
    if lists:
        raise SpecError(f"--by {lists[0]}: this column of dataset {dataset.name} holds lists, not keys; name another")
    if len(set(keys)) != len(keys):
        raise SpecError(f"--by {', '.join(keys)} names a column twice; remove one")


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is {error}") from None
