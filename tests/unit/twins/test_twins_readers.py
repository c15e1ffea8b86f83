"""Signs by which a reader could find changes in a suite: each test looks for one such sign."""

import ast
import re
from collections.abc import Iterator

import pytest

from grader.model import PytestTests
from grader.twins import find_sites
from grader.twins.sites import sites_of
from tests.unit.twins.running import Changed, make_twins, module, seeded


def changed_sources(source: str, *names: str, seeds: int = 12) -> Iterator[tuple[Changed, str]]:
    """Yield twins of a module, each with other secrets, and their text."""
    tests = module(source)
    ids = [f"test_it.py::{name}" for name in names]
    for seed in range(seeds):
        sites = [*sites_of(tests, seeded(seed))]
        for twin in make_twins(tests, ids, seeded(seed), sites=sites):
            assert isinstance(twin.tests, PytestTests)
            yield twin, twin.tests.files[0].content.decode()


WANTED = """
import pytest


def test_a():
    with pytest.raises(ValueError) as caught:
        f(-1)
    assert type(caught.value) == ValueError


def test_b():
    with pytest.raises(ZeroDivisionError):
        f(0)
"""


def test_exceptions_are_those_that_the_suite_expects_elsewhere() -> None:
    for _, text in changed_sources(WANTED, "test_a", "test_b"):
        assert set(re.findall(r"raises\((\w+)\)", text)) <= {"ValueError", "ZeroDivisionError"}


def test_an_exception_is_replaced_throughout_a_test() -> None:
    for _, text in changed_sources(WANTED, "test_a"):
        first = text[text.index("def test_a") : text.index("def test_b")]
        assert len(set(re.findall(r"\w+Error|StopIteration", first))) == 1


LISTS = """
def test_a():
    assert f([5, 3, 8, 1]) == [1, 3, 5, 8]


def test_b():
    assert f([40, 70, 20]) == [20, 40, 70]
"""


def test_sorted_lists_stay_sorted() -> None:
    for _, text in changed_sources(LISTS, "test_a", "test_b"):
        for expected in re.findall(r"== (\[.*\])", text):
            assert ast.literal_eval(expected) == sorted(ast.literal_eval(expected))


def test_replacements_are_often_taken_from_the_input() -> None:
    taken = [
        set(ast.literal_eval(expected)) <= set(ast.literal_eval(given))
        for _, text in changed_sources(LISTS, "test_a", "test_b", seeds=40)
        for given, expected in re.findall(r"f\((\[.*\])\) == (\[.*\])", text)
    ]
    assert sum(taken) > len(taken) * 0.65  # a third of them are originals


@pytest.mark.parametrize(
    ("told", "other"),
    [
        pytest.param("assert f(2) == 44", "assert f(2) == 44\n    assert f(3) == 9", id="repeated"),
        pytest.param("assert f(2) == 4", "assert f(3) == 9", id="named"),
    ],
)
def test_an_expectation_that_is_told_elsewhere_stays_if_there_is_another(
    told: str, other: str
) -> None:
    source = f"def test_of_two_is_4():\n    {told}\n    assert f(5) == 25\n\n\n"
    source += f"def test_b():\n    {other}\n"
    for _, text in changed_sources(source, "test_of_two_is_4", "test_b"):
        assert told in text


def test_turned_comparisons_are_marked_if_a_reader_may_notice() -> None:
    for source, telling in [("assert f(1) == g(1)", True), ("assert f(1)", False)]:
        sites = find_sites(module(f"def test_a():\n    {source}\n"))
        assert [site.telling for site in sites] == [telling]


def test_strings_are_like_those_of_other_cases() -> None:
    words = ("red apple", "green pear", "ripe plum")
    source = "\n\n".join(
        f"def test_{n}():\n    assert f({n}) == {text!r}\n" for n, text in enumerate(words)
    )
    names = [f"test_{n}" for n in range(3)]
    known = {word for text in words for word in text.split()}
    strange = total = 0
    for twin, text in changed_sources(source, *names, seeds=40):
        found = set(re.findall(r"[a-z]+", " ".join(re.findall(r"'(.*)'", text))))
        strange += len(found - known)
        total += len(twin.changed)
    assert strange < total / 4
