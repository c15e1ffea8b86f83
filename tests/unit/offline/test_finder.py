import json
from typing import Any

import pytest

from grader.model import CallTests, TestSuite
from grader.model.errors import LabelError
from grader.offline.finder import SuiteFinder

SIZE = 100


def label(expected: object, *, padding: str = "") -> dict[str, Any]:
    return {"fn_name": "f", "inputs": [[padding]], "outputs": [expected]}


def find(finder: SuiteFinder, label: object, *, size: int = SIZE) -> TestSuite:
    return finder.find({"task_id": "p", "label": label}, size)


def expected_of(suite: TestSuite) -> object:
    assert isinstance(suite.tests, CallTests)
    return suite.tests.cases[0].expected


@pytest.mark.parametrize("as_text", [True, False])
def test_label_that_was_seen_is_not_parsed_again(as_text: bool) -> None:
    finder = SuiteFinder()
    text = json.dumps(label(1))
    first, second = (find(finder, text if as_text else json.loads(text)) for _ in range(2))
    assert first is second


def test_labels_that_python_calls_equal_are_told_apart() -> None:
    finder = SuiteFinder()
    found = [expected_of(find(finder, label(value))) for value in (1, True, 1.0)]
    assert [type(value) for value in found] == [int, bool, float]


def test_labels_are_forgotten_before_they_fill_the_memory() -> None:
    finder = SuiteFinder()
    mib = 1 << 20
    first = find(finder, label(0), size=mib)
    for number in range(1, 9):
        find(finder, label(number), size=mib)
    last = find(finder, label(8), size=mib)
    assert find(finder, label(8), size=mib) is last
    assert find(finder, label(0), size=mib) is not first


def test_label_of_any_size_serves_the_next_row() -> None:
    finder = SuiteFinder()
    first = find(finder, label(1), size=1 << 30)
    assert find(finder, label(1), size=1 << 30) is first


def test_label_that_is_broken_is_broken_each_time() -> None:
    finder = SuiteFinder()
    for _ in range(2):
        with pytest.raises(LabelError):
            find(finder, {"nonsense": 1})
