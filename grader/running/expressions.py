"""Tests that compare expressions in another language than Python.

One program evaluates the expected expressions, another one those of the submission. Their values
are compared here, so neither process has ever held the values of the other.
"""

import json
import re
import secrets
from contextlib import closing
from dataclasses import replace

from grader.judging.expressions import (
    find_run_fault,
    is_shown_again,
    judge_expressions,
    shown_values,
)
from grader.judging.languages import find_compile_error
from grader.languages import COMPILE_LIMITS, Language, ValueDriver
from grader.model import ExpressionTests
from grader.model.errors import SuiteError
from grader.model.verdict import Verdict
from grader.running.programs import Parts, parts_of, prepare, stdin_batch
from grader.running.references import References
from grader.running.task import Graded, Task, isolated, require_cases
from grader.sandbox.contract import COMPILING, RunOutcome, Slot
from grader.source.files import is_own, split_files, why_refused


def run_expressions(
    task: Task, tests: ExpressionTests, slot: Slot, references: References
) -> Graded:
    """Evaluate the expressions of all cases in one run of the submission, and compare.

    Raises:
        SuiteError: The suite has no case, what it expects cannot be evaluated, or the submission
            fails where the suite's own reference fails, too.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    graded = _graded(task, tests, slot, references)
    if any(case.verdict is not Verdict.PASSED for case in graded.cases):

        def why_it_fails(reference: str) -> str | None:
            again = _graded(replace(task, code=reference), tests, slot, references)
            reasons = [each for each in again.cases if each.verdict is not Verdict.PASSED]
            return reasons[0].feedback if reasons else None

        references.require_sound(task.suite, task.code, why_it_fails)
    return graded


def _graded(task: Task, tests: ExpressionTests, slot: Slot, references: References) -> Graded:
    language = task.language
    if language is None or language.show is None:
        title = "Python" if language is None else language.title
        message = f"the tests are expressions, which are not evaluated in {title}"
        raise SuiteError(message)
    expected = _expected(task, tests, language, slot, references)
    mark = secrets.token_hex(8)
    parts = _beside(task, tests, language, task.code)
    values = _values(task, tests, mark, code=language.as_library(parts.code))
    outcome = _run(task, language, values, slot, parts)
    cases, told = tests.cases, _told(outcome, language, tests, values)
    if outcome.index == COMPILING:
        why_not = find_compile_error(told, language, COMPILE_LIMITS)
        if why_not is None:
            raise AssertionError(outcome)
        results = judge_expressions(cases, expected, [], outcome, why_not)
        return isolated(results, [replace(outcome, forbidden_calls=())])
    got = shown_values(outcome.stdout, mark, len(cases), _repeated(tests))
    fault = find_run_fault(told, language, task.limits)
    return isolated(judge_expressions(cases, expected, got, outcome, fault), [outcome])


def _beside(task: Task, tests: ExpressionTests, language: Language, code: str) -> Parts:
    """Return the submission as the tests need it: as files beside them, or as code before them.

    Args:
        task: What is graded.
        tests: The expressions.
        language: Their language.
        code: The submission, or what stands for it.
    """
    if not tests.solution_path:
        return parts_of(code, language, task.suite.entry_point)
    test = f"tests_of_the_suite.{language.source.rpartition('.')[2]}"
    files = _placed(tests, code) if tests.begun else {}
    path, parts = tests.solution_path, parts_of(code, language, task.suite.entry_point)
    given = {parts.path: parts.code, **parts.others} if parts.others else {}
    main = next((each for each in given if _name(each) == _name(path)), parts.path)
    if path not in files:
        files[path] = prepare(language, given.pop(main, parts.code)).code
    names = {_name(each) for each in files}
    others = {
        f"{_folder(path)}{each.removeprefix(_folder(main))}": content
        for each, content in given.items()
        if is_own(each, language) and _name(each) not in names
    }
    if why_refused([test, *files, *others]) is None:
        files = {**others, **files}
    if language.beside_tests is not None:
        files = {each: language.beside_tests(content) for each, content in files.items()}
    return Parts(code="", path=test, others=files)


def _told(
    outcome: RunOutcome, language: Language, tests: ExpressionTests, values: ValueDriver
) -> RunOutcome:
    """Return an outcome in whose messages the submission has the name of a program's source.

    Then only lines of the submission are found there. The tests' program may have that name, too.
    """
    if not tests.solution_path or language.show is None:
        return outcome
    program = prepare(language, language.show(values)).path
    names = {program: "tests", tests.solution_path: language.source}
    either = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?!\w)".encode())

    def named(said: bytes) -> bytes:
        return either.sub(lambda found: names[found[0].decode()].encode(), said)

    return replace(outcome, stdout=named(outcome.stdout), stderr=named(outcome.stderr))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path[: path.rfind("/") + 1]


def _placed(tests: ExpressionTests, code: str) -> dict[str, str]:
    """Return a submission's files where the tests expect them, without the one that is its code.

    The file that the tests mention may be one of those that the exercise begins with. Then it is a
    header, and code without file names takes its place, unless the code mentions the header in
    quotes: then the code is the source file beside it.
    """
    begun = {each.path: each.content.decode() for each in tests.begun}
    given = split_files(code)
    if not given and tests.solution_path in begun:
        if f'"{tests.solution_path}"' not in code:
            return {}
        given = {path: code for path in begun if path != tests.solution_path}
    paths = {_name(path): path for path in begun}
    placed = {paths.get(_name(path), ""): content for path, content in given.items()}
    return {path: placed.get(path, content) for path, content in begun.items()}


def _values(
    task: Task, tests: ExpressionTests, mark: str, *, code: str | None = None
) -> ValueDriver:
    """Return what shows the values of `code` or, if that is None, the expected values."""
    is_submission = code is not None
    return ValueDriver(
        code=tests.stub if code is None else code,
        head=task.suite.prelude,
        setup=tests.setup if is_submission or (tests.stub and not tests.around) else "",
        expressions=tuple(case.actual if is_submission else case.expected for case in tests.cases),
        mark=mark,
        around=tests.around if is_submission else tests.around_expected or tests.around,
    )


def _repeated(tests: ExpressionTests) -> frozenset[int]:
    """Return the numbers of the cases that may be evaluated several times."""
    return frozenset(number for number, case in enumerate(tests.cases) if case.repeats)


def _run(
    task: Task, language: Language, values: ValueDriver, slot: Slot, parts: Parts | None = None
) -> RunOutcome:
    """Return the outcome of a program that shows values; the compiler's if it does not compile.

    Args:
        task: What the values are shown for.
        language: The language of the program.
        values: The values.
        slot: Where to run it.
        parts: The files beside the program, if there are any.
    """
    if language.show is None:
        raise AssertionError(language)
    program = replace(parts or Parts(code=""), code=language.show(values))
    batch = stdin_batch(task, (b"",), source=program)
    with closing(slot.run(batch)) as running:
        *_, outcome = running
    return outcome


def _expected(
    task: Task, tests: ExpressionTests, language: Language, slot: Slot, references: References
) -> list[str]:
    """Return the values that are expected, evaluated once for all submissions to the suite.

    Raises:
        SuiteError: One has no value.
        SandboxUnavailableError: The slot broke.
    """

    def find() -> bytes:
        mark = secrets.token_hex(8)
        stub = _beside(task, tests, language, tests.stub) if tests.solution_path else None
        driver = _values(task, tests, mark)
        if tests.solution_path:
            driver = driver._replace(code="")
        outcome = _run(task, language, driver, slot, stub)
        if is_shown_again(outcome.stdout, mark, _repeated(tests)):
            message = "the tests evaluate an assertion more than once"
            raise SuiteError(message)
        values = shown_values(outcome.stdout, mark, len(tests.cases), _repeated(tests))
        if outcome.index == COMPILING:
            fault = find_compile_error(outcome, language, COMPILE_LIMITS)
        else:
            fault = find_run_fault(outcome, language, task.limits)
        if fault is not None or len(values) < len(tests.cases) or None in values:
            why = "not every expression has a value" if fault is None else fault.feedback
            message = f"what the suite expects cannot be evaluated: {why}"
            raise SuiteError(message)
        return json.dumps(values).encode()

    expressions = [case.expected for case in tests.cases]
    begun = [(each.path, each.content.decode()) for each in tests.begun]
    key = json.dumps(
        [
            language.name,
            tests.stub,
            tests.around_expected,
            tests.around,
            tests.solution_path,
            begun,
            expressions,
        ]
    ).encode()
    found: list[str] = json.loads(references.report(task.suite, key, find))
    return found
