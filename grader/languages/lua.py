"""Lua."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    TranslatedTests,
    ValueDriver,
    driver_source,
)

_WORDS = ErrorWords(
    # The files of the submission; what stands behind `in` are the calls that led there.
    message=re.compile(r"[\w./-]+\.lua:\d+: (?!in )(?P<message>.+)"),
    line=re.compile(r"[\w./-]+\.lua:(?P<line>\d+): (?!in )"),
)

_SHOW = driver_source("show.lua")


_RETURNED = re.compile(r"^return\b[^\n]*\s*\Z", re.MULTILINE)
"""What ends a module. Nothing may follow it, and no test of a row needs it."""


def show(values: ValueDriver) -> str:
    """Show the values of expressions: tables by their keys in order, and 1.0 as 1."""
    form = 'print("\\n{mark} {number} " .. shownForTests({expression}))'
    return "\n".join([_RETURNED.sub("", values.code), _SHOW, values.statements(form)])


_REQUIRED = re.compile(
    r"^[ \t]*local[ \t]+(?P<name>\w+)[ \t]*=[ \t]*require[ \t]*\(?[ \t]*"
    r"""['"](?P<path>[^'"\n]*)['"]""",
    re.MULTILINE,
)
_TITLE = re.compile(
    r"""\b(?:describe|context|insulate|it)\s*\(\s*(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')"""
)
_EXERCISE_DRIVER = driver_source("tests.lua")
_STAND_IN = driver_source("stand_in.lua")


def tests_program(source: str, solution_path: str, _example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of busted's tests; see `Exercises.program`.

    Titles go, since they may tell what is expected.
    """
    module = solution_path.removesuffix(".lua").replace("/", ".")
    names = [each["name"] for each in _REQUIRED.finditer(source) if each["path"] == module]
    program = _TITLE.sub(lambda found: f"{found[0].partition('(')[0]}(''", source)
    return f"{_EXERCISE_DRIVER}\n{program}\nif has_failed_for_tests then os.exit(1) end\n", tuple(
        names
    )


_EQUAL = Matcher(expected_first=True)
_MATCHERS = {
    "same": _EQUAL,
    "equal": _EQUAL,
    "equals": _EQUAL,
    "true": Matcher(expected="true"),
    "false": Matcher(expected="false"),
    "nil": Matcher(expected="nil"),
    "truthy": Matcher(actual="not not ({actual})", expected="true"),
    "falsy": Matcher(actual="not not ({actual})", expected="false"),
}


def busted_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion of busted compares; see `Exercises.matcher`."""
    kind = re.sub(r"^(?:are|is|has)[._]", "", kind)
    if kind in ("error", "errors"):
        thrown = "thrownForTests({actual})" if argument else "thrownForTests({actual}) ~= nil"
        return Matcher(
            actual=thrown,
            expected="{expected}" if argument else "true",
            is_of_a_function=True,
        )
    return _MATCHERS.get(kind)


_EXERCISES = Exercises(
    start=re.compile(r"(?<![\w.])assert\.(?P<kind>[\w.]+)\s*\("),
    matcher=busted_matcher,
    comments=r"--\[\[.*?\]\]|--[^\n]*",
    texts=r"""(?s:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[\[.*?\]\])""",
    prefix=re.compile(r"(?!)"),
    judging=frozenset(),
    program=tests_program,
    stub=lambda _names: _STAND_IN,
)

_TESTS = TranslatedTests(
    start="lu.assertEquals(",
    close=")",
    setup="local candidate = {name}",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    comments=r"--\[\[.*?\]\]|--[^\n]*",
    has_braces=False,
    truth="not not ({})",
    stub=lambda _begun, name: f"function {name}() end",
)

LANGUAGES = (
    Language(
        name="lua",
        title="Lua",
        image="lua",
        aliases=frozenset({"lua5.3", "lua5.4"}),
        packages={"lua5.4": "lua5.4", "luac5.4": "lua5.4"},
        folders=("/usr/share/lua",),
        source="solution.lua",
        compile=("luac5.4", "-p", "{source}"),
        only_checks=True,
        run=("lua5.4", "{source}"),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=_EXERCISES,
        compile_words=_WORDS,
        is_run=(re.compile(r"\bnot\s+pcall\(\s*debug\.getlocal\b[^()]*\)"), "false"),
        reads_input=re.compile(r"\bio\.(?:read|lines|stdin)\b"),
        runtime_words=_WORDS,
        out_of_memory=("not enough memory",),
    ),
)
