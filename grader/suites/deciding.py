"""Fields, common to all formats, that change which programs are right.

Each is either honoured, or its row is refused: if it were ignored, wrong programs could pass, or
right ones fail.
"""

from dataclasses import replace

from grader import languages
from grader.model import (
    CallTests,
    Checker,
    Comparator,
    Comparison,
    ExpressionTests,
    InteractiveTests,
    StdinTests,
    TestSuite,
)
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.format import Row
from grader.suites.programs import read_checker

_STANDARD_STREAMS = frozenset({"stdio", "stdin", "stdout", "stdin_stdout", "standard"})

_PRINTING_CHECKER = '''
def check(input, output, answer):
    """Run a program on the paths of input, answer and output, and return what it prints."""
    import contextlib
    import io
    import sys

    for name, text in (("input", input), ("answer", answer), ("output", output)):
        with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
    sys.argv = ["checker.py", "input", "answer", "output"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        exec(compile(SOURCE, "checker.py", "exec"), {"__name__": "__main__"})
    return float(printed.getvalue().split()[-1])
'''


def require_gradable(row: Row) -> None:
    """Refuse a row that needs something that is not supported.

    Raises:
        LabelError: It does; the message names the field.
    """
    if row.get("suffix"):
        message = "suffix: code that follows a completion is not supported"
        raise LabelError(message)
    if row.get("interaction_format"):
        message = "interaction_format: the problem is interactive, and the row has no interactor"
        raise LabelError(message)
    for name in ("input_mode", "input_file", "output_file"):
        given = row.get(name)
        if given and str(given) not in _STANDARD_STREAMS:
            message = f"{name} is {given!r:.40}: only standard input and output are supported"
            raise LabelError(message)
    if row.get("executable") is False:
        message = "executable is false: the row has no tests that can be run"
        raise LabelError(message)


def checker_of(row: Row) -> Checker | None:
    """Return the row's checker, if it has one.

    Raises:
        LabelError: The checker has an unknown form.
        SuiteError: The checker does not parse.
    """
    return _generated(row) or _given(row)


def with_checker(suite: TestSuite, checker: Checker) -> TestSuite:
    """Return the suite with a checker in place of its comparison.

    Raises:
        LabelError: The suite is not of stdin tests.
    """
    if not isinstance(suite.tests, StdinTests):
        message = f"checker: only for programs that read and print, and not for {suite.format!r}"
        raise LabelError(message)
    comparison = Comparison(comparator=Comparator.CHECKER, checker=checker)
    return replace(suite, tests=replace(suite.tests, comparison=comparison))


def with_language(suite: TestSuite, language: object) -> TestSuite:
    """Return the suite for submissions in the language that its label names.

    Raises:
        LabelError: The language is unknown, or not supported for tests of this kind.
    """
    name = languages.named(language)
    if name == suite.language or isinstance(suite.tests, ExpressionTests):
        return suite  # the format has set the language of expressions
    if isinstance(suite.tests, CallTests):
        _require_callable(suite.tests, name)
    elif not isinstance(suite.tests, StdinTests | InteractiveTests):
        message = (
            f"language is {language!r:.80}: with tests in the format {suite.format!r}, only Python "
            "is graded; other languages are for programs that read standard input, and for calls"
        )
        raise LabelError(message)
    return replace(suite, language=name, image=languages.image_of(suite, name))


def _require_callable(tests: CallTests, language: str) -> None:
    """Refuse calls that cannot be made in a language.

    Raises:
        LabelError: They cannot; the message says why.
    """
    found = languages.find(language)
    if found is None or found.call is None:
        known = ", ".join(name for name, each in languages.languages().items() if each.call)
        message = f"language is {language!r:.80}: functions are called in Python, {known} only"
    elif tests.asks_reference or tests.in_one_run:
        message = f"language is {language!r:.80}: such calls are made in Python only"
    elif any(case.kwargs for case in tests.cases):
        message = (
            f"language is {language!r:.80}: its calls have no arguments by name; expected a list "
            "of arguments for each case"
        )
    else:
        return
    raise LabelError(message)


def _generated(row: Row) -> Checker | None:
    """Return open-r1's checker: a program that prints 1 or 0."""
    text = fields.optional_text(row, "generated_checker")
    if text is None:
        return None
    source.parse(text, "generated_checker")
    return Checker(source=f"SOURCE = {text!r}\n{_PRINTING_CHECKER}")


def _given(row: Row) -> Checker | None:
    given = row.get("checker")
    return read_checker(given, "checker") if given else None
