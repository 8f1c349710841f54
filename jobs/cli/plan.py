"""`sluice plan`: the least budget for an error, the largest for a deadline, from what audits have left behind."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cli.arguments import checked_picture
from jobs.cli.rendering import print_rows
from shedding.config import Settings
from shedding.errors import SluiceError
from shedding.spec import QuerySpec, load_catalog
from shedding.spec.times import format_duration, parse_duration

if TYPE_CHECKING:
    from shedding.compare.capacity import Capacity
    from shedding.compare.run_time import RunTime
    from shedding.planning.least_budget import Wish

BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHOWN = ["budget", "rows_per_slot", "mean_error", "keys_within", "omitted_rows", "seconds", "audits_in", "note"]


def configure(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = subparsers.add_parser("plan", help="the least budget for an error, or the largest for a deadline")
    parser.add_argument("query", metavar="QUERY")
    parser.add_argument("--error", type=_positive, metavar="E", help="relative error that is aimed at, e.g. 0.05")
    parser.add_argument(
        "--keys",
        type=_share,
        metavar="P",
        default=0.95,
        help="share of keys with a planned 95 %% half-width within E",
    )
    parser.add_argument("--mean", action="store_true", help="the mean relative error of the keys is E instead")
    parser.add_argument("--slots", type=int, default=8, metavar="N", help="plan from the last N audited slots")
    parser.add_argument("--deadline", type=_duration, metavar="D", help="how long a slot may take, e.g. '5 minutes'")
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="error and keys within E against the budget")
    parser.add_argument("--write", action="store_true", help="write the budget into the query's file")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Print one line a budget, the found ones marked; 1 where no budget does what was asked."""
    if arguments.error is None and arguments.deadline is None:
        raise SluiceError("nothing to plan for; give --error 0.05, --deadline '5 minutes', or both")
    if arguments.slots < 1:
        raise SluiceError(f"--slots {arguments.slots} is no number of slots; write 1 or more")
    checked_picture(arguments.plot)
    query = load_catalog(settings.specs).query(arguments.query)
    _check(query)
    with ExitStack() as sessions:
        capacity, times = _known(arguments, settings, query, sessions)
    found, notes = _found(arguments, capacity, times)
    lines = _lines(arguments, capacity, times, notes)
    print_rows(lines, SHOWN, arguments.format)
    if arguments.plot is not None:
        plot(lines, query, arguments.error, arguments.plot)
    if found is None:
        return 1
    if arguments.write:
        from shedding.spec.written_budget import write_fraction

        file = Path(settings.specs) / "queries" / f"{query.name}.yaml"
        write_fraction(file, found)
        if arguments.format == "table":
            print(f"{file}: budget: {{fraction: {found:g}}}")
    return 0


def _check(query: QuerySpec) -> None:
    if query.shed.policy == "exact":
        raise SluiceError(f"{query.name} has policy exact: it has no budget; write the policy that is to shed first")
    if query.join is not None:
        raise SluiceError(f"{query.name} is a join, which is not planned yet; `sluice compare {query.name}` measures")


def _known(
    arguments: argparse.Namespace, settings: Settings, query: QuerySpec, sessions: ExitStack
) -> tuple[Capacity, RunTime | None]:
    """What is known of the last audited slots; and of run times, where a deadline asks for them or enough ran."""
    from shedding import warehouse
    from shedding.answers.slot import SlotWork, exact_panes
    from shedding.compare.capacity import Capacity
    from shedding.compare.run_time import LEAST_RUNS, RunTime
    from shedding.ingest.side import sides_of
    from shedding.planning.drift_audits import AuditPlans

    catalog = load_catalog(settings.specs)
    settings.require_warehouse()
    runs = warehouse.runs(settings, query.name)
    rows = runs.read([("leg", "=", query.shed.policy)]).to_pylist() if runs.exists() else []
    timed = list({row["slot"]: row for row in rows}.values())
    times = RunTime.of(timed, query.name) if arguments.deadline is not None or len(timed) >= LEAST_RUNS else None
    sides = sides_of(settings, catalog, query)
    last = sides[0].arrivals.last_event
    if last is None:
        raise SluiceError(f"dataset {query.dataset} has no rows; run `sluice ingest {query.dataset}` first")
    slot = query.timeline.slot_of(last)
    plans, scans = AuditPlans(query, sides), _ScansOnDemand(settings, query, sessions)
    audits = plans.at(slot).priors(slot + query.timeline.slot, arguments.slots)
    panes = exact_panes(settings, query, sides, scans)
    return Capacity.of(SlotWork(plans, slot, scans, panes).planner, audits), times


class _ScansOnDemand:
    """Spark's scans, with a session that is started where panes of an audit are not remembered, and only there."""

    def __init__(self, settings: Settings, query: QuerySpec, sessions: ExitStack) -> None:
        self._settings, self._query, self._sessions = settings, query, sessions
        self._scans: Any = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if self._scans is None:
            from shedding.scan.spark_scans import SlotScan
            from shedding.spark.session import spark_session

            spark = self._sessions.enter_context(spark_session(self._settings, f"sluice plan {self._query.name}"))
            self._scans = SlotScan(spark, self._settings, self._query)
        found: Callable[..., Any] = getattr(self._scans, name)
        return found


def _wish(arguments: argparse.Namespace) -> Wish | None:
    from shedding.planning.least_budget import Wish

    if arguments.error is None:
        return None
    return Wish(arguments.error, None if arguments.mean else arguments.keys)


def _found(
    arguments: argparse.Namespace, capacity: Capacity, times: RunTime | None
) -> tuple[float | None, dict[float, list[str]]]:
    """The budget to write, None where there is none; and what to say of which budgets."""
    notes: dict[float, list[str]] = {}
    wish, least, most = _wish(arguments), None, 1.0
    if wish is not None:
        least = _rounded(capacity.least(wish))
        aim = f"mean error {wish.error:g}" if wish.keys is None else f"{wish.keys:.0%} of keys within {wish.error:g}"
        notes.setdefault(least, []).append(f"<- least budget for {aim}")
    if arguments.deadline is not None and times is not None:
        seconds, said = arguments.deadline / 1e6, format_duration(arguments.deadline)
        most = times.largest_fraction(capacity.rows, seconds)
        most = 1.0 if most >= 1.0 else int(most * 10_000) / 10_000  # never above what fits
        if times.seconds(capacity.rows, capacity.rows) <= seconds:
            notes.setdefault(1.0, []).append(f"<- exact fits into {said}: write policy: exact")
        elif most > 0:
            notes.setdefault(most, []).append(f"<- largest budget for {said}")
        else:
            notes.setdefault(BUDGETS[0], []).append(f"no budget fits into {said}: reading alone takes longer")
    if least is not None and least > most:
        return None, notes
    chosen = least if least is not None else most
    return (chosen if chosen > 0 else None), notes


def _lines(
    arguments: argparse.Namespace, capacity: Capacity, times: RunTime | None, notes: Mapping[float, Sequence[str]]
) -> list[dict[str, Any]]:
    error, rows = arguments.error or 0.05, capacity.rows
    lines = []
    for budget in sorted({*BUDGETS, *notes}):
        seconds = None if times is None else times.seconds(rows, budget * rows)
        note = "; ".join(notes.get(budget, ()))
        lines.append({**capacity.line(budget, error), "seconds": seconds, "note": note})
    return lines


def plot(lines: Sequence[Mapping[str, Any]], query: QuerySpec, error: float | None, file: Path) -> None:
    """Planned mean error, and the share of keys within the error, against the budget."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    budgets = [line["budget"] for line in lines]
    axes.plot(budgets, [line["mean_error"] for line in lines], marker="o", label="mean error")
    axes.plot(budgets, [line["keys_within"] for line in lines], marker="s", label=f"keys within {error or 0.05:g}")
    for line in lines:
        if line["note"]:
            axes.axvline(line["budget"], color="grey", linestyle=":")
    axes.set(xscale="log", xlabel="budget, fraction of rows", ylabel="planned", title=query.name, ylim=(0, 1))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(file, dpi=150)
    plt.close(figure)


def _rounded(fraction: float) -> float:
    """Up to three digits: what is written is what was planned, or a little more."""
    from math import ceil, floor, log10

    unit = 10.0 ** (floor(log10(fraction)) - 2)
    return min(1.0, round(ceil(fraction / unit - 1e-9) * unit, 10))


def _positive(text: str) -> float:
    return _number(text, lambda value: 0 < value < 10, "a positive error, e.g. 0.05")


def _share(text: str) -> float:
    return _number(text, lambda value: 0 < value <= 1, "a share in (0, 1], e.g. 0.95")


def _number(text: str, fits: Callable[[float], bool], wanted: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not fits(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return value


def _duration(text: str) -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is {error}") from None
