import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from shedding.keys import Keys, align, unite
from shedding.rates import Rates

rows = st.lists(
    st.tuples(st.one_of(st.none(), st.sampled_from("abc")), st.one_of(st.none(), st.integers(0, 3))), max_size=30
)


def table(pairs):
    return pa.table({
        "a": pa.array([p[0] for p in pairs], pa.string()),
        "b": pa.array([p[1] for p in pairs], pa.int64()),
    })  # fmt: skip


@given(rows, rows)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_row_has_the_number_of_its_own_key(first, second):
    keys, places = align([table(first), table(second)], ["a", "b"])
    listed = list(zip(*(column.to_pylist() for column in keys.columns), strict=True))
    assert len(set(listed)) == len(listed) == len(keys) == len({*first, *second})
    for pairs, place in zip((first, second), places, strict=True):
        assert [listed[number] for number in place] == pairs


@given(rows, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_numbers_do_not_depend_on_the_order_of_rows(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    keys, (place,) = align([table(pairs)], ["a", "b"])
    others, (other,) = align([table(shuffled)], ["a", "b"])
    assert [c.to_pylist() for c in keys.columns] == [c.to_pylist() for c in others.columns]
    assert dict(zip(pairs, place.tolist(), strict=True)) == dict(zip(shuffled, other.tolist(), strict=True))


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whole_numbers_stand_in_their_order_however_far_apart(numbers):
    keys, (place,) = align([pa.table({"a": pa.array(numbers, pa.int64())})], ["a"])
    assert keys.columns[0].to_pylist() == sorted(set(numbers))
    assert [sorted(set(numbers))[at] for at in place] == numbers


ODD_NANS = np.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF8000000000000], dtype=np.uint64).view(np.float64)


@given(st.lists(st.none() | st.sampled_from([0.0, -0.0, 1.5, float("inf"), *ODD_NANS]), max_size=30), st.booleans())
def test_numbers_that_spark_groups_as_one_are_one_key(values, told):
    column = pa.array([None if v is None else float(v) for v in values], pa.float64())
    given_column = column.dictionary_encode() if told else column
    keys, (place,) = align([pa.table({"a": given_column})], ["a"])
    wanted = ["null" if v is None else "nan" if np.isnan(v) else repr(v + 0.0) for v in values]
    listed = ["null" if v is None else repr(v) for v in keys.columns[0].to_pylist()]
    assert len(listed) == len(set(listed)) == len(set(wanted))
    assert [listed[at] for at in place] == wanted


def test_text_of_any_arrow_kind_is_one_key():
    kinds = [pa.string(), pa.large_string(), pa.string_view()]
    keys, places = align([pa.table({"a": pa.array(["x"], kind)}) for kind in kinds], ["a"])
    assert len(keys) == 1
    assert [place.tolist() for place in places] == [[0], [0], [0]]


@given(rows, rows)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_column_of_numbers_into_a_list_is_the_column_of_its_values(first, second):
    """The list may hold values that no row has, in any order, null among them; a row may also have no number."""

    def listed(pairs):
        texts = pa.array(["c", "zz", None, "b", "a"])
        index = pa.array([texts.to_pylist().index(a) if a or b else None for a, b in pairs], pa.int32())
        return table(pairs).set_column(0, "a", pa.DictionaryArray.from_arrays(index, texts))

    plain, places = align([table(first), table(second)], ["a", "b"])
    for tables in ([listed(first), table(second)], [table(first), listed(second)], [listed(first), listed(second)]):
        in_chunks = [pa.concat_tables([one.slice(0, 2), one.slice(2)]) for one in tables]
        keys, found = align(in_chunks, ["a", "b"])
        assert [column.to_pylist() for column in keys.columns] == [column.to_pylist() for column in plain.columns]
        assert [place.tolist() for place in found] == [place.tolist() for place in places]


def test_numbers_into_a_list_of_numbers_stay_numbers():
    listed = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array([7, 5], pa.int32()))
    keys, places = align([pa.table({"a": listed}), pa.table({"a": pa.array([4, 5], pa.int32())})], ["a"])
    assert keys.columns[0].equals(pa.array([4, 5], pa.int32()))
    assert [place.tolist() for place in places] == [[1, 1], [0, 1]]


def test_without_columns_there_is_one_key():
    keys, (place,) = align([pa.table({"other": pa.array([1, 2, 3])})], [])
    assert len(keys) == 1
    assert place.tolist() == [0, 0, 0]


def test_rates_reach_other_keys_by_value_and_unseen_ones_by_the_unseen_rate():
    mine, _ = align([pa.table({"a": pa.array(["x", None])})], ["a"])
    other, _ = align([pa.table({"a": pa.array(["w", "x", None])})], ["a"])
    rates = Rates("leg", mine, np.array([0.1, 0.2]), unseen=0.7)
    assert rates.of(other).tolist() == [0.7, 0.1, 0.2]
    assert rates.constant is None
    assert Rates("leg", mine, np.array([0.7, 0.7]), unseen=0.7).constant == 0.7
    assert Rates("leg", Keys((), (), 1), np.array([0.3]), unseen=1.0).of(Keys((), (), 1)).tolist() == [0.3]


def test_of_no_keys_none_has_a_value():
    assert Keys(("zone",), (pa.array([], pa.string()),), 0).having({"zone": "a"}).tolist() == []


texts = st.lists(st.none() | st.text("abcé", max_size=3), max_size=20, unique=True)


def keys_of(values):
    return align([pa.table({"a": pa.array(values, pa.string())})], ["a"])[0]


@given(st.lists(texts, min_size=1, max_size=4))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_lists_of_keys_are_united_as_their_tables_are_aligned(lists):
    parts = [keys_of(values) for values in lists]
    wanted, places = align([part.table() for part in parts], ["a"])
    for _ in range(2):  # the second time from what is remembered
        union, found = unite(parts, ["a"])
        assert union.same(wanted)
        assert [place.tolist() for place in found] == [place.tolist() for place in places]


def test_a_list_that_has_all_keys_is_itself_the_union():
    whole, part = keys_of(["a", "b", "c", None]), keys_of(["c", None])
    union, (first, second) = unite([part, whole], ["a"])
    assert union is whole
    assert (first.tolist(), second.tolist()) == ([2, 3], [0, 1, 2, 3])


@given(st.lists(st.none() | st.text("abé", max_size=2), max_size=15), texts)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_rows_in_order_have_the_numbers_that_rows_in_any_order_have(rows, others):
    tables = [pa.table({"a": pa.array(values, pa.string())}) for values in (rows, others)]
    ordered = [pa.table({"a": pa.array(sorted(set(v) - {None}), pa.string())}) for v in (rows, others)]
    keys, places = align([*ordered, *tables], ["a"])
    listed = keys.columns[0].to_pylist()
    assert listed == sorted({*rows, *others} - {None}) + [None] * (None in {*rows, *others})
    for table, place in zip([*ordered, *tables], places, strict=True):
        assert [listed[number] for number in place] == table.column("a").to_pylist()
