"""Sources of a suite are parsed once for all readers."""

import ast
import dataclasses

import pytest

from grader.model.errors import SuiteError
from grader.source.by_value import find_apart
from grader.source.swallowing import catches_failures
from grader.source.trees import module_tree, script_trees
from tests.factories import make_tests


def test_script_is_parsed_once_for_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = ast.parse

    def counting(source: str, name: str) -> ast.Module:
        parsed.append(source)
        return parse(source, name)

    monkeypatch.setattr(ast, "parse", counting)
    tests = make_tests("assert add(1, 2) == 3  # once", "assert add(2, 2) == 4  # once")
    script_trees(tests)
    assert find_apart(tests)
    assert not catches_failures(tests)
    assert parsed == [tests.setup, *(case.source for case in tests.cases)]


def test_case_that_does_not_parse_is_named() -> None:
    tests = make_tests("assert add(1, 2) == 3")
    broken = dataclasses.replace(tests.cases[0], id="seventh", source="assert (")
    with pytest.raises(SuiteError, match="case 'seventh' does not parse"):
        script_trees(dataclasses.replace(tests, cases=(broken,)))


@pytest.mark.parametrize("source", ["def (", "\0", "(" * 5000])
def test_module_that_does_not_parse_has_no_tree(source: str) -> None:
    assert module_tree(source) is None
