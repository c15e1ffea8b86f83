"""C, by GCC."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    SourceFile,
    ValueDriver,
    driver_source,
    without_comments,
)
from grader.model.errors import SuiteError

GCC_WORDS = ErrorWords(
    message=re.compile(
        r"(?:\b[Ee]rror: |undefined reference to |/ld: (?=final link failed))(?P<message>.+)"
    ),
    line=re.compile(r"^solution\.\w+:(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ", re.MULTILINE),
)
MAIN = re.compile(r"\bmain\s*\(")

RANDOM = """
static int rand_for_tests() {
    static unsigned long long seed = 42;
    return (int)((seed = seed * 16807 % 2147483647) % RAND_MAX);
}
"""
"""Numbers that are the same for each submission, whatever it does with `rand`."""
_SHOW = driver_source("show.c") + RANDOM
EXERCISE_HEAD = "#include <shown_for_tests>"
"""Stands for the driver, in the place of the header of the tests' framework."""


def show(values: ValueDriver) -> str:
    """Show the values of expressions, if they are numbers or texts; 1.0 as 1."""
    form = 'shown_for_tests("\\n{mark} {number} ", {expression})'
    return program_of(values, form, path="solution.c", show=_SHOW, driver=_EXERCISE_DRIVER)


def program_of(values: ValueDriver, form: str, *, path: str, show: str, driver: str) -> str:
    """Return a program in C or C++ that shows the values of expressions.

    If the answer has a `main` to try itself out, that is not run.

    Args:
        values: The expressions.
        form: As in `ValueDriver.statements`.
        path: The name of the submission's file, for the compiler's messages.
        show: What the statements call.
        driver: What takes the place of `EXERCISE_HEAD`.
    """
    statements = values.statements(form, end=";")
    if not values.around:
        statements = f"int main(void) {{\n{statements}\n}}"
    if values.around and not values.code:
        # The code of an exercise is a file beside the tests, which include it themselves.
        return statements.replace(EXERCISE_HEAD, show + driver)
    # Answers and tests are written for the names that the problem's own code makes known. An answer
    # with `std::` must do without `using namespace std`, which could make its own names ambiguous.
    head = "" if re.search(r"\bstd::|\busing\b", values.code) else f"{values.head}\n"
    before = f'{show}{head}#define main main_of_the_answer\n#line 1 "{path}"\n'
    return "\n".join([before + values.code, "#undef main", values.head, statements])


def with_own_random(source: str) -> str:
    """Let tests take random numbers that are the same for each submission."""
    return re.sub(r"\brand\s*\(\s*\)", "rand_for_tests()", source)


_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    prepare=with_own_random,
    stub=lambda begun, _name: f"{begun} {{ return 0; }}",
)

_EXERCISE_DRIVER = driver_source("tests.c")
_TEXTS = r"""(?s:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT_OR_COMMENT = re.compile(rf"{_TEXTS}|{_COMMENTS}", re.DOTALL)
_UNITY = re.compile(r'^#include[ \t]*"(?:test-framework/|vendor/)?unity\.h"[ \t]*$', re.MULTILINE)
_INCLUDE = re.compile(r"^#[ \t]*include[ \t]*(?P<file><[^>\n]*>|\"[^\"\n]*\")", re.MULTILINE)
_IGNORED = re.compile(rf"\bTEST_IGNORE(?:_MESSAGE)?\s*\((?:[^()\"]|{_TEXTS})*\)\s*;")
_RUN = re.compile(r"\bRUN_TEST\s*\(\s*(\w+)\s*\)")
_DECLARED = re.compile(r"\b(\w+)\s*\([^;{}()]*\)\s*[;{]")
_ENUMERATED = re.compile(r"\benum\b[^{};]*\{(?P<names>[^{}]*)\}")


_TEXT_OR_VOID = re.compile(rf"(?P<text>{_TEXTS}|{_COMMENTS})|\bvoid(?=\s+main\s*\()", re.DOTALL)


def prepare(code: str) -> SourceFile:
    """Make `int main` of `void main`, whose exit code would be what a register happens to hold."""
    code = _TEXT_OR_VOID.sub(lambda found: found["text"] or "int ", code)
    return SourceFile(path="solution.c", code=code)


def without_main(code: str, texts: str = _TEXTS) -> str:
    """Let a file be beside a program of tests, which has a `main` of its own.

    Args:
        code: The file.
        texts: A pattern of texts.
    """
    either = re.compile(rf"(?P<text>{texts}|{_COMMENTS})|\bmain(?=\s*\()", re.DOTALL)
    return either.sub(lambda found: found["text"] or "main_of_the_answer", code)


def require_known_includes(tests: str, path: str) -> None:
    """Make sure that tests include only the submission's file and the language's own headers.

    Raises:
        SuiteError: They include what is not there.
    """
    for found in _INCLUDE.finditer(tests):
        if "/" in found["file"] or (found["file"][0] == '"' and found["file"] != f'"{path}"'):
            message = f"the tests include {found['file']}, which is not there"
            raise SuiteError(message)


def tests_program(source: str, path: str, example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of tests for Unity; see `Exercises.program`.

    Names of tests go, since they may tell what is expected.

    Raises:
        SuiteError: They include what is not there, or are not run by `RUN_TEST`.
    """
    bare = without_comments(source, _COMMENTS, _TEXTS)
    bare = _IGNORED.sub("", _UNITY.sub(EXERCISE_HEAD, bare, count=1))
    require_known_includes(bare, path)
    tests = dict.fromkeys(_RUN.findall(bare))
    if EXERCISE_HEAD not in bare or not tests:
        message = "the tests do not include Unity, or run no test"
        raise SuiteError(message)
    for number, name in enumerate(tests):
        bare = re.sub(rf"\b{name}\b", f"test_{number}_for_tests", bare)
    header = _TEXT_OR_COMMENT.sub(" ", example.rpartition("// file: ")[2])
    constants = (
        name
        for found in _ENUMERATED.finditer(header)
        for name in re.findall(r"[A-Za-z_]\w*", found["names"])
    )
    return bare, tuple(dict.fromkeys([*_DECLARED.findall(header), *constants]))


def _number(type: str) -> Matcher:
    """Return what is compared by an assertion that converts both sides to a type.

    The expected side evaluates the actual value as well, since later assertions may need its
    effects.
    """
    return Matcher(
        actual=f"(long long)({type})({{actual}})",
        expected=f"((void)({{actual}}), (long long)({type})({{expected}}))",
        expected_first=True,
    )


def _truth(is_true: str, form: str, negation: str = "") -> Matcher:
    return Matcher(actual=form, expected=f"((void)({{actual}}), {is_true})", negation=negation)


_WIDTHS = {"": "int", "8": "int8_t", "16": "int16_t", "32": "int32_t", "64": "int64_t"}
_MATCHERS = {
    "": _truth("1", "!!({actual})", "_FALSE"),
    "_TRUE": _truth("1", "!!({actual})", "_FALSE"),
    "_FALSE": _truth("0", "!!({actual})", "_TRUE"),
    "_UNLESS": _truth("0", "!!({actual})", "_TRUE"),
    "_NULL": _truth("1", "!({actual})"),
    "_NOT_NULL": _truth("0", "!({actual})"),
    "_EQUAL": _number("long long"),
    "_EQUAL_CHAR": _number("signed char"),
    "_EQUAL_size_t": _number("size_t"),
    **{f"_EQUAL_INT{width}": _number(type) for width, type in _WIDTHS.items()},
    **{
        f"_EQUAL_{kind}{width}": _number(f"u{type}" if width else "unsigned int")
        for width, type in _WIDTHS.items()
        for kind in ("UINT", "HEX")
    },
    "_EQUAL_STRING": Matcher(
        actual="(const char *)({actual})",
        expected="((void)({actual}), (const char *)({expected}))",
        expected_first=True,
    ),
}


def exercise_matcher(kind: str, _argument: str) -> Matcher | None:
    """Return what an assertion of Unity compares; see `Exercises.matcher`."""
    return _MATCHERS.get(kind.removeprefix("TEST_ASSERT").removesuffix("_MESSAGE"))


_EXERCISES = Exercises(
    start=re.compile(r"(?<!\w)(?P<kind>TEST_(?!IGNORE)\w+)\s*\("),
    matcher=exercise_matcher,
    comments=_COMMENTS,
    texts=_TEXTS,
    prefix=re.compile(r"^!"),
    judging=frozenset(),
    program=tests_program,
    test=re.compile(r"\bvoid\s+test_\d+_for_tests\s*\(\s*(?:void)?\s*\)\s*\{"),
    defines=re.compile(
        r"(?P<other>(?:.*[{;])?)\s*(?:(?:static|const)\s+)*"
        r"(?!(?:return|else|goto|case)\b)"
        r"(?P<type>(?:(?:unsigned|signed|long|short)\s+)*[A-Za-z_]\w*(?:\s+const)?(?:\s*\*)*)\s*|\s*"
    ),
    words=frozenset(
        """
        int unsigned long short char float double bool size_t sizeof NULL
        int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
        INT_MAX INT_MIN UINT_MAX LONG_MAX
        """.split()
    ),
    lines_end=False,
)

LANGUAGES = (
    Language(
        name="c",
        title="C",
        image="c",
        aliases=frozenset({"gcc", "c11", "c17", "c99", "gnu c", "gnu c11"}),
        packages={"gcc": "gcc libc6-dev"},
        folders=("/usr/include",),
        source="solution.c",
        prepare=prepare,
        headers=(".h",),
        compile=(
            *("gcc", "-O2", "-std=gnu17", "-w", "-pipe", "-fdiagnostics-color=never"),
            *("-o", "program", "{sources}", "-lm"),
        ),
        run=("./program",),
        program=MAIN,
        beside_tests=without_main,
        show=show,
        assertions=_ASSERTIONS,
        exercises=_EXERCISES,
        compile_words=GCC_WORDS,
        runtime_words=ErrorWords(message=re.compile(r"(?P<message>Assertion `.{1,500}' failed)")),
    ),
)
