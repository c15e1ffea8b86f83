"""Python literals are read as by `ast.literal_eval`, but without a syntax tree."""

import ast
import time
import warnings
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model.errors import LabelError
from grader.source.syntax import quiet
from grader.suites.literals import read_literal

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary()
)
KEYS = st.integers() | st.text(max_size=3) | st.tuples(st.integers(), st.booleans())
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.sets(KEYS, min_size=1, max_size=3)
    ),
    max_leaves=15,
)


def kinds(value: object) -> list[type]:
    """Return the types in a value, since 1 equals 1.0 and True."""
    items: Iterable[object] = ()
    if isinstance(value, dict):
        items = [*value.items()]
    elif isinstance(value, list | tuple):
        items = value
    return [type(value), *(kind for item in items for kind in kinds(item))]


@given(VALUES)
def test_what_repr_writes_is_read_back(value: object) -> None:
    found = read_literal(repr(value))
    assert found == value
    assert kinds(found) == kinds(value)


@given(st.text("[](){},:'\"\\ab1 .-\n", max_size=20))
def test_what_is_read_is_what_python_reads(text: str) -> None:
    try:
        found = read_literal(text)
    except LabelError:
        return
    with quiet():
        assert repr(found) == repr(ast.literal_eval(text.strip()))


def test_doubtful_escape_is_read_silently_if_warnings_are_errors() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("error")
        found = read_literal(r"['\d+', 1]")
    assert found == [r"\d+", 1]
    assert heard == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("[1", id="breaks off"),
        pytest.param("'a", id="text breaks off"),
        pytest.param("[1 2]", id="no comma"),
        pytest.param("{1: 2, 3}", id="no key"),
        pytest.param("{[]: 1}", id="no hash"),
        pytest.param("1 + 1", id="expression"),
        pytest.param("__import__('os')", id="call"),
        pytest.param("f'{1}'", id="f-string"),
        pytest.param("[x for x in y]", id="comprehension"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param("9" * 400_000, id="longer than a result may be"),
    ],
)
def test_text_that_is_not_a_literal_is_refused(text: str) -> None:
    with pytest.raises(LabelError, match="not a Python literal"):
        read_literal(text)


@pytest.mark.parametrize("unit", ["'", "'\\'", "[", "(1,", "a", " ", "{1:"])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    start = time.process_time()
    with pytest.raises(LabelError):
        read_literal(unit * 300_000)
    assert time.process_time() - start < 5
