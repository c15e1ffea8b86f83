"""Bash."""

import re
from typing import NoReturn

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
)
from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import SuiteError

_WORDS = ErrorWords(
    message=re.compile(r"solution\.sh: line \d+: (?P<message>.+)"),
    line=re.compile(r"solution\.sh: line (?P<line>\d+): "),
)


def show(values: ValueDriver) -> str:
    """Show the values of expressions, quoted as Bash itself quotes."""
    form = "printf '\\n%s %s %q\\n' {mark} {number} {expression}"
    return "\n".join([values.code, values.statements(form)])


def split_assertion(rest: str) -> tuple[str, str] | None:
    """Split `$(candidate ...) = "VALUE" ]]`; see `TranslatedTests.split`."""
    found = re.fullmatch(r'(\$\(candidate.*\)) = (".*") \]\]', rest)
    return None if found is None else (f'"{found[1]}"', found[2])


_TESTS = TranslatedTests(
    start="[[ ",
    call='"$(candidate',
    split=split_assertion,
    name=re.compile(r"^candidate\(\) \{\n\s*(\w+)", re.MULTILINE),
    setup='candidate() {{ {name} "$@"; }}',
)

_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\$'(?:\\.|[^'\\])*')"""
_ASSIGNED = re.compile(
    rf"^[ \t]*(?:local[ \t]+)?(?P<name>\w+)=(?P<value>\"?\$\([^\n]*\)\"?|{_QUOTED})[ \t]*$",
    re.MULTILINE,
)
_ASSERTED = re.compile(
    r"^[ \t]*(?:if[ \t]+)?\[\[?[ \t]+(?P<actual>[^\n]+?)[ \t]+(?P<operator>==?|-eq)[ \t]+"
    rf"(?P<expected>{_QUOTED}|[\w.:,+-]+|\"?\$\w+\"?)[ \t]+\]\]?[ \t]*(?:\|\||;)[^\n]*$",
    re.MULTILINE,
)
_IDLE = re.compile(
    r"[ \t]*(?:\w+[ \t]*\(\)[ \t]*\{|\}|local(?:[ \t]+\w+)+|test_\w+|rm[ \t].*"
    r"|echo[ \t]+\"[^\">]*\")?[ \t]*"
)
"""A line without which the assertions say the same."""
_NAMED = re.compile(r"\$\{?([A-Za-z_]\w*)")
_VARIABLE = re.compile(r'"?\$\{?(\w+)\}?"?')


def read_assertions(source: str, function: str) -> ExpressionTests:
    """Read `[[ $(function ...) == "VALUE" ]] || ...`, as McEval writes tests.

    Either side, and what is passed, may be a variable that was assigned before. Lines that write
    files run ahead of all calls.

    Raises:
        SuiteError: A comparison has another form.
    """
    call = re.compile(rf'"?\$\({re.escape(function)}\b[^\n]*\)"?')
    values: dict[str, str] = {}
    cases: list[ExpressionCase] = []
    setup: list[str] = []
    given: dict[str, str] = {}
    end = 0
    found = [*_ASSIGNED.finditer(source), *_ASSERTED.finditer(source)]
    for line in sorted(found, key=lambda each: each.start()):
        if line.start() < end:
            continue
        setup += _kept(source[end : line.start()])
        end = line.end()
        if line.re is _ASSIGNED:
            values[line["name"]] = line["value"]
            continue
        sides = [_value_of(line[name], values) for name in ("actual", "expected")]
        if call.fullmatch(sides[0]) is None or function in sides[1]:
            _refuse(line[0])
        for name in _NAMED.findall(sides[0]):
            if name not in values or given.setdefault(name, values[name]) != values[name]:
                _refuse(line[0])
        form = '"$(( {} ))"' if line["operator"] == "-eq" else '"{}"'
        actual, expected = (form.replace("{}", _unquoted(side)) for side in sides)
        if not sides[1].startswith(('"', "$(")) and line["operator"] != "-eq":
            expected = sides[1]
        cases.append(ExpressionCase(id=str(len(cases)), actual=actual, expected=expected))
    setup += _kept(source[end:])
    if not cases:
        _refuse(source)
    setup += [f"{name}={value}" for name, value in given.items()]
    return ExpressionTests(cases=tuple(cases), setup="\n".join(setup))


def _kept(lines: str) -> list[str]:
    """Return the lines that make files for the calls.

    Raises:
        SuiteError: There is a line that may do anything else.
    """
    kept = [line for line in lines.split("\n") if _IDLE.fullmatch(line) is None]
    for line in kept:
        if "[[" in line or re.search(r"[^>]>[ \t]*[\w.]+[ \t]*$", line) is None:
            _refuse(line)
    return kept


def _value_of(side: str, values: dict[str, str]) -> str:
    named = _VARIABLE.fullmatch(side)
    return side if named is None else values.get(named[1], side)


def _unquoted(side: str) -> str:
    return side[1:-1] if side.startswith('"') else side


def _refuse(text: str) -> NoReturn:
    shown = text.strip().split("\n")[0][:120]
    message = f"a test cannot be split into a call and an expected value: {shown!r}"
    raise SuiteError(message)


LANGUAGES = (
    Language(
        name="bash",
        title="Bash",
        image="bash",
        aliases=frozenset({"sh", "shell", "shellscript", "zsh"}),
        packages={"bash": "bash", "bc": "bc", "jq": "jq"},
        source="solution.sh",
        other_endings=(".bash",),
        compile=("bash", "-n", "{source}"),
        only_checks=True,
        run=("bash", "{source}"),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        assertions=Assertions(comments=r"(?m:^)[ \t]*#[^\n]*", read=read_assertions),
        compile_words=_WORDS,
        runtime_words=_WORDS,
    ),
)
