"""Exercism exercises, Python track; the layout of Aider's polyglot benchmark too.

Recognised by `slug, files`, `files` being the exercise's folder as {path: text}. Its
`.meta/config.json` names the solution, the tests and the example.

Becomes a pytest suite (the tests are unittest classes) with every file of the folder, such as
`test_utils.py`, except the solution stub, which the submission replaces, and folders that start
with a dot. `.meta` has the example, which is the reference. Of the files that the config calls
tests, those that contain tests are collected.

Harness of record: `python -m pytest` in the folder, no time limit of its own.
"""

from collections.abc import Mapping

from grader.model import TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import fields, source
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets

_CONFIG = ".meta/config.json"


def read(row: Row) -> TestSuite:
    """Turn an exercise into its suite.

    Raises:
        LabelError: The exercise is in another language, or its config does not name the files.
        SuiteError: None of its test files contains a test.
    """
    fields.require_python(row.get("language"))
    folder = fields.mapping(row, "files")
    config = fields.mapping(fields.mapping({"config": folder.get(_CONFIG)}, "config"), "files")
    solution = _only(fields.texts(config, "solution"))
    tests = tuple(path for path in fields.texts(config, "test") if _has_tests(folder, path))
    if not tests:
        message = "no test file of the exercise contains a test"
        raise SuiteError(message)
    examples = fields.texts(config, "example")
    files = {
        path: fields.text(folder, path)
        for path in folder
        if path != solution and not path.startswith(".")
    }
    names = source.imported_names(source.parse(fields.text(folder, tests[0])), _module(solution))
    return TestSuite(
        tests=pytest_tests(files, test_paths=tests, solution_path=solution),
        format="exercism",
        problem_id=fields.identifier(row, "slug"),
        prompt=fields.any_text(folder, ".docs/instructions.md"),
        entry_point=names[0] if len(names) == 1 else None,
        reference=fields.optional_text(folder, examples[0]) if examples else None,
    )


def _only(solutions: tuple[str, ...]) -> str:
    if len(solutions) == 1 and solutions[0].endswith(".py"):
        return solutions[0]
    fields.require_python(solutions[0].rpartition(".")[2] if solutions else "")
    message = f"the exercise must have one solution file, but its config names {len(solutions)}"
    raise LabelError(message)


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def _has_tests(folder: Mapping[str, object], path: str) -> bool:
    return path.endswith(".py") and source.has_tests(fields.text(folder, path))


EXERCISM = Format(
    name="exercism",
    summary="An Exercism exercise as a folder of files, its .meta/config.json among them",
    fields=field_sets("slug files"),
    example={
        "slug": "double",
        "files": {
            _CONFIG: '{"files": {"solution": ["double.py"], "test": ["double_test.py"],'
            ' "example": [".meta/example.py"]}}',
            ".meta/example.py": "def double(n):\n    return 2 * n\n",
            "double.py": "def double(n):\n    pass\n",
            "double_test.py": "import unittest\n\nfrom double import double\n\n\n"
            "class DoubleTest(unittest.TestCase):\n    def test_two(self):\n"
            "        self.assertEqual(double(2), 4)\n",
        },
    },
    read=read,
)
