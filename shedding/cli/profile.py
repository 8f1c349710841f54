"""`sluice profile`: what a dataset is like, and what that means for shedding."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from shedding.arrivals import HOUR, Arrivals
from shedding.config import Settings
from shedding.errors import NotReadyError, SpecError
from shedding.spec import load_catalog
from shedding.spec.dataset import DatasetSpec
from shedding.spec.durations import format_duration, format_instant, parse_duration


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("profile", help="rows, keys, skew, drift, and the least budget that shows every key")
    parser.add_argument("dataset", metavar="DATASET")
    parser.add_argument("--by", metavar="COLUMNS", default="", help="key columns, with commas; none: one key")
    parser.add_argument("--window", metavar="D", default="1 hour", help="e.g. '30 minutes'")
    parser.add_argument("--format", choices=["table", "json"], default="table")
    parser.add_argument("--plot", metavar="FILE.png", type=Path, help="draw rows over keys by rank")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """0 once the profile is printed; the raw rows are read once."""
    dataset = load_catalog(settings.specs).dataset(arguments.dataset)
    keys = [key.strip() for key in arguments.by.split(",") if key.strip()]
    unknown = [key for key in keys if key not in dataset.column_names]
    if unknown:
        raise SpecError(
            f"--by names {', '.join(unknown)}, which dataset {dataset.name} does not have; "
            f"it has: {', '.join(dataset.column_names)}"
        )
    try:
        width = parse_duration(arguments.window)
    except ValueError as error:
        raise SpecError(f"--window is {arguments.window!r}: {error}") from error
    arrivals = Arrivals.load(settings, dataset.name)
    if arrivals.first_event is None or arrivals.last_event is None:
        raise NotReadyError(f"dataset {dataset.name} has no rows yet; run `sluice ingest {dataset.name}` first")
    counts = _count(settings, dataset, keys, width, arrivals)
    figures = _figures(arrivals, counts) | {"window": format_duration(width), "by": keys}
    if arguments.plot is not None:
        _plot(counts, arguments.plot, f"{dataset.name} by {', '.join(keys) or 'nothing'}")
    if arguments.format == "json":
        print(json.dumps(figures))
        return 0
    width_of_names = max(map(len, figures))
    for name, value in figures.items():
        print(
            f"{name:<{width_of_names}}  {value:.4g}"
            if isinstance(value, float)
            else f"{name:<{width_of_names}}  {value}"
        )
    print(_advice(figures))
    return 0


def _count(settings: Settings, dataset: DatasetSpec, keys: list[str], width: int, arrivals: Arrivals) -> Any:
    """Rows per window and key, keys as numbers."""
    from pyspark.sql import functions as fn

    from shedding.spark.raw import read_raw
    from shedding.spark.session import spark_session
    from shedding.spark.store import floor_to

    assert arrivals.first_event is not None
    assert arrivals.last_event is not None
    with spark_session(settings, f"sluice profile {dataset.name}") as spark:
        rows = read_raw(spark, settings, dataset, arrivals.first_event, arrivals.last_event + 1, arrivals)
        window = floor_to(fn.unix_micros("event_time"), width).alias("window")
        key = fn.xxhash64(fn.lit(0), *[fn.col(f"`{name}`") for name in keys]).alias("key")
        return rows.groupBy(window, key).agg(fn.count("*").alias("rows")).toArrow()


def _figures(arrivals: Arrivals, counts: Any) -> dict[str, Any]:
    from shedding.profile import profile

    assert arrivals.first_event is not None
    assert arrivals.last_event is not None
    found = profile(*(counts[name].to_numpy() for name in ("window", "key", "rows")))
    hours = max(1, (arrivals.last_event - arrivals.first_event)) / HOUR
    late = sum(int(source.detail.get("late", 0)) for source in arrivals.visible)
    return {
        "first_event": format_instant(arrivals.first_event),
        "last_event": format_instant(arrivals.last_event),
        "rows_per_hour": found.rows / hours,
        "late_share": late / found.rows if found.rows else 0.0,
        **found.as_dict(),
    }


def _advice(figures: dict[str, Any]) -> str:
    least = figures["least_budget"]
    if least >= 0.5:
        return f"every second row or more is needed to show every key ({least:.0%}): use exact, or coarser keys"
    return (
        f"below a budget of {least:.2%} no sampler has a row for every key of a window; "
        "keys without a row are then published from their history, with wide intervals"
    )


def _plot(counts: Any, file: Path, title: str) -> None:
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    _, place = np.unique(counts["key"].to_numpy(), return_inverse=True)
    sizes = np.sort(np.bincount(place, weights=counts["rows"].to_numpy()))[::-1]
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    axes.loglog(np.arange(1, len(sizes) + 1), sizes, color="#1f6f8b")
    axes.set(xlabel="rank of the key", ylabel="rows", title=title)
    axes.grid(True, which="major", alpha=0.3)
    figure.tight_layout()
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
