"""Each way a slot can fail: what the consumer sees, what the UI shows, what a re-run does (jobs/FAILURES.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from expectations import gate as gate_module
from expectations.gate import judge
from expectations.verdict import Verdict, decide, read_verdict
from jobs.publish import publish, quarantine
from jobs.repair import repair
from shedding.config import Settings
from shedding.errors import DataError, VerdictError
from shedding.spec import Catalog
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name
from shedding.tables import Table
from tests.chaos.city import ROOT
from tests.expectations.answers import SLOT, Answer, make_query

pytestmark = pytest.mark.slow

NAMES = [f"k{i:02}" for i in range(40)]
LIMITS = {"mean_relative_error": 0.1, "worst_relative_error": 0.3, "coverage": 0.9}
VOLATILE = ["run_id", "revision", "published_at"]


@dataclass
class Stage:
    """A query whose slot was published once, and what happens to it afterwards."""

    settings: Settings
    query: QuerySpec

    def answer(self, **changes: Any) -> Answer:
        return Answer(self.query, **{"keys": NAMES, "run": {"seconds": 1.0, "reason": "policy uniform"}, **changes})

    def run(self, run_id: str, **changes: Any) -> Verdict:
        """Aggregate and gate; what follows depends on the story."""
        self.answer(**changes).write(self.settings, run_id)
        return judge(self.settings, self.query, SLOT, run_id)

    def mend(self, run_id: str) -> Verdict:
        """Repair without a session, and gate again."""
        repair(_no_session, self.settings, Catalog({}, {"fares": self.query}, ()), "fares", SLOT, run_id)
        return judge(self.settings, self.query, SLOT, run_id, attempt=1)

    def publish(self, verdict: Verdict) -> int:
        return publish(self.settings, self.query, SLOT, verdict, verdict.run_id)

    def quarantined(self, verdict: Verdict) -> str:
        """What the quarantine task leaves in its log."""
        quarantine(self.settings, self.query, SLOT, verdict, verdict.run_id)
        return str(verdict.error())

    def seen(self) -> pa.Table:
        """What a consumer reads, in one order."""
        rows = Table(self.settings.table("published", "fares")).read()
        return rows.sort_by([("window_start", "ascending"), ("route", "ascending")])

    def revision(self) -> int:
        return int(self.seen()["revision"][0].as_py())


def _no_session() -> Any:
    pytest.fail("the repair of an audited slot started a session")


def make_stage(settings: Settings, **gate: Any) -> Stage:
    stage = Stage(settings, make_query({**LIMITS, **gate}))
    stage.publish(stage.run("good", values=[10.0] * 40))
    return stage


@pytest.fixture
def stage(settings: Settings) -> Stage:
    return make_stage(settings)


@pytest.fixture
def mending(settings: Settings) -> Stage:
    return make_stage(settings, on_failure="repair")


def test_budget_exceeded_on_one_key(mending: Stage) -> None:
    before = mending.seen()
    broken = {"errors": [0.9] + [0.01] * 39, "truth": [19.0] + [10.1] * 39}
    assert not mending.run("bad", **broken).passed
    assert mending.seen().equals(before)
    mending.publish(mending.mend("bad"))
    rows = mending.seen().to_pylist()
    assert {row["route"] for row in rows if row["is_exact"]} == {"k00"}
    assert not mending.run("again", **broken).passed
    mending.publish(mending.mend("again"))
    again = mending.seen()
    assert [{k: v for k, v in r.items() if k not in VOLATILE} for r in rows] == again.drop_columns(VOLATILE).to_pylist()
    assert mending.revision() == 3


def test_budget_exceeded_on_all_keys(mending: Stage) -> None:
    assert not mending.run("bad", errors=[0.5] * 40, truth=[20.0] * 40).passed
    mending.publish(mending.mend("bad"))
    rows = mending.seen()
    assert set(rows["fare"].to_pylist()) == {20.0}
    assert set(rows["policy"].to_pylist()) == {"exact"}
    runs = Table(mending.settings.table("runs", "fares")).read([("leg", "=", "exact")])
    assert "the whole slot" in runs["reason"][0].as_py()


def test_coverage_too_low(stage: Stage) -> None:
    before = stage.seen()
    verdict = stage.run("bad", truth=[11.0] * 40)
    assert re.search(r"interval coverage 0 of fare, limit 0\.9", stage.quarantined(verdict))
    assert stage.seen().equals(before)
    assert not stage.run("again", truth=[11.0] * 40).passed
    stage.publish(stage.run("mended"))
    assert stage.revision() == 2


def test_empty_slot(stage: Stage) -> None:
    before = stage.seen()
    verdict = stage.run("empty", keys=[])
    assert "0 windows and measures have rows" in stage.quarantined(verdict)
    assert stage.seen().equals(before)
    allowing = Stage(stage.settings, make_query({**LIMITS, "allow_empty": True}))
    allowing.publish(allowing.run("allowed", keys=[]))
    assert allowing.seen().num_rows == 0
    allowing.publish(allowing.run("arrived"))
    assert allowing.seen().num_rows == 80
    assert allowing.revision() == 3


def test_missing_key(mending: Stage) -> None:
    before = mending.seen()
    whole = mending.answer()
    mending.run("bad")
    table = Table(mending.settings.table("results", "fares"), ("slot", "leg"))
    rows = whole.rows("uniform")
    lacking = rows.filter([key != "k05" for key in rows["route"].to_pylist()])
    version = table.replace(lacking, {"slot": slot_name(SLOT), "leg": "uniform"}, {})
    runs = Table(mending.settings.table("runs", "fares"), ("slot",))
    told = {"results_version": version}
    counted = [{**row, "missing_keys": int(row["published"]), **told} for row in runs.read().to_pylist()]
    runs.replace(pa.Table.from_pylist(counted, schema=runs.read().schema), {"slot": slot_name(SLOT)}, {})
    verdict = judge(mending.settings, mending.query, SLOT, "bad")
    assert "missing keys 1, limit 0" in verdict.reason
    assert mending.seen().equals(before)
    mending.publish(mending.mend("bad"))
    assert sorted(set(mending.seen()["route"].to_pylist())) == NAMES


def test_audit_before_the_slot_lacked_keys_or_coverage(stage: Stage) -> None:
    before = stage.seen()
    over = {"seconds": 1.0, "reason": "policy uniform", "audit_missing_keys": 2.0}
    for run_id in ("bad", "again"):
        verdict = stage.run(run_id, audited=False, run=over)
        assert [check.name for check in verdict.failed] == ["last_audit"]
        assert "at the last audit" in stage.quarantined(verdict)
        assert stage.seen().equals(before)
    stage.publish(stage.run("audit passed", audited=False))
    assert stage.revision() == 2


def test_nan_values(stage: Stage) -> None:
    before = stage.seen()
    verdict = stage.run("bad", values=[float("nan")] + [10.0] * 39)
    assert "values that are no number" in stage.quarantined(verdict)
    assert stage.seen().equals(before)
    stage.publish(stage.run("whole"))
    assert stage.revision() == 2


def test_gate_crash(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = stage.seen()

    def crash(*_: Any) -> Any:
        raise MemoryError("the gate died")

    monkeypatch.setattr(gate_module, "write_page", crash)
    with pytest.raises(MemoryError):
        stage.run("crashed")
    with pytest.raises(DataError, match="let the gate judge it first"):
        read_verdict(stage.settings, "fares", SLOT, "crashed")
    assert stage.seen().equals(before)
    monkeypatch.undo()
    stage.publish(stage.run("crashed"))
    assert stage.revision() == 2


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Delta commits that can be made to die just before or just after they happen."""
    import deltalake

    whole = deltalake.write_deltalake
    when: dict[str, bool] = {}

    def commit(*arguments: Any, **named: Any) -> None:
        if when.pop("before", False):
            raise KeyboardInterrupt
        whole(*arguments, **named)
        if when.pop("after", False):
            raise KeyboardInterrupt

    monkeypatch.setattr(deltalake, "write_deltalake", commit)
    return when


def test_publish_crash_before_the_commit(stage: Stage, dying: dict[str, bool]) -> None:
    before = stage.seen()
    verdict = stage.run("next", values=[12.0] * 40, truth=[12.0] * 40)
    dying["before"] = True
    with pytest.raises(KeyboardInterrupt):
        stage.publish(verdict)
    assert stage.seen().equals(before)
    stage.publish(verdict)
    assert set(stage.seen()["fare"].to_pylist()) == {12.0}
    assert stage.revision() == 2


def test_publish_crash_after_the_commit(stage: Stage, dying: dict[str, bool]) -> None:
    verdict = stage.run("next", values=[12.0] * 40, truth=[12.0] * 40)
    dying["after"] = True
    with pytest.raises(KeyboardInterrupt):
        stage.publish(verdict)
    seen = stage.seen()
    assert set(seen["fare"].to_pylist()) == {12.0}
    stage.publish(verdict)
    assert stage.seen().drop_columns(VOLATILE).equals(seen.drop_columns(VOLATILE))
    assert stage.revision() == 3


def test_repair_crash(mending: Stage, dying: dict[str, bool]) -> None:
    before = mending.seen()
    broken = {"errors": [0.9] + [0.01] * 39, "truth": [19.0] + [10.1] * 39}
    for moment in ("before", "after"):
        mending.run("bad", **broken)
        dying[moment] = True
        with pytest.raises(KeyboardInterrupt):
            mending.mend("bad")
        assert mending.seen().equals(before)
    verdict = mending.mend("bad")
    assert verdict.passed
    mending.publish(verdict)
    assert {row["fare"] for row in mending.seen().to_pylist() if row["is_exact"]} == {19.0}


@pytest.mark.parametrize("person", ["ada", "nobody in time"])
def test_approval_rejected_and_approval_timed_out(settings: Settings, person: str) -> None:
    asking = make_stage(settings, on_failure="ask")
    before = asking.seen()
    verdict = decide(settings, asking.run("bad", errors=[0.5] * 40), approved=False, person=person)
    assert not read_verdict(settings, "fares", SLOT, "bad").passed
    with pytest.raises(VerdictError, match=f"rejected by {person}"):
        asking.publish(verdict)
    assert f"rejected by {person}" in asking.quarantined(verdict)
    assert asking.seen().equals(before)
    asked_again = decide(settings, asking.run("bad", errors=[0.5] * 40), approved=True, person="ada")
    asking.publish(asked_again)
    assert asking.revision() == 2


def test_schema_change_refused(stage: Stage) -> None:
    before = stage.seen()
    renamed = Stage(stage.settings, make_query(LIMITS, measures=[{"name": "p", "agg": "avg", "column": "fare_amount"}]))
    with pytest.raises(DataError, match="column fare, which the query no longer makes; put it back"):
        renamed.publish(renamed.run("renamed"))
    assert stage.seen().equals(before)
    stage.publish(stage.run("back"))
    assert stage.revision() == 2


def test_two_runs_of_the_same_slot_at_once(stage: Stage) -> None:
    left, right = stage.run("left"), stage.run("right")
    stage.publish(right)
    seen = stage.seen().drop_columns(VOLATILE)
    stage.publish(left)
    assert stage.seen().drop_columns(VOLATILE).equals(seen)
    assert stage.revision() == 3


def test_overtaken_by_another_run(stage: Stage) -> None:
    before = stage.seen()
    stage.answer(values=[12.0] * 40, truth=[12.0] * 40).write(stage.settings, "slow")
    fast = stage.run("fast", values=[12.0] * 40, truth=[12.0] * 40)
    with pytest.raises(DataError, match="the newest answer is of run fast, not of slow"):
        judge(stage.settings, stage.query, SLOT, "slow")
    assert stage.seen().equals(before)
    stage.publish(fast)
    assert set(stage.seen()["run_id"].to_pylist()) == {"fast"}


def test_a_repair_keeps_to_its_own_run_after_another_has_overtaken_it(mending: Stage) -> None:
    broken = {"errors": [0.9] + [0.01] * 39, "truth": [19.0] + [10.1] * 39}
    assert not mending.run("ours", **broken).passed
    mending.answer(values=[99.0] * 40).write(mending.settings, "theirs")
    verdict = mending.mend("ours")  # from the versions that its verdict names
    mending.publish(verdict)
    assert {row["fare"] for row in mending.seen().to_pylist() if not row["is_exact"]} == {10.0}
    with pytest.raises(DataError, match="the newest answer is of run ours, not of theirs"):
        judge(mending.settings, mending.query, SLOT, "theirs")


def test_run_that_wrote_nothing(stage: Stage) -> None:
    before = stage.seen()
    with pytest.raises(DataError, match="the newest answer is of run good, not of crashed, which wrote none"):
        judge(stage.settings, stage.query, SLOT, "crashed")
    with pytest.raises(DataError, match="let the gate judge it first"):
        read_verdict(stage.settings, "fares", SLOT, "crashed")
    assert stage.seen().equals(before)
    stage.publish(stage.run("crashed"))
    assert stage.revision() == 2


def test_late_verdict_of_an_older_answer(stage: Stage) -> None:
    judged = stage.run("judged", values=[12.0] * 40, truth=[12.0] * 40)
    stage.answer(values=[99.0] * 40).write(stage.settings, "unjudged")
    stage.publish(judged)
    assert set(stage.seen()["fare"].to_pylist()) == {12.0}


def test_results_of_another_run(stage: Stage) -> None:
    stage.answer(values=[12.0] * 40, truth=[12.0] * 40).write(stage.settings, "ours")
    table = Table(stage.settings.table("results", "fares"), ("slot", "leg"))
    table.replace(stage.answer(values=[99.0] * 40).rows("uniform"), {"slot": slot_name(SLOT)}, {})
    stage.publish(judge(stage.settings, stage.query, SLOT, "ours"))
    assert set(stage.seen()["fare"].to_pylist()) == {12.0}
    stage.publish(stage.run("again"))
    assert stage.revision() == 3


def test_every_story_of_the_document_is_a_test() -> None:
    text = (ROOT / "jobs" / "FAILURES.md").read_text(encoding="utf-8")
    stories = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")][1:]
    names = " ".join(name for name in globals() if name.startswith("test_"))
    assert len(stories) >= 12
    for story in stories:
        assert story.lower().replace(" ", "_") in names, story
