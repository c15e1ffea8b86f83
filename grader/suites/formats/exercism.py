"""Exercism exercises in some languages, Python first; the layout of Aider's polyglot benchmark.

Recognised by `slug, files`, `files` being the exercise's folder as {path: text}. Its
`.meta/config.json` names the solution, the tests and the example.

In Python, becomes a pytest suite (the tests are unittest classes) with every file of the folder,
such as `test_utils.py`, except the solution stub, which the submission replaces, and folders that
start with a dot. `.meta` has the example, which is the reference. Of the files that the config
calls tests, those that contain tests are collected.

In the other languages, each assertion of the one file of tests becomes a case of expressions; see
`grader.suites.chained`. Tests that the track skips run, too, as on Exercism's own servers.

Original harness: `python -m pytest` in the folder, no time limit of its own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from grader import languages
from grader.languages import Exercises, Language
from grader.model import ExpressionTests, SuiteFile, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.source.files import join_files
from grader.source.names import module_name
from grader.suites import fields, source
from grader.suites.chained import defined_name, read_exercise
from grader.suites.files import check_paths, pytest_tests
from grader.suites.format import Format, Row, field_sets

_CONFIG = ".meta/config.json"


def read(row: Row) -> TestSuite:
    """Turn an exercise into its suite.

    Raises:
        LabelError: Exercises in its language are not graded, or its config does not name the files.
        SuiteError: None of its test files contains a test.
    """
    folder = fields.mapping(row, "files")
    config = fields.mapping(fields.mapping(folder, _CONFIG), "files")
    solutions = fields.texts(config, "solution")
    # The name of a header tells no language.
    solution = next(filter(languages.of_file, solutions), "".join(solutions[:1]))
    name = languages.of_file(solution)
    found = languages.find(name or "")
    if found is not None and found.exercises is not None:
        return _read_other(row, folder, config, found, found.exercises)
    if solution and name != languages.PYTHON:
        known = [key for key, each in languages.languages().items() if each.exercises]
        message = (
            f"language not supported: the solution of the exercise is {solution!r:.80}; such tests "
            f"can be graded in {', '.join((languages.PYTHON, *known))}"
        )
        raise LabelError(message)
    fields.require_python(row.get("language"))
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
    names = source.imported_names(
        source.parse(fields.text(folder, tests[0])), module_name(solution)
    )
    return TestSuite(
        tests=pytest_tests(files, test_paths=tests, solution_path=solution),
        format="exercism",
        problem_id=fields.identifier(row, "slug"),
        prompt=fields.any_text(folder, ".docs/instructions.md"),
        entry_point=names[0] if len(names) == 1 else None,
        reference=fields.optional_text(folder, examples[0]) if examples else None,
    )


def _read_other(
    row: Row,
    folder: Mapping[str, object],
    config: Mapping[str, object],
    language: Language,
    how: Exercises | Callable[[str, str], ExpressionTests],
) -> TestSuite:
    """Turn an exercise in another language than Python into its suite.

    Raises:
        LabelError: It has several files of a kind.
        SuiteError: An assertion cannot be taken apart.
    """
    endings = (*language.endings, *language.headers)
    solutions = fields.texts(config, "solution")
    paths = {
        # Others, such as a package's manifest, are not code.
        "solution": tuple(path for path in solutions if path.endswith(endings)),
        "test": fields.texts(config, "test"),
    }
    headers = tuple(path for path in paths["solution"] if path.endswith(language.headers))
    begun: tuple[str, ...] = ()
    if len(headers) == 1 and len(paths["solution"]) == 2:
        begun, paths["solution"] = paths["solution"], headers
    for kind, named in paths.items():
        if len(named) != 1 and not (kind == "test" and named and callable(how)):
            message = f"the exercise must have one {kind} file, but its config names {len(named)}"
            raise LabelError(message)
    (solution,), test = paths.values()
    if callable(how):
        test += _beside(folder, config, solution, test[0])
    text = "\n".join(fields.text(folder, path) for path in test)
    examples = fields.texts(config, "example")
    example = fields.optional_text(folder, examples[0]) if examples else None
    if begun and len(examples) > 1:
        # They have the names of the solution's files, but for what is before the ending.
        by_ending = {path.rpartition(".")[2]: fields.text(folder, path) for path in examples}
        example = join_files({path: by_ending.get(path.rpartition(".")[2], "") for path in begun})
    entry_point = None
    if callable(how):
        tests = how(text, solution)
        program = "\n".join([tests.setup, *tests.around, *(case.actual for case in tests.cases)])
        names = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", program))
        # A stand-in without a word is a program, from which tests take no name.
        is_taken_from = re.search(r"\w", tests.stub) is not None
        entry_point = defined_name(example or "", [*names]) if is_taken_from else None
    else:
        tests, entry_point = read_exercise(text, how, solution, example or "")
        editor = fields.texts(config, "editor")
        begun += tuple(path for path in editor if path.endswith(endings) and path in folder)
    check_paths({solution, *begun})
    files = {path: fields.clean(fields.text(folder, path)).encode() for path in begun}
    begun_files = tuple(SuiteFile(path=path, content=content) for path, content in files.items())
    return TestSuite(
        tests=replace(tests, begun=begun_files),
        format="exercism",
        problem_id=fields.identifier(row, "slug"),
        prompt=fields.any_text(folder, ".docs/instructions.md"),
        entry_point=entry_point,
        reference=example,
        limits=fields.time_limits(15.0),
        image=language.image,
        language=language.name,
    )


def _beside(
    folder: Mapping[str, object], config: Mapping[str, object], solution: str, test: str
) -> tuple[str, ...]:
    """Return further files of tests, such as their tables, which are called like them.

    Raises:
        LabelError: There is other code that an answer may use.
    """
    stem, _, ending = solution.rpartition(".")
    files = fields.texts(config, "editor")
    beside = tuple(path for path in files if path.endswith(f".{ending}") and path in folder)
    for path in beside:
        if not path.endswith(test.removeprefix(stem)):
            message = (
                f"the exercise has code besides its tests, which is not supported: {path!r:.80}"
            )
            raise LabelError(message)
    return beside


def _only(solutions: tuple[str, ...]) -> str:
    if len(solutions) == 1 and solutions[0].endswith(".py"):
        return solutions[0]
    message = f"the exercise must have one solution file, but its config names {len(solutions)}"
    raise LabelError(message)


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
