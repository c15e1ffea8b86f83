"""Parsing emits no warnings, and hostile text is not parsed."""

import ast
import sys
import threading
import warnings

import pytest

from grader.source import syntax

DOUBTFUL = 'PATTERN = "\\ "\nassert (1 is 1)\n'


def test_doubtful_source_is_parsed_silently_if_warnings_are_errors() -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("error")
        tree = syntax.parse(DOUBTFUL)
    assert [type(node) for node in tree.body] == [ast.Assign, ast.Assert]
    assert heard == []


def test_warning_filters_stay_the_same_if_threads_parse_at_once() -> None:
    def parse_often() -> None:
        for _ in range(200):
            syntax.parse(DOUBTFUL)

    before = list(warnings.filters)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=parse_often) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = 1\n" * syntax.MAX_PARSE_CHARS, id="long"),
        pytest.param("(" * 101 + ")" * 101, id="nested"),
        pytest.param("x = " + "-" * 100 + "1", id="unary operators"),
        pytest.param("f'" + "{x}" * 4001 + "'", id="fields"),
    ],
)
def test_source_that_hurts_the_parser_may_not_be_parsed(source: str) -> None:
    assert not syntax.may_be_parsed(source)


def test_ordinary_source_may_be_parsed() -> None:
    assert syntax.may_be_parsed("def f(x):\n    return {'a': [x] * 100}\n" * 100)
