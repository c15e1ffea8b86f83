"""Values from table readers become plain data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.errors import LabelError
from grader.suites.plain import plain


def test_numpy_values_become_python_values_at_any_depth() -> None:
    inner = np.empty(2, dtype=object)
    inner[:] = [np.array(["a", "b"]), {"n": np.int64(3), 4: (np.float32(0.5), None)}]
    found = plain({"rows": inner})
    assert found == {"rows": [["a", "b"], {"n": 3, "4": [0.5, None]}]}
    assert type(found["rows"][1]["n"]) is int


def test_plain_keeps_values_of_unknown_types() -> None:
    nonsense = object()
    assert plain(nonsense) is nonsense
    assert plain(b"\xff") == b"\xff"


def test_bytes_of_text_become_text() -> None:
    assert plain({"a": b"caf\xc3\xa9"}) == {"a": "caf\u00e9"}


def test_value_nested_too_deeply_is_a_label_error() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(LabelError, match="nested too deeply"):
        plain(deep)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@given(JSON)
def test_json_stays_as_it_is(value: object) -> None:
    assert plain(value) == value


@given(st.lists(JSON, max_size=4))
def test_arrays_become_the_lists_that_they_were_made_of(values: list[object]) -> None:
    array = np.empty(len(values), dtype=object)
    array[:] = [tuple(value) if isinstance(value, list) else value for value in values]
    assert plain({"rows": array}) == {"rows": values}
