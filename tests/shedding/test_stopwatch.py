import time

from shedding.stopwatch import PARTS, Stopwatch


def test_a_part_inside_another_stops_its_clock(monkeypatch):
    now = iter([0.0, 1.0, 5.0, 7.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    watch = Stopwatch()
    with watch.part("estimate"), watch.part("scan"):
        pass
    assert watch.columns() == {"plan_seconds": 0.0, "scan_seconds": 4.0, "estimate_seconds": 3.0, "write_seconds": 0.0}
    assert set(watch.seconds) == set(PARTS)
