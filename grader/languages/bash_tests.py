"""Reads Bash's tests: comparisons of what a function prints, as in McEval, and files for bats."""

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from grader.languages.language import driver_source
from grader.languages.reading_tests import refuse, require_short
from grader.model import ExpressionCase, ExpressionTests

_QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\$'(?:\\.|[^'\\])*')"""
_ASSIGNED = re.compile(
    rf"^[ \t]*(?:local[ \t]+)?(?P<name>\w+)=(?P<value>\"?\$\([^\n]*\)\"?|{_QUOTED})[ \t]*$",
    re.MULTILINE,
)
_ASSERTED = re.compile(
    r"^[ \t]*(?:if[ \t]+)?\[\[?[ \t]+(?P<actual>[^\n]+?)[ \t]+(?P<operator>==?|-eq)[ \t]+"
    rf"(?P<expected>{_QUOTED}|[\w.:,+-]+|\"?\$\w+\"?)[ \t]+\]\]?[ \t]*"
    r"(?:\|\||;|&&[^\n]*\}[ \t]*\|\|)[^\n]*$",
    re.MULTILINE,
)
_IDLE = re.compile(
    r"[ \t]*(?:\w+[ \t]*\(\)[ \t]*\{|\}|local(?:[ \t]+\w+)+|test_\w+|rm[ \t].*"
    r"|echo[ \t]+\"[^\">]*\")?[ \t]*"
)
"""A line that the assertions do not depend on."""
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


_WORD = r"""(?>"(?:\\.|[^"\\`])*+"|\$'(?:\\.|[^'\\])*+'|'[^']*+'|\\.|[^\s"'`\\;&|<>()])++"""
"""A word. `_names` checks what its double quotes expand."""
_FUNCTION = re.compile(
    r"^(?P<name>\w+)[ \t]*\(\)[ \t]*\{\n(?P<body>.*?)^\}\n", re.MULTILINE | re.DOTALL
)
_BLOCK = re.compile(
    r"^@test[ \t]+[^\n]*\{[ \t]*\n(?P<body>.*?)^\}[ \t]*$", re.MULTILINE | re.DOTALL
)
_OUTSIDE = re.compile(r"\s*(?:(?:#|load[ \t])[^\n]*\s*)*")
_STATEMENT = re.compile(
    rf"""[ \t]*(?:
    \[\[[ ]\$BATS_RUN_SKIPPED[ ]==[ ]"?true"?[ ]\]\][ ]\|\|[ ]skip
    |(?:local[ \t]+)?(?P<name>\w+)\+?=(?P<value>
        "?\$\([ \t]*cat[ \t]*<<-?[ \t]*(?P<quote>['"]?)(?P<end>\w+)(?P=quote)\n
            (?P<here>.*?)^[ \t]*(?P=end)\n[ \t]*\)"?
        |"?\$\([ \t]*(?P<called>\w+)(?P<passed>(?:[ \t]+{_WORD})*)[ \t]*\)"?
        |\((?P<items>(?:\s|{_WORD})*)\)
        |(?P<word>{_WORD}|)
    )
    |run[ \t]+bash[ \t]+(?P<run>{_WORD}(?:(?:[ \t]|\\\n)+(?!\#){_WORD})*)
    |(?P<assertion>(?:assert|refute)\w*)(?P<arguments>(?:[ \t]+(?!\#){_WORD})*)
    |)[ \t]*(?:\#[^\n]*)?(?:\n|$)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_QUOTE = re.compile(r"""\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|"((?:\\.|[^"\\])*)\"""", re.DOTALL)
_EXPANDED = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*|[^A-Za-z_\s])")
_OF_A_RUN = frozenset({"output", "status", "lines"})
"""Variables that a run sets."""
_EXERCISE_DRIVER = driver_source("tests.sh")


class _Assignment(NamedTuple):
    name: str
    text: str
    names: frozenset[str]
    """The variables in its value."""


def read_bats(source: str, solution_path: str) -> ExpressionTests:
    """Read a file of tests for bats, which run the submission and look at what it prints.

    Of what a test assigns, the submission's program has only what its runs need.

    Raises:
        SuiteError: There is a statement or an assertion that is not known.
    """
    require_short(source)
    functions = {found["name"]: found[0] for found in _FUNCTION.finditer(source)}
    outside = _BLOCK.sub("", _FUNCTION.sub("", source))
    if (rest := outside[_end(_OUTSIDE, outside) :]) != "":
        _refuse(rest)
    around, cases = [_EXERCISE_DRIVER], list[ExpressionCase]()
    for block in _BLOCK.finditer(source):
        _read_test(block["body"], solution_path, functions, around, cases)
    if not cases:
        _refuse(source)
    return ExpressionTests(
        cases=tuple(cases), around=tuple(around), stub=":\n", solution_path=solution_path
    )


def _end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return 0 if found is None else found.end()


def _read_test(
    body: str,
    solution_path: str,
    functions: Mapping[str, str],
    around: list[str],
    cases: list[ExpressionCase],
) -> None:
    """Add the cases of one test, and what is around them."""
    statements, at = list[re.Match[str]](), 0
    while at < len(body):
        found = _STATEMENT.match(body, at)
        if found is None:
            _refuse(body[at:])
        statements.append(found)
        at = found.end()
    assigned: list[_Assignment] = []
    all_assigned = [_assignment(each, functions) for each in statements if each["name"]]
    needed = _needed({name for each in statements for name in _names(each["run"])}, all_assigned)
    around[-1] += "(\n"
    run = status = ""
    for each, after in zip(statements, [*statements[1:], None], strict=True):
        if each["name"]:
            assigned.append(all_assigned[len(assigned)])
            if each["name"] in needed:
                around[-1] += f"{assigned[-1].text}\n"
        elif each["run"]:
            run, status = each["run"], ""
            first = re.match(_WORD, run)
            if first is None or _unquoted(first[0]) != solution_path:
                _refuse(each[0])
            _require_known(_names(run), assigned, each[0])
            around[-1] += f"run bash {run}\n"
        elif each["assertion"]:
            if not run:
                _refuse(each[0])
            if (asserted := _assertion(each)) is None:
                _refuse(each[0])
            looks, expected, contains = asserted
            if looks in _STATUSES and after is not None and after["assertion"]:
                # Compared together with the next assertion: alone, a program that does nothing
                # would pass it.
                status = f"{looks} "
                continue
            actual = f"{looks} printf yes" if looks in _STATUSES else f"{status}{looks} {run}"
            cases.append(
                ExpressionCase(
                    id=str(len(cases)),
                    actual=f'"$({actual})"',
                    expected=_expected(expected, assigned, each[0]),
                    contains=contains,
                )
            )
            around.append("\n")
    around[-1] += ")\n"


_STATUSES = frozenset({"in_success", "in_failure"})
_COMPARED = {"${#lines[@]}": "count_of", "$output": "output_of", "$status": "status_of"}


def _assertion(found: re.Match[str]) -> tuple[str, str, bool] | None:
    """Return what an assertion looks at, the word that it expects, and whether that is a part.

    None if the assertion is not known.
    """
    match found["assertion"], re.findall(_WORD, found["arguments"]):
        case "assert_success", []:
            return "in_success", "yes", False
        case "assert_failure", []:
            return "in_failure", "yes", False
        case "assert_failure", [number]:
            return "status_of", number, False
        case "assert_output", []:
            return "any_output_of", "yes", False
        case "refute_output", []:
            return "any_output_of", "no", False
        case "assert_output", ["--partial" | "-p", part]:
            return "output_of", part, True
        case "assert_output", [text] if not text.startswith("-"):
            return "output_of", text, False
        case "assert_line", ["--index" | "-n", number, text] if number.isdecimal():
            return f"line_of {number}", text, False
        case "assert_line", [text] if not text.startswith("-"):
            return "lines_of", rf"$'\n'{text}$'\n'", True
        case "assert_equal", [one, other]:
            for side, value in ((one, other), (other, one)):
                if (looks := _COMPARED.get(_unquoted(side))) is not None:
                    return looks, value, False
        case _:
            pass
    return None


def _assignment(found: re.Match[str], functions: Mapping[str, str]) -> _Assignment:
    """Return a variable's value.

    Raises:
        SuiteError: It comes from a command that is not a function of the tests.
    """
    text = found[0].strip()
    name = found["name"]
    if found["here"] is not None:
        quoted = '"{}"'.format(found["here"].replace('"', ""))
        return _Assignment(name, text, frozenset() if found["quote"] else _names(quoted))
    if found["called"] is not None:
        function = functions.get(found["called"], "")
        if not function or _OF_A_RUN & set(re.findall(r"\w+", function)):
            _refuse(text)
        return _Assignment(name, f"{function}{text}", _names(found["passed"]))
    value = found["word"] if found["items"] is None else found["items"]
    return _Assignment(name, text, _names(value))


def _expected(word: str, assigned: list[_Assignment], shown: str) -> str:
    """Return an expected word as an expression, with what is assigned to its variables.

    Raises:
        SuiteError: It depends on what the submission prints, or on what is not known.
    """
    names = _names(word)
    _require_known(names, assigned, shown)
    needed = _needed(set(names), assigned)
    if needed & _OF_A_RUN:
        _refuse(shown)
    before = "".join(f"{each.text}\n" for each in assigned if each.name in needed)
    return f'"$({before}printf %s {word})"' if before else word


def _needed(names: set[str], assigned: list[_Assignment]) -> set[str]:
    """Return some variables, and those in their values."""
    needed = set(names)
    for each in reversed(assigned):
        if each.name in needed:
            needed |= each.names
    return needed


def _names(text: str | None) -> frozenset[str]:
    """Return the variables in some words.

    Raises:
        SuiteError: Something else is expanded, such as a command.
    """
    bare = _QUOTE.sub(lambda found: re.sub(r"\\.", "", found[1] or ""), text or "")
    names = frozenset(_EXPANDED.findall(bare))
    if not all(map(str.isidentifier, names)):
        _refuse(text or "")
    return names


def _require_known(names: frozenset[str], assigned: list[_Assignment], shown: str) -> None:
    if names - _OF_A_RUN - {each.name for each in assigned}:
        _refuse(shown)


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "\"'" and word[-1] == word[0] else word


def _refuse(text: str) -> NoReturn:
    refuse("a test cannot be split into a call and an expected value", text)
