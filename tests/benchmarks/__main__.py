"""`python -m tests.benchmarks [--only NAME [--rows N] [--part TEXT]] [--data DIR]`: the benchmarks, a process each."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.harness import Bench

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "build" / "bench"


def available() -> list[str]:
    """Every benchmark there is, by name."""
    return sorted(file.stem.removeprefix("bench_") for file in HERE.glob("bench_*.py"))


def run(name: str, data: Path | None, rows: int | None = None, part: str = "") -> None:
    """Run one benchmark here, on so many rows if it generates some; print its table and write its result file."""
    bench = Bench(name, data, part)
    module = importlib.import_module(f"tests.benchmarks.bench_{name}")
    module.run(bench, **({} if rows is None else {"rows": rows}))
    file = bench.write(RESULTS)
    print(f"{bench.table()}\n  -> {file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file}")


def number(text: str) -> int:
    """Rows as people write them: 20M, 100000.

    >>> number("20M")
    20000000
    """
    return int(text[:-1]) * 1_000_000 if text.endswith("M") else int(text)


def main() -> int:
    """0 where every chosen benchmark ran."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help=f"one of: {', '.join(available())}")
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of the real slices")
    parser.add_argument("--part", default="", metavar="TEXT", help="only the parts of `promise` whose name has it")
    parser.add_argument("--rows", type=number, metavar="N", help="rows to generate, as 100M, where NAME generates some")
    arguments = parser.parse_args()
    if arguments.rows is not None and arguments.only is None:
        parser.error("--rows needs --only NAME")
    if arguments.only is None:
        # A process each, so that no benchmark's memory or JVM counts for another.
        data = ["--data", str(arguments.data)] if arguments.data else []
        codes = [
            subprocess.run([sys.executable, "-m", "tests.benchmarks", "--only", name, *data], check=False).returncode
            for name in available()
        ]
        return int(any(codes))
    if arguments.only not in available():
        parser.error(f"there is no benchmark {arguments.only!r}; there is: {', '.join(available())}")
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f"there is no directory {arguments.data}")
    run(arguments.only, arguments.data, arguments.rows, arguments.part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
