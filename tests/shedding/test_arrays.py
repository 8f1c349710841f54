import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shedding.arrays import sorted_by


@given(st.lists(st.tuples(st.sampled_from([0, 1, 65_535, 65_536, 2**33]), st.sampled_from([-0.0, 0.0, 1.5, -7.0]))))
def test_rows_are_sorted_by_place_and_value_and_ties_stay_as_they_are(rows: list[tuple[int, float]]) -> None:
    place, values = np.array([p for p, _ in rows], dtype=np.int64), np.array([v for _, v in rows], dtype=np.float64)
    assert sorted_by(values, place).tolist() == np.lexsort((values, place)).tolist()
