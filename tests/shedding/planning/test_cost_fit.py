from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.costs import CostLine
from shedding.planning.cost_model import fitted

SIZES = [(2e5, 1e4, 1e3), (2e6, 1e5, 1e3), (2e6, 4e5, 1e3), (2e6, 1e5, 2e5)]


@given(st.floats(0.1, 5), st.floats(1e-8, 1e-5), st.floats(1e-8, 1e-5), st.floats(1e-7, 1e-4))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_a_line_is_found_again_from_slots_of_four_sizes(start, row, kept, group):
    line = CostLine(start=start, row=row, kept=kept, group=group)
    found = fitted([(size, line.seconds(*size)) for size in SIZES])
    for size in SIZES:
        assert abs(found.seconds(*size) / line.seconds(*size) - 1) < 1e-6


def test_no_coefficient_is_below_zero():
    slots = [((1e6, 0.0, 1e3), 2.0), ((2e6, 0.0, 1e3), 1.0), ((2e6, 0.0, 1e5), 3.0)]
    found = fitted(slots)
    assert min(found.start, found.row, found.kept, found.group) >= 0
