"""How checks are put to Great Expectations, by their shape, and how they read in Data Docs.

A page shows the check's sentence with the limit filled in, and what was observed, instead of the built-in's column
names.
"""

from __future__ import annotations

from typing import Any

from great_expectations.expectations import (
    ExpectColumnMaxToBeBetween,
    ExpectColumnPairValuesAToBeGreaterThanB,
    ExpectTableRowCountToBeBetween,
)
from great_expectations.render import LegacyDiagnosticRendererType, LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer


class Sentence:
    """Mixed into an expectation: its `meta` has the check's `sentence`, the limit and what was observed in words."""

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(cls, configuration: Any = None, result: Any = None, **_: Any) -> list[Any]:
        meta = (configuration or result.expectation_config).meta or {}
        params = {"limit": meta.get("limit_shown", "")}
        template = {
            "template": meta.get("sentence", ""), "params": params, "styling": {"default": {"classes": ["badge"]}},
        }  # fmt: skip
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(cls, configuration: Any = None, result: Any = None, **_: Any) -> str:
        meta = (configuration or result.expectation_config).meta or {}
        warning = ", only a warning" if meta.get("level") == "warn" else ""
        return f"{meta.get('detail', '--')} [{meta.get('kind')}{warning}]"


class ExpectAtMost(Sentence, ExpectColumnMaxToBeBetween):
    """The check's column is nowhere above the limit."""


class ExpectNotBelow(Sentence, ExpectColumnPairValuesAToBeGreaterThanB):
    """The check's column is nowhere below another one."""


class ExpectSomeRows(Sentence, ExpectTableRowCountToBeBetween):
    """The batch has at least the rows of the limit. An empty batch passes every other expectation."""


SHAPES: dict[str, type[Any]] = {
    "column_max": ExpectAtMost,
    "column_pair": ExpectNotBelow,
    "row_count": ExpectSomeRows,
}
