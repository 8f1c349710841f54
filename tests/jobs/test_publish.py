"""Publishing: one commit a slot, only through the gate, readers' columns kept."""

from __future__ import annotations

import ast
import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from expectations.gate import judge
from expectations.verdict import Check, Verdict, decide, write_verdict
from jobs.publish import publish, quarantine
from shedding.config import Settings
from shedding.errors import DataError, VerdictError
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.spec.times import parse_instant
from shedding.tables import Table
from tests.expectations.answers import HOUR, SLOT, Answer, make_query

ROOT = Path(__file__).resolve().parents[2]
GOOD = Check("mean_relative_error", 0.05, 0.1, "fail", True, "measured", "mean relative error 0.05, limit 0.1")
BAD = replace(GOOD, observed=0.5, passed=False, detail="mean relative error 0.5, limit 0.1")


def judged(settings: Settings, answer: Answer, *checks: Check, run_id: str = "run") -> Verdict:
    """Write the answer and record a verdict on it as the gate would."""
    answer.write(settings, run_id)
    versions = [Table(settings.table(t, answer.query.name)).version() for t in ("results", "runs")]
    verdict = Verdict(
        answer.query.name, answer.slot, run_id, 0, answer.leg, versions[0] or 0, versions[1] or 0, checks or (GOOD,)
    )
    write_verdict(settings, verdict)
    return verdict


def published(settings: Settings, query: str = "fares") -> Table:
    return Table(settings.table("published", query))


def test_a_passed_slot_is_published_with_the_columns_that_readers_rely_on(settings: Settings) -> None:
    query = make_query()
    version = publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    rows = published(settings).read(version=version)
    assert rows.column_names == [
        "window_start", "window_end", "route", "fare", "fare_low", "fare_high", "confidence", "is_exact", "is_imputed",
        "sampling_rate", "sampled_rows", "policy", "run_id", "revision", "published_at", "slot",
    ]  # fmt: skip
    assert rows.num_rows == 8
    assert set(rows["policy"].to_pylist()) == {"uniform"}
    assert set(rows["revision"].to_pylist()) == {1}


def test_the_commit_says_run_policy_budget_and_verdict(settings: Settings) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    note = json.loads(DeltaTable(published(settings).uri).history(1)[0]["userMetadata"])
    assert note["run_id"] == "run"
    assert note["policy"] == "uniform"
    assert note["budget"] == {"fraction": 0.1}
    assert note["verdict"] == "passed"


def test_publishing_again_counts_the_revision_and_changes_no_other_column_that_must_be_equal(
    settings: Settings,
) -> None:
    query = make_query()
    volatile = ["run_id", "revision", "published_at"]
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    first = published(settings).read()
    publish(settings, query, SLOT, judged(settings, Answer(query), run_id="again"), "again")
    second = published(settings).read()
    assert second.drop_columns(volatile).equals(first.drop_columns(volatile))
    assert set(second["revision"].to_pylist()) == {2}
    assert set(second["run_id"].to_pylist()) == {"again"}


def test_a_slot_that_became_empty_and_full_again_goes_on_counting(settings: Settings) -> None:
    query = make_query()
    for run, keys in (("a", ("x",)), ("b", ()), ("c", ("x",))):
        publish(settings, query, SLOT, judged(settings, Answer(query, keys=keys), run_id=run), run)
    assert set(published(settings).read()["revision"].to_pylist()) == {3}


def test_other_slots_keep_their_rows(settings: Settings) -> None:
    query = make_query()
    for slot in (SLOT, SLOT + HOUR):
        publish(settings, query, slot, judged(settings, Answer(query, slot=slot)), "run")
    publish(settings, query, SLOT, judged(settings, Answer(query, keys=["z"])), "run")
    rows = published(settings).read()
    assert rows.num_rows == 2 + 8
    assert set(rows["slot"].to_pylist()) == {slot_name(SLOT), slot_name(SLOT + HOUR)}


@pytest.mark.parametrize("hours", [(1, 2), (2, 1)], ids=["longer", "shorter"])
def test_a_changed_schedule_leaves_no_window_twice_and_none_out(settings: Settings, hours: tuple[int, int]) -> None:
    before, after = (make_query(schedule={"every": f"{every} hours"}) for every in hours)
    for slot in range(SLOT, SLOT + 4 * HOUR, before.timeline.slot):
        publish(settings, before, slot, judged(settings, Answer(before, slot=slot)), "run")
    publish(settings, after, SLOT, judged(settings, Answer(after, values=[9.0] * 4), run_id="again"), "again")
    rows = published(settings).read().to_pylist()
    assert sorted((parse_instant(row["window_start"]), row["route"]) for row in rows) == [
        (SLOT + half * HOUR // 2, key) for half in range(8) for key in "abcd"
    ]
    assert {parse_instant(row["window_start"]) - SLOT for row in rows if row["run_id"] == "again"} == {
        half * HOUR // 2 for half in range(2 * hours[1])
    }


def test_the_version_that_was_judged_is_published_and_not_a_later_one(settings: Settings) -> None:
    query = make_query()
    verdict = judged(settings, Answer(query, values=[1.0, 2.0, 3.0, 4.0]))
    Answer(query, values=[9.0] * 4).write(settings, "intruder")
    publish(settings, query, SLOT, verdict, "run")
    assert sorted(set(published(settings).read()["fare"].to_pylist())) == [1.0, 2.0, 3.0, 4.0]


def test_a_refused_slot_is_never_published(settings: Settings) -> None:
    query = make_query()
    verdict = judged(settings, Answer(query), GOOD, BAD)
    with pytest.raises(VerdictError, match=r"mean relative error 0\.5, limit 0\.1"):
        publish(settings, query, SLOT, verdict, "run")
    assert not published(settings).exists()


def test_a_verdict_that_nobody_recorded_publishes_nothing(settings: Settings) -> None:
    query = make_query()
    verdict = judged(settings, Answer(query), BAD)
    forged = replace(verdict, checks=(GOOD,))
    with pytest.raises(VerdictError):
        publish(settings, query, SLOT, forged, "run")
    with pytest.raises(DataError, match="let the gate judge it first"):
        publish(settings, query, SLOT, replace(forged, run_id="other"), "other")
    assert not published(settings).exists()


def test_what_a_person_approved_is_published_and_what_one_rejected_is_not(settings: Settings) -> None:
    query = make_query()
    verdict = judged(settings, Answer(query), BAD)
    rejected = decide(settings, verdict, approved=False, person="ada")
    with pytest.raises(VerdictError):
        publish(settings, query, SLOT, rejected, "run")
    approved = decide(settings, verdict, approved=True, person="ada")
    assert approved.passed
    assert [check.name for check in approved.checks].count("approval") == 1
    publish(settings, query, SLOT, approved, "run")
    assert published(settings).read().num_rows == 8
    note = json.loads(DeltaTable(published(settings).uri).history(1)[0]["userMetadata"])
    assert note["verdict"] == "approved by ada"


def test_a_second_answer_takes_the_place_of_the_first(settings: Settings) -> None:
    query = make_query()
    first = decide(settings, judged(settings, Answer(query), BAD), approved=True, person="ada")
    second = decide(settings, first, approved=False, person="grace")
    assert not second.passed
    with pytest.raises(VerdictError, match="rejected by grace"):
        publish(settings, query, SLOT, first, "run")


def test_quarantine_keeps_the_rows_with_the_reason_and_leaves_published_alone(settings: Settings) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    before = published(settings).version()
    verdict = judged(settings, Answer(query, errors=[0.5] * 4), BAD, run_id="bad")
    quarantine(settings, query, SLOT, verdict, "bad")
    kept = Table(settings.table("quarantine", "fares")).read()
    assert kept.num_rows == 8
    assert "mean relative error 0.5" in kept["verdict"][0].as_py()
    assert published(settings).version() == before


def test_an_added_measure_adds_columns_and_older_rows_read_null(settings: Settings) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    fare = {"name": "fare", "agg": "avg", "column": "fare_amount"}
    wider = make_query(measures=[fare, {"name": "total", "agg": "sum", "column": "fare_amount"}])
    later = Answer(wider, slot=SLOT + HOUR)
    publish(settings, wider, SLOT + HOUR, judged(settings, later), "run")
    rows = published(settings).read()
    assert rows.filter([s == slot_name(SLOT) for s in rows["slot"].to_pylist()])["total"].null_count == 8
    assert rows["total"].null_count == 8


def test_an_answer_to_what_the_query_asked_before_is_neither_judged_nor_published(settings: Settings) -> None:
    query = make_query()
    fare, total = ({"name": name, "agg": "sum", "column": "fare_amount"} for name in ("fare", "total"))
    changed = make_query(measures=[fare, total])
    judged(settings, Answer(changed, slot=SLOT + HOUR))  # gives results/fares the column, null in the other slot
    verdict = judged(settings, Answer(query))
    with pytest.raises(DataError, match=r"fares\.yaml has changed since it was computed; run `sluice run fares --from"):
        judge(settings, changed, SLOT, "run")
    with pytest.raises(DataError, match=r"fares\.yaml has changed since"):
        publish(settings, changed, SLOT, verdict, "run")
    assert not published(settings).exists()


@pytest.mark.parametrize(
    ("changed", "column"),
    [
        ({"measures": [{"name": "price", "agg": "avg", "column": "fare_amount"}]}, "fare"),
        ({"group_by": ["route", "zone"]}, None),
        ({"group_by": ["zone"]}, "route"),
    ],
)
def test_a_removed_or_renamed_column_is_refused_and_an_added_one_is_not(
    settings: Settings, changed: dict[str, object], column: str | None
) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    before = published(settings).version()
    other: QuerySpec = make_query(**changed)
    verdict = judged(settings, Answer(other, slot=SLOT + HOUR))
    if column is None:
        publish(settings, other, SLOT + HOUR, verdict, "run")
        return
    with pytest.raises(DataError, match=f"column {column}, which the query no longer makes; put it back"):
        publish(settings, other, SLOT + HOUR, verdict, "run")
    assert published(settings).version() == before


def test_a_retyped_column_is_refused(settings: Settings) -> None:
    query = make_query()
    publish(settings, query, SLOT, judged(settings, Answer(query)), "run")
    verdict = judged(settings, Answer(query, slot=SLOT + HOUR))
    table = Table(settings.table("results", "retyped"), ("slot", "leg"))
    rows = Table(settings.table("results", "fares")).read([("slot", "=", slot_name(SLOT + HOUR))])
    place = rows.schema.get_field_index("fare")
    words = rows["fare"].cast("string")
    table.replace(rows.set_column(place, "fare", words), {"slot": slot_name(SLOT + HOUR)}, {})
    Path(settings.table("results", "fares")).rename(settings.table("results", "old"))
    Path(table.uri).rename(settings.table("results", "fares"))
    write_verdict(settings, replace(verdict, results_version=table_version(settings)))
    with pytest.raises(DataError, match=r"published/fares.fare is double and would become string"):
        publish(settings, query, SLOT + HOUR, replace(verdict, results_version=table_version(settings)), "run")
    assert published(settings).read().num_rows == 8


def table_version(settings: Settings) -> int:
    version = Table(settings.table("results", "fares")).version()
    assert version is not None
    return version


def _judged_run(settings: Settings, run_id: str) -> Verdict:
    """The verdict on an answer that the run wrote itself."""
    Answer(make_query()).write(settings, run_id)
    versions = [Table(settings.table(t, "fares")).version() or 0 for t in ("results", "runs")]
    verdict = Verdict("fares", SLOT, run_id, 0, "uniform", versions[0], versions[1], (GOOD,))
    write_verdict(settings, verdict)
    return verdict


def _publish_often(settings: Settings, verdict: Verdict) -> None:
    for _ in range(4):
        publish(settings, make_query(), SLOT, verdict, verdict.run_id)


@pytest.mark.slow
def test_racing_publishers_of_one_slot_never_share_a_revision(settings: Settings) -> None:
    verdicts = [_judged_run(settings, run_id) for run_id in ("left", "right")]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(_publish_often, [(settings, verdict) for verdict in verdicts])
    table = DeltaTable(published(settings).uri)
    assert set(published(settings).read()["revision"].to_pylist()) == {8}
    seen = [set(published(settings).read(version=v)["revision"].to_pylist()) for v in range(1, table.version() + 1)]
    assert seen == [{revision} for revision in range(1, 9)]


WRITES = frozenset({"replace", "append", "revise", "save", "saveAsTable", "insertInto", "delete", "merge", "update"})


def test_no_other_code_writes_to_the_published_table() -> None:
    """Every call that can write to Delta is looked at: its receiver and arguments, and what local names in them are."""
    writers = set()
    for folder in ("jobs", "shedding", "expectations", "dags", "infra"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(function, ast.FunctionDef) and _writes_published(function):
                    writers.add(f"{file.relative_to(ROOT).as_posix()}:{function.name}")
    assert writers == {"jobs/publish.py:publish"}


def _writes_published(function: ast.FunctionDef) -> bool:
    named: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        named.setdefault(name.id, []).append(node.value)
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_write(node.func):
            parts = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
            if any(_mentions_published(part, named) for part in parts):
                return True
    return False


def _is_write(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id == "write_deltalake"
    return isinstance(called, ast.Attribute) and called.attr in WRITES


def _mentions_published(part: ast.expr, named: dict[str, list[ast.expr]], deep: int = 3) -> bool:
    for node in ast.walk(part):
        if (isinstance(node, ast.Constant) and node.value == "published") or ast.unparse(node) == "warehouse.published":
            return True
        values = named.get(node.id, []) if deep and isinstance(node, ast.Name) else []
        if any(_mentions_published(value, named, deep - 1) for value in values):
            return True
    return False


def test_the_search_for_writers_finds_the_ways_there_are() -> None:
    ways = [
        "Table(settings.table('published', q)).append(rows, {})",
        "t = Table(settings.table('published', q)); t.replace(rows, {}, {})",
        "uri = settings.table('published', q); rows.write.format('delta').save(uri)",
        "uri = settings.table('published', q); write_deltalake(uri, rows)",
    ]
    for way in ways:
        tree = ast.parse(f"def f():\n    {way}")
        assert _writes_published(tree.body[0]), way  # type: ignore[arg-type]
    harmless = ast.parse("def f():\n    t = Table(settings.table('published', q)).read()")
    assert not _writes_published(harmless.body[0])  # type: ignore[arg-type]
