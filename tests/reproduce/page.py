"""The evidence as one HTML page that stands alone, and as a Markdown table for the README."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tests.reproduce.evidence import Claim, Evidence

STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #bbb;padding:.3rem .6rem;text-align:left}"
    "img{max-width:100%;display:block}.broken{background:#fdd}"
)
HEAD = ("figure", "what", "paper", "here", "verdict")


def html(evidence: Evidence) -> str:
    """The page: the table of claims, then each figure's picture and numbers."""
    parts = [f"<h1>The papers' figures, measured here</h1>{_claims(evidence.claims)}"]
    for figure in dict.fromkeys([*evidence.plots, *evidence.tables]):
        parts.append(f"<h2>{escape(figure)}</h2>")
        if figure in evidence.plots:
            picture = base64.b64encode(evidence.plots[figure]).decode()
            parts.append(f'<img alt="{escape(figure)}" src="data:image/png;base64,{picture}">')
        if figure in evidence.tables:
            parts.append(_numbers(evidence.tables[figure]))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Reproduction</title><style>{STYLE}</style>"
        f"{''.join(parts)}</html>\n"
    )


def markdown(claims: Sequence[Claim]) -> str:
    """The claims as a table."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for claim in claims:
        verdict = claim.verdict + (f": {claim.why}" if claim.why else "")
        cells = (claim.figure, claim.what, claim.paper, claim.measured, verdict)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _claims(claims: Sequence[Claim]) -> str:
    rows = [
        f"<tr{'' if claim.holds else ' class=broken'}>"
        + "".join(f"<td>{escape(text)}</td>" for text in (claim.figure, claim.what, claim.paper, claim.measured))
        + f"<td>{escape(claim.verdict)}{'' if claim.holds else ' (bound broken)'}"
        + f"{f'<br>{escape(claim.why)}' if claim.why else ''}</td></tr>"
        for claim in claims
    ]
    return f"<table><tr>{''.join(f'<th>{name}</th>' for name in HEAD)}</tr>{''.join(rows)}</table>"


def _numbers(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(f"<td>{_shown(value)}</td>" for value in row.values()) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
