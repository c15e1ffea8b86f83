"""MultiPL-E: HumanEval and MBPP in other languages, with tests that were translated.

Recognised by `name, language, prompt, tests, stop_tokens`. `tests` is source that is appended to
the submission; each of its lines that compares a call with a value becomes a case of expressions.
The call is evaluated in the submission's program and the value in another one, and both are
compared outside the sandbox.

Harness of record: one program of prompt, completion and tests; exit code 0 passes, whatever
brought it about. It cuts completions at the first of `stop_tokens`, so that an answer that
defines a helper function first is lost. Neither is repeated: a code block is taken whole, and what
it brings along to try itself out (`main`) is not run. Compared is what the tests compare: in
JavaScript `==` on plain data, in PHP `!==`, in Perl and Bash text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader import languages
from grader.model import ExpressionCase, ExpressionTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import fields
from grader.suites.format import Format, Row
from grader.suites.format import fields as field_sets

_QUOTES = "\"'"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dialect:
    """How the tests of a language are written."""

    start: str
    """Where the line of a case begins, and nothing else does."""
    call: str
    """What the expression begins with that calls the submission."""
    split: Callable[[str], tuple[str, str] | None]
    """Returns the two expressions of what follows `start` in a line."""
    setup: str = ""
    """Defines `candidate` as `{name}`."""


def _call_first(close: str) -> Callable[[str], tuple[str, str] | None]:
    """Return how a line is split that has the call, a separator, the value and then `close`."""

    def split(rest: str) -> tuple[str, str] | None:
        end = _end_of_call(rest)
        value = None if end is None else re.match(r"\s*(?:,|!==|==)\s*(.*)$", rest[end:])
        if end is None or value is None or not value[1].endswith(close):
            return None
        return rest[:end], value[1][: -len(close)]

    return split


def _value_first(rest: str) -> tuple[str, str] | None:
    """Split Ruby's `VALUE, candidate.call(...))`."""
    at = rest.rfind(", candidate.call(")
    return None if at == -1 or not rest.endswith(")") else (rest[at + 2 : -1], rest[:at])


def _java(rest: str) -> tuple[str, str] | None:
    """Split `CALL == (VALUE));` and `CALL.equals((VALUE)));`."""
    end = _end_of_call(rest)
    if end is None:
        return None
    for between, close in ((" == (", "));"), (".equals((", ")));")):
        if rest.startswith(between, end) and rest.endswith(close):
            return rest[:end], rest[end + len(between) : -len(close)]
    return None


def _bash(rest: str) -> tuple[str, str] | None:
    """Split `$(candidate ...) = "VALUE" ]]`."""
    found = re.fullmatch(r'(\$\(candidate.*\)) = (".*") \]\]', rest)
    return None if found is None else (f'"{found[1]}"', found[2])


def _end_of_call(text: str) -> int | None:
    """Return where the call ends that `text` begins with, by its brackets and quotes."""
    depth, quote, index = 0, "", 0
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif char in _QUOTES:
            quote = char
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth <= 0:
                return index + 1 if depth == 0 else None
        index += 1
    return None


_DIALECTS: Mapping[str, _Dialect] = {
    "cpp": _Dialect(
        start="assert(",
        call="candidate(",
        split=_call_first(");"),
        setup="auto candidate = {name};",
    ),
    "java": _Dialect(start="assert(", call="", split=_java),
    "javascript": _Dialect(
        start="assert.deepEqual(",
        call="candidate(",
        split=_call_first(");"),
        setup="const candidate = {name};",
    ),
    "rust": _Dialect(
        start="assert_eq!(",
        call="candidate(",
        split=_call_first(");"),
        setup="let candidate = {name};",
    ),
    "ruby": _Dialect(
        start="assert_equal(",
        call="candidate.call(",
        split=_value_first,
        setup="candidate = method(:{name})",
    ),
    "php": _Dialect(
        start="if (",
        call="candidate(",
        split=_call_first(') { throw new Exception("Test failed!"); }'),
        setup="function candidate(...$args) {{ return {name}(...$args); }}",
    ),
    "lua": _Dialect(
        start="lu.assertEquals(",
        call="candidate(",
        split=_call_first(")"),
        setup="local candidate = {name}",
    ),
    "perl": _Dialect(
        start="if(eq_deeply(",
        call="$candidate->(",
        split=_call_first(")) {"),
        setup="my $candidate = \\&{name};",
    ),
    "bash": _Dialect(
        start="[[ ",
        call='"$(candidate',
        split=_bash,
        setup='candidate() {{ {name} "$@"; }}',
    ),
}
"""By the language's own name."""

_NAMES = re.compile(
    r"(?:candidate = (?:method\(:|\\&)?|^\s*return |^candidate\(\) \{\n\s*)(\w+)", re.MULTILINE
)
_JAVA_NAME = re.compile(r"assert\((\w+)\(")
_IMPORTS = re.compile(r"^import [\w.* ]+;", re.MULTILINE)


def read(row: Row) -> TestSuite:
    """Turn a row into its suite.

    Raises:
        LabelError: Its language is not graded with such tests.
        SuiteError: A line of its tests is of another form than the others.
    """
    language = languages.named(row.get("language"))
    dialect = _DIALECTS.get(language)
    found = languages.find(language)
    if dialect is None or found is None:
        known = ", ".join(_DIALECTS)
        message = f"language not supported: {language!r}; such tests can be graded in {known}"
        raise LabelError(message)
    prompt, source = fields.text(row, "prompt"), fields.text(row, "tests")
    pattern = _NAMES if dialect.setup else _JAVA_NAME
    if (name := pattern.search(source)) is None:
        message = "the tests name no function that they call"
        raise SuiteError(message)
    return TestSuite(
        tests=ExpressionTests(
            cases=_cases(source, dialect), setup=dialect.setup.format(name=name[1])
        ),
        format="multipl_e",
        problem_id=fields.identifier(row, "name"),
        prompt=prompt,
        continues_prompt=True,
        entry_point=name[1],
        prelude="\n".join(_IMPORTS.findall(prompt)),
        limits=fields.time_limits(15.0),
        image=found.image,
        language=language,
    )


def _cases(source: str, dialect: _Dialect) -> tuple[ExpressionCase, ...]:
    cases: list[ExpressionCase] = []
    for line in source.split("\n"):
        rest = line.strip()
        if not rest.startswith(dialect.start):
            continue
        both = dialect.split(rest.removeprefix(dialect.start))
        if both is None or not both[0].startswith(dialect.call):
            message = f"a line of the tests cannot be read: {rest[:80]!r}"
            raise SuiteError(message)
        cases.append(ExpressionCase(id=str(len(cases)), actual=both[0], expected=both[1]))
    return tuple(cases)


MULTIPL_E = Format(
    name="multipl_e",
    summary="MultiPL-E: prompt and tests in another language than Python",
    fields=field_sets("name language prompt tests stop_tokens"),
    example={
        "name": "double",
        "language": "js",
        "prompt": "//Return twice n.\nfunction double(n){\n",
        "tests": "const assert = require('node:assert');\n\n\nfunction test() {\n"
        "  let candidate = double;\n  assert.deepEqual(candidate(2),4);\n}\n\ntest();",
        "stop_tokens": ["\nfunction "],
    },
    read=read,
    precedes=("source", "assert_list"),
)
