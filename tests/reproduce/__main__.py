"""`python -m tests.reproduce --data DIR [--only NAME]`: the figures of the papers that need no cluster.

Writes `build/reproduce/index.html` and `claims.md`; the exit code is 1 where a bound is broken. A figure is a module
`<paper>_<figure>.py` of this folder with `run(evidence)`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from tests.reproduce.evidence import Evidence
from tests.reproduce.page import html, markdown

RESULTS = Path(__file__).resolve().parents[2] / "build" / "reproduce"
FIGURES = (
    "cod_fig2",
    "cod_fig9",
    "cod_fig10",
    "optimal_examples",
    "optimal_fig4",
    "optimal_fig5",
    "optimal_table1",
    "optimal_fig6",
    "pooled_queries",
)


def run(figure: str, evidence: Evidence) -> None:
    """Add one figure to the evidence."""
    importlib.import_module(f"tests.reproduce.{figure}").run(evidence)


def main() -> int:
    """0 where every bound holds."""
    parser = argparse.ArgumentParser(prog="make reproduce", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="directory of the real slices")
    parser.add_argument("--only", choices=FIGURES, metavar="NAME", help=f"one of: {', '.join(FIGURES)}")
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        parser.error(f"there is no directory {arguments.data}; give the real slices: make reproduce DATA=DIR")
    evidence = Evidence(arguments.data)
    for figure in [arguments.only] if arguments.only else FIGURES:
        begin = time.perf_counter()
        run(figure, evidence)
        print(f"[reproduce] {figure}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "index.html").write_text(html(evidence))
    (RESULTS / "claims.md").write_text(markdown(evidence.claims))
    print(markdown(evidence.claims))
    for claim in evidence.broken:
        print(f"bound broken: {claim.figure}: {claim.what}: {claim.measured} (paper: {claim.paper})", file=sys.stderr)
    return int(bool(evidence.broken))


if __name__ == "__main__":
    sys.exit(main())
