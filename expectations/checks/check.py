"""How a check reads in Data Docs: its sentence with the limit filled in, instead of the built-in's column talk."""

from __future__ import annotations

from typing import Any, ClassVar

from great_expectations.render import LegacyDiagnosticRendererType, LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer


class Sentence:
    """Mixed into an expectation: `sentence` is shown in Data Docs, `$limit` in it as the budget in words.

    `check` is its name in `gate:` and in verdicts, `words` what messages call its value.
    """

    check: ClassVar[str]
    words: ClassVar[str]
    sentence: ClassVar[str]

    @classmethod
    def show(cls, value: float) -> str:
        """A value or limit of this check, for people."""
        return f"{value:.4g}"

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(cls, configuration: Any = None, result: Any = None, **_: Any) -> list[Any]:
        configuration = configuration or result.expectation_config
        limit = (configuration.meta or {}).get("limit")
        params = {"limit": "" if limit is None else cls.show(float(limit))}
        template = {"template": cls.sentence, "params": params, "styling": {"default": {"classes": ["badge"]}}}
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]

    @classmethod
    @renderer(renderer_type=LegacyDiagnosticRendererType.OBSERVED_VALUE)
    def _diagnostic_observed_value_renderer(cls, configuration: Any = None, result: Any = None, **_: Any) -> str:
        meta = (configuration or result.expectation_config).meta or {}
        return (
            f"{meta.get('seen', '--')} [{meta.get('kind')}{', only a warning' if meta.get('level') == 'warn' else ''}]"
        )
