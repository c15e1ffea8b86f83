import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from grader.text.json_values import ValueCount, count_values

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a"\\,[{\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a"\\,['), inner),
    max_leaves=20,
)


def values_in(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(values_in(each) for each in inner) if isinstance(value, dict | list) else 1


@given(value=JSON, cuts=st.lists(st.integers(0, 200)), is_ascii=st.booleans())
def test_values_are_counted_wherever_the_text_is_cut(
    value: object, cuts: list[int], is_ascii: bool
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii).encode()
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    counter = ValueCount()
    parts = [text[begin:end] for begin, end in pairwise(places)]
    count = [counter.add(part) for part in parts][-1]
    assert count == count_values(text)
    # An outermost value, and the first in a list or object, have no comma before them.
    assert values_in(value) <= count + 1
    assert count <= 2 * values_in(value)
