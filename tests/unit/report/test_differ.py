"""The lines in which two texts differ, and the parts of lines that differ."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.differ import diff


def test_diff_shows_lines_around_a_difference() -> None:
    lines = diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf")
    kinds = [(line.kind, line.text) for line in lines]
    assert kinds == [
        ("same", "b"),
        ("same", "c"),
        ("missing", "d"),
        ("extra", "X"),
        ("same", "e"),
        ("same", "f"),
    ]


def test_places_far_apart_have_a_gap_between_them() -> None:
    same = [str(n) for n in range(20)]
    lines = diff("\n".join(["a", *same, "b"]), "\n".join(["x", *same, "y"]))
    assert [line.kind for line in lines].count("gap") == 1


@pytest.mark.parametrize(
    ("expected", "got", "marked"),
    [
        pytest.param("total: 17 apples", "total: 19 apples", ("7", "9"), id="inside"),
        pytest.param("1 2 3", "1 2 3 ", ("", " "), id="a blank at the end"),
        pytest.param("aa", "aaa", ("", "a"), id="one more of the same"),
        pytest.param("x", "y", ("x", "y"), id="all of it"),
    ],
)
def test_part_of_a_line_that_differs_is_marked(
    expected: str, got: str, marked: tuple[str, str]
) -> None:
    missing, extra = diff(expected, got)
    assert (missing.differing, extra.differing) == marked


@given(st.text(alphabet="ab \n"), st.text(alphabet="ab \n"))
def test_diff_holds_the_lines_of_both_texts(expected: str, got: str) -> None:
    wanted, came = expected.rstrip("\n").split("\n"), got.rstrip("\n").split("\n")
    lines = diff(expected, got)
    assert (lines == ()) is (wanted == came)
    for line in lines:
        assert line.kind not in ("same", "missing") or line.text in wanted
        assert line.kind not in ("same", "extra") or line.text in came
