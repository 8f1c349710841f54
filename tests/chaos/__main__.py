"""`python -m tests.chaos --n 40`: kill -9 at N random moments over ingest, aggregate, repair and publish."""

from __future__ import annotations

import argparse
import logging
import tempfile
from pathlib import Path

from shedding.spark.session import spark_session
from tests.chaos.city import build_city
from tests.chaos.trials import Chaos


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=40, help="how many kills")
    parser.add_argument("--seed", type=int, default=0, help="which moments")
    parser.add_argument("--first", type=int, default=0, help="number of the first kill, to repeat one that failed")
    arguments = parser.parse_args()
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="sluice-chaos-") as directory:
        work = Path(directory)
        with spark_session(build_city(work / "reference"), "chaos") as spark:
            chaos = Chaos(work, lambda: spark, arguments.seed, say=lambda text: print(text, flush=True))
            chaos.prepare()
            failed = sum(bool(chaos.trial(number)) for number in range(arguments.first, arguments.first + arguments.n))
    print(chaos.spread())
    print(f"{arguments.n - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
