"""The gate: judge one slot's answer by its query's budgets and record the verdict. No Spark."""

from __future__ import annotations

from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.core import ExpectationSuiteValidationResult, RunIdentifier
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults
from great_expectations.expectations.metadata_types import FailureSeverity

from expectations.checks import all_checks
from expectations.data_docs import write_page
from expectations.evidence import load_evidence
from expectations.observations import summarise
from expectations.suite import build_suite, not_judged
from expectations.verdict import Check, Verdict, write_verdict
from shedding.config import Settings
from shedding.errors import DataError
from shedding.spec.query import QuerySpec
from shedding.spec.timeline import slot_name


def judge(settings: Settings, query: QuerySpec, slot: int, run_id: str, attempt: int = 0) -> Verdict:
    """Judge what the run answered for the slot; the verdict is recorded in `verdicts/<query>` and in Data Docs.

    Guarantee: the verdict names the versions it judged, and depends on nothing else than these and the
    specification. A check that cannot be evaluated raises; it never counts as passed.
    """
    evidence = load_evidence(settings, query, slot, run_id)
    batch = summarise(evidence)
    result = _validate(query.name, slot, run_id, batch, build_suite(evidence, batch))
    passed = result.get_max_severity_failure() != FailureSeverity.CRITICAL
    verdict = Verdict(
        query=query.name, slot=slot, run_id=run_id, attempt=attempt, leg=evidence.leg,
        results_version=evidence.results_version, runs_version=evidence.runs_version,
        checks=(*_checks(result), *not_judged(evidence, batch)),
        docs=write_page(settings.docs, query.name, slot, run_id, attempt, result, passed),
    )  # fmt: skip
    if verdict.passed != passed:
        raise DataError(f"{verdict.query}: Great Expectations and the recorded checks disagree on slot {slot}")
    write_verdict(settings, verdict)
    return verdict


def _validate(
    query: str, slot: int, run_id: str, batch: pd.DataFrame, expectations: list[Any]
) -> ExpectationSuiteValidationResult:
    stores = InMemoryStoreBackendDefaults(init_temp_docs_sites=False)
    config = DataContextConfig(store_backend_defaults=stores, analytics_enabled=False)
    context = gx.get_context(mode="ephemeral", project_config=config)
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_pandas("runs").add_dataframe_asset(query)
    whole = asset.add_batch_definition_whole_dataframe(slot_name(slot))
    suite = gx.ExpectationSuite(name=query, expectations=expectations)
    definition = gx.ValidationDefinition(name=f"{query} {slot_name(slot)}", data=whole, suite=context.suites.add(suite))
    result = context.validation_definitions.add(definition).run(
        batch_parameters={"dataframe": batch}, run_id=RunIdentifier(run_name=run_id)
    )
    for one in result.results:
        if one.exception_info and one.exception_info.get("raised_exception"):
            name = one.expectation_config.meta["check"]
            raise DataError(f"{query}, slot {slot_name(slot)}: the check {name} could not be evaluated: {_why(one)}")
    return result


def _checks(result: ExpectationSuiteValidationResult) -> list[Check]:
    """The judged checks in their own order; Great Expectations groups results by column."""
    order = [check.key for check in all_checks()]
    return sorted((_check(one) for one in result.results), key=lambda check: order.index(check.name))


def _check(result: Any) -> Check:
    meta = result.expectation_config.meta
    return Check(
        name=meta["check"], observed=meta["observed"], limit=meta["limit"], severity=meta["level"],
        passed=bool(result.success), kind=meta["kind"], detail=meta["detail"], estimate=meta.get("estimate"),
    )  # fmt: skip


def _why(result: Any) -> str:
    return str(result.exception_info.get("exception_message"))
