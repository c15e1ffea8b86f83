"""PHP."""

import re
from itertools import count

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
    without_comments,
)
from grader.languages.reading_tests import masked, refuse
from grader.model.errors import SuiteError


def prepare(code: str) -> SourceFile:
    """Open the code as PHP if the answer did not; else PHP would print it as text."""
    opened = code if "<?" in code else f"<?php {code}"
    return SourceFile(path="solution.php", code=opened)


_WORDS = ErrorWords(
    message=re.compile(
        r"^(?:PHP )?(?:Parse|Fatal) error: +(?P<message>.+?)(?: in |$)", re.MULTILINE
    ),
    line=re.compile(r"(?: on line |solution\.php:)(?P<line>\d+)"),
)


_EXPORT = """\
static function ($value) { $all = [$value]; \
array_walk_recursive($all, static function (&$one) { if ($one === 0.0) $one = 0.0; }); \
return var_export($all[0], true); }"""
"""The two zeros are equal."""


_EXERCISE_DRIVER = driver_source("tests.php")
_LOOSE = _EXERCISE_DRIVER[_EXERCISE_DRIVER.index("function looseForTests") :].partition("\n}\n")[0]
_LOOSE += "\n}"


def show(values: ValueDriver) -> str:
    """Show the values of expressions as PHP itself writes values, on one line."""
    code = prepare(values.code).code
    closed = code.rfind("?>") > code.rfind("<?")
    statements = values.statements(
        'echo "\\n{mark} {number} " . '
        f'str_replace("\\n", "\\\\n", ({_EXPORT})({{expression}})) . "\\n"',
        end=";",
    )
    own = "" if _LOOSE in statements else _LOOSE
    return "\n".join([code, "<?php" if closed else "", own, statements])


_TEXTS = r"""(?s:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_COMMENTS = r"//[^\n]*|#(?!\[)[^\n]*|/\*.*?\*/"
_HEADER = re.compile(
    r"<\?php\b|\bdeclare\s*\([^)]*\)\s*;|^use\s+PHPUnit\\[\w\\]+\s*;", re.MULTILINE
)
_TITLE = re.compile(r"^[ \t]*#\[(?:[\w\\]+\\)?TestDox\(.*\)\][ \t]*$", re.MULTILINE)
_TEST_CLASS = re.compile(
    r"\bclass\s+(?P<name>\w+)\s+extends\s+(?P<base>\\?(?:PHPUnit\\Framework\\)?TestCase)\b"
)
_TEST = re.compile(
    r"^(?P<indent>[ \t]*)public function test\w*\(\)(?P<type>[ \t]*:[ \t]*void)?\s*\{\n"
    r"(?P<body>.*?)^(?P=indent)\}",
    re.MULTILINE | re.DOTALL,
)
_PARAMETERS = re.compile(r"\bfunction test\w*\(\s*[^)\s]")
_EXPECTED = re.compile(
    rf"\$this->expectException(?P<message>Message)?\(\s*(?P<value>{_TEXTS}|[\w\\]+::class)\s*\);"
)
_TAKEN = re.compile(
    r"\bnew\s+\\?(?P<made>[A-Za-z_]\w*)|(?<![\w$>])\\?(?P<named>[A-Z]\w*)\s*::"
    r"|(?<![\w$>:])(?<!function )\\?(?P<called>[A-Za-z_]\w*)\s*\("
)
_NOT_TAKEN = frozenset(
    """
    and array catch clone declare do echo elseif else empty exit fn for foreach function if include
    isset list match new or parent print require require_once return self static switch unset use
    while yield
    array_fill array_keys array_map array_merge array_sum array_values count explode implode join
    intdiv is_array is_string max min pow range round sort sprintf str_repeat strlen strrev
    strtolower strtoupper
    """.split()
)
"""Words and functions of PHP's own that may stand before a bracket. No submission can redefine
them."""
_ASSERTION = re.compile(r"(?:\$this->|\b(?:self|static)::)(?P<kind>assert\w*)\s*\(")
_STAND_IN = driver_source("stand_in.php")


def tests_program(source: str, _solution_path: str, _example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of PHPUnit's tests; see `Exercises.program`.

    Raises:
        SuiteError: Tests get arguments, or expect an exception in another way than by its class and
            its message.
    """
    bare = without_comments(source, _COMMENTS, _TEXTS)
    bare = _TITLE.sub("", _HEADER.sub("", bare))
    if _PARAMETERS.search(bare) or "#[" in bare:
        message = "tests get their arguments from elsewhere"
        raise SuiteError(message)
    classes = [found["name"] for found in _TEST_CLASS.finditer(bare)]
    program = _TEST_CLASS.sub(r"class \g<name> extends TestCaseForTests", bare)
    # Names of tests may tell what is expected.
    numbers = count()
    program = _TEST.sub(lambda found: _test(found, next(numbers)), program)
    if "->expect" in program:
        shown = program[program.index("->expect") :]
        refuse("an exception is expected in an unknown way", shown)
    mask = masked(program, _TEXTS)
    taken = dict.fromkeys(
        name for found in _TAKEN.finditer(mask) if (name := found[found.lastgroup or 0])
    )
    own = {*_NOT_TAKEN, *re.findall(r"\b(?:class|function)\s+(\w+)", mask)}
    names = [name for name in taken if name.lower() not in own and name not in own]
    calls = "".join(f"{name}::runForTests();\n" for name in classes)
    calls += "exit((int) TestCaseForTests::$hasFailed);\n"
    every = (*names, "$thrownForTests") if names else ()
    return f"declare(strict_types=1);\n{_EXERCISE_DRIVER}\n{program}\n{calls}", every


def _test(found: re.Match[str], number: int) -> str:
    """Return a test under another name, with what it must throw as assertions at its end.

    Raises:
        SuiteError: There is an assertion that must not be reached.
    """
    body, start = found["body"], f"{found['indent']}public function test{number}(): void\n{{\n"
    expected = list(_EXPECTED.finditer(body))
    if expected:
        before = body[: expected[0].start()]
        after = _EXPECTED.sub("", body[expected[0].start() :])
        if _ASSERTION.search(after):
            refuse("an assertion follows what must be thrown", after.strip())
        checks = "".join(
            f"$this->assert{each['message'] or 'Kind'}($thrownForTests, {each['value']});\n"
            for each in expected
        )
        body = (
            f"{before}$thrownForTests = null;\ntry {{\n{after}}} catch (\\Throwable $each) {{\n"
            f"$thrownForTests = $each;\n}}\n{checks}"
        )
    return f"{start}{body}}}"


_MATCHERS = {
    "assertEquals": Matcher(
        actual="looseForTests({actual})",
        expected="looseForTests({expected})",
        expected_first=True,
    ),
    "assertSame": Matcher(expected_first=True),
    "assertNotSame": Matcher(expected_first=True, relation="!="),
    "assertNotNull": Matcher(expected="null", relation="!="),
    "assertTrue": Matcher(expected="true"),
    "assertFalse": Matcher(expected="false"),
    "assertNull": Matcher(expected="null"),
    "assertCount": Matcher(actual="count({actual})", expected_first=True),
    "assertEmpty": Matcher(actual="empty({actual})", expected="true"),
    "assertEqualsWithDelta": Matcher(expected_first=True, has_tolerance=True),
    "assertStringContainsString": Matcher(contains=True, expected_first=True),
    "assertMessage": Matcher(actual="messageForTests({actual})", contains=True),
}


def phpunit_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion of PHPUnit compares; see `Exercises.matcher`."""
    if kind == "assertKind":
        return Matcher(actual=f"kindForTests({{actual}}, {argument})", expected=argument)
    return _MATCHERS.get(kind)


_EXERCISES = Exercises(
    start=_ASSERTION,
    matcher=phpunit_matcher,
    comments=_COMMENTS,
    texts=_TEXTS,
    prefix=re.compile(r"^\$this->|\(?\s*new\s+\\?"),
    judging=frozenset(),
    program=tests_program,
    stub=lambda names: _STAND_IN + "".join(map(_stand_in, names)),
)


def _stand_in(name: str) -> str:
    """Return the definition of a class or function that does nothing."""
    if name.startswith("$"):
        return ""
    if name[0].isupper():
        return f"if (!class_exists('{name}')) {{ class {name} extends StandInForTests {{}} }}\n"
    return (
        f"if (!function_exists('{name}')) {{\n"
        f"    function {name}(...$all) {{ return new StandInForTests(); }}\n}}\n"
    )


_TESTS = TranslatedTests(
    start="if (",
    close=') { throw new Exception("Test failed!"); }',
    name=re.compile(r"^\s*return (\w+)", re.MULTILINE),
    setup="function candidate(...$args) {{ return {name}(...$args); }}",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    comments=r"//[^\n]*|#[^\n]*|/\*.*?\*/",
    truth="(bool) ({})",
    loose="looseForTests({})",
    stub=lambda _begun, name: f"function {name}() {{}}",
)

_OWN_PATH, _RUN_PATH = (
    rf"(?:{path}|\b\w+\(\s*{path}\s*\))"
    for path in (
        r"__FILE__",
        r"(?:\$argv\[0\]|\$_SERVER\[\s*['\"](?:SCRIPT_FILENAME|SCRIPT_NAME|PHP_SELF)['\"]\s*\])",
    )
)
_NO_CALLER = r"!\s*(?:\w+\(\s*debug_backtrace\(\s*\)\s*\)|debug_backtrace\(\s*\))"

LANGUAGES = (
    Language(
        name="php",
        title="PHP",
        image="php",
        aliases=frozenset({"php7", "php8"}),
        packages={"php": "php-cli php-mbstring"},
        extras={"php-mbstring": ("php", "-r", "mb_strlen('');")},
        folders=("/etc/php", "/usr/share/php", "/var/lib/php/modules"),
        source="solution.php",
        prepare=prepare,
        compile=("php", "-d", "display_errors=stderr", "-l", "{source}"),
        only_checks=True,
        run=(
            *("php", "-d", "memory_limit={memory_mib}M", "-d", "display_errors=stderr"),
            *("-d", "log_errors=0", "-d", "zend.assertions=1", "{source}"),
        ),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=_EXERCISES,
        compile_words=_WORDS,
        is_run=(
            re.compile(
                rf"{_OWN_PATH}\s*===?\s*{_RUN_PATH}|{_RUN_PATH}\s*===?\s*{_OWN_PATH}|{_NO_CALLER}"
            ),
            "false",
        ),
        reads_input=re.compile(r"\bSTDIN\b|php://stdin|\breadline\s*\("),
        runtime_words=_WORDS,
        out_of_memory=("Allowed memory size of",),
    ),
)
