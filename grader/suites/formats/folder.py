"""A folder of test files: helpers, data, a conftest of the suite's own, any solution module.

Recognised by `files, solution_path`. `files` is an object of {path: text, or {"base64": ...}};
`solution_path` is the path of the submission's code. `test_paths` names the files that pytest
collects (by default those named test_*.py or *_test.py), and `pytest_args` further arguments.

Becomes a pytest suite of exactly these files. There is no original harness. Use this format for
suites that no other format can express.
"""

from grader.model import TestSuite
from grader.model.errors import SuiteError
from grader.suites import fields, source
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for


def read(row: Row) -> TestSuite:
    """Turn a folder of files into a suite.

    Raises:
        SuiteError: No file is a test module.
    """
    contents = fields.mapping(row, "files")
    solution_path = fields.text(row, "solution_path")
    test_paths = fields.texts(row, "test_paths") or tuple(filter(_is_named_test, contents))
    if not test_paths:
        message = "no file is named test_*.py or *_test.py, and test_paths names none"
        raise SuiteError(message)
    tests = pytest_tests(
        contents,
        test_paths=test_paths,
        solution_path=solution_path,
        pytest_args=fields.texts(row, "pytest_args"),
    )
    texts = [content for content in contents.values() if isinstance(content, str)]
    for path in test_paths:
        source.outline(fields.text(contents, path), path)
    reference = fields.any_text(row, "solution", "reference") or None
    return TestSuite(
        tests=tests,
        format="folder",
        problem_id=fields.identifier(row, "task_id", "id", "name"),
        prompt=fields.any_text(row, "prompt", "question", "problem"),
        entry_point=fields.optional_text(row, "entry_point"),
        image=image_for(*texts, reference),
        reference=reference,
    )


def _is_named_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))


FOLDER = Format(
    name="folder",
    summary="Test files of any number, with helpers, data, a conftest, and a solution's path",
    fields=field_sets("files solution_path"),
    example={
        "id": "p0",
        "files": {
            "test_double.py": "from data import load\nfrom pack.double import double\n\n\n"
            "def test_all():\n    assert [double(n) for n in load()] == [2, 4]\n",
            "data.py": "def load():\n    return [1, 2]\n",
        },
        "solution_path": "pack/double.py",
        "reference": "def double(n):\n    return 2 * n\n",
    },
    read=read,
)
