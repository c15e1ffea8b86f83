"""Files of a label: each path is checked before it is joined to a folder."""

import base64
import binascii
from collections.abc import Collection, Mapping

from grader import languages
from grader.model import ExpressionTests, PytestTests, SuiteFile, TestSuite
from grader.model.errors import LabelError
from grader.suites.cases import check_cases
from grader.suites.fields import clean

_MAX_PATH_CHARS = 200


def pytest_tests(
    contents: Mapping[str, object],
    *,
    test_paths: tuple[str, ...],
    solution_path: str = "solution.py",
    pytest_args: tuple[str, ...] = (),
) -> PytestTests:
    """Return pytest tests of these files.

    Args:
        contents: By path: a text, or `{"base64": ...}` for binary data.
        test_paths: As in `PytestTests`; each a key of `contents`.
        solution_path: As in `PytestTests`; never a key of `contents`.
        pytest_args: As in `PytestTests`.

    Raises:
        LabelError: A path leads out of the folder or through another file, `solution_path` or a
            content is not as above, or a test file is missing.
    """
    if solution_path in contents:
        message = f"the files hold {solution_path}, where the submission goes"
        raise LabelError(message)
    check_paths([*contents, solution_path])
    files = suite_files(contents)
    if missing := [path for path in test_paths if path not in contents]:
        message = f"the files lack the tests {', '.join(missing)}"
        raise LabelError(message)
    return PytestTests(
        files=files, test_paths=test_paths, solution_path=solution_path, pytest_args=pytest_args
    )


def suite_files(contents: Mapping[str, object]) -> tuple[SuiteFile, ...]:
    """Return the files of a suite; `contents` are as for `pytest_tests`.

    Raises:
        LabelError: A path leads out of the folder or through another file, or a content is neither
            text nor base64.
    """
    check_paths(contents)
    return tuple(
        SuiteFile(path=path, content=_bytes(path, content)) for path, content in contents.items()
    )


def check_foreign(suite: TestSuite) -> TestSuite:
    """Return a suite that was read elsewhere, after the checks that readers of labels make.

    Raises:
        LabelError: The path of a file leads out of the folder or through another file, or there are
            too many cases.
    """
    paths: list[str] = []
    if isinstance(suite.tests, PytestTests):
        paths = [*(file.path for file in suite.tests.files), suite.tests.solution_path]
    elif isinstance(suite.tests, ExpressionTests) and suite.tests.solution_path:
        paths = [suite.tests.solution_path]
    elif (program := languages.decider(suite.tests)) is not None:
        paths = [file.path for file in program.files]
    check_paths(paths)
    return check_cases(suite)


def check_paths(paths: Collection[str]) -> None:
    """Make sure that files lie in their folder, and that each can be there beside the others.

    Raises:
        LabelError: A path may lead elsewhere, or has another file as a folder.
    """
    names = set(paths)
    for path in names:
        check_path(path)
        for index, char in enumerate(path):
            if char == "/" and path[:index] in names:
                message = f"{path[:index]!r} is both a file and the folder of {path!r}"
                raise LabelError(message)


def check_path(path: str) -> None:
    """Make sure that a file lies in its folder.

    Raises:
        LabelError: Its path may lead elsewhere.
    """
    parts = path.split("/")
    if (
        len(path) > _MAX_PATH_CHARS
        or not path.isprintable()
        or "\\" in path
        or any(part in ("", ".", "..") for part in parts)
    ):
        message = f"a file's path must be relative and stay inside its folder: {path[:80]!r}"
        raise LabelError(message)


def _bytes(path: str, content: object) -> bytes:
    if isinstance(content, str):
        return clean(content).encode()
    if isinstance(content, Mapping) and isinstance(packed := content.get("base64"), str):
        try:
            return base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError) as error:
            message = f"the content of {path} is not base64: {error}"
            raise LabelError(message) from error
    message = f'the content of {path} must be text or {{"base64": ...}}'
    raise LabelError(message)
