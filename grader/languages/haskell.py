"""Haskell, by GHC, with the libraries that come with it."""

import re
from collections.abc import Iterable
from typing import NamedTuple, NoReturn

from grader.languages.language import Assertions, ErrorWords, Language, ValueDriver
from grader.languages.reading_tests import end_of_brackets, masked, refuse
from grader.model import ExpressionCase, ExpressionTests

_TEXT = re.compile(r"""\"(?:\\.|[^"\\])*\"|(?<![\w'])'(?:\\[^\n']+|[^'\\\n])'""")
_HEADER = re.compile(r"(?>\s+|--[^\n]*|\{-(?:(?!-\}).)*-\})*", re.DOTALL)
_PRAGMA = re.compile(r"\{-#\s*(?:LANGUAGE|OPTIONS\w*)\b.*?#-\}", re.DOTALL | re.IGNORECASE)
"""What counts for the whole file, and only at its beginning."""
_MODULE = re.compile(r"^module\s+[\w.]+\s*(?:\([^)]*\)\s*)?where\b", re.MULTILINE)
_IMPORT = re.compile(r"^import\b", re.MULTILINE)
_OWN_MAIN = re.compile(r"^main\b", re.MULTILINE)
_OWN_IMPORTS = """
import qualified Data.List as ShownForTests ((++))
import qualified GHC.Base as ShownForTests (asTypeOf)
import qualified System.IO as ShownForTests (IO, putStrLn)
import qualified Text.Show as ShownForTests (show)
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions by `show`.

    If the answer has a `main` to try itself out, that is not run. If it imports nothing, it may use
    what the problem imports.
    """
    code = _OWN_MAIN.sub("mainOfTheAnswer", values.code)
    imports = re.findall(r"^import[^\n]*", values.head, re.MULTILINE)
    if _IMPORT.search(code):
        imports = [each for each in imports if "qualified" in each and each not in code]
    module = _MODULE.search(code)
    header = _HEADER.match(code)
    pragmas = [each.end() for each in _PRAGMA.finditer(code, 0, header.end() if header else 0)]
    at = module.end() if module else max(pragmas, default=0)
    before = code[: module.start()] + "module Main where" if module else code[:at]
    line = code.count("\n", 0, at) + 1
    start = "\n".join([before, _OWN_IMPORTS, *imports, f'{{-# LINE {line} "solution.hs" #-}}'])
    shown = values.statements(
        '  ShownForTests.putStrLn ("\\n{mark} {number} " ShownForTests.++ '
        "ShownForTests.show ({expression}))"
    )
    main = f"main :: ShownForTests.IO ()\nmain = do\n{shown}\n"
    return f"{start}\n{code[at:]}\n{main}"


_CALLED = re.compile(r"^check[ \t]+(?P<name>\w+)[ \t]*=[ \t]*do\b", re.MULTILINE)
_TYPED = re.compile(r"^check[ \t]*::[ \t]*\((?P<type>[^\n]+)\)[ \t]*->[ \t]*IO\b", re.MULTILINE)
_ROWS = re.compile(r"\btestCases\s*=\s*\[")
_APPLIED = re.compile(
    r"mapM_\s*\(\\(?P<pattern>[^\n]*?)\s*->\s*testCase\s+(?P<arguments>[^\n]*)\)\s*testCases"
)
_TEST = re.compile(r"^\s*testCase\s+(?P<parameters>[^=\n]*?)\s*=\s*do\s*$", re.MULTILINE)
_LET = re.compile(r"^\s*let\s+(?P<binding>[^\n]*=[^\n]*\S)[ \t]*$", re.MULTILINE)
_COMPARED = re.compile(r"\bif\s+(?P<left>[^\n]*?)\s*==\s*(?P<right>[^\n]*?)\s+then\b")
_WORD = re.compile(r"[A-Za-z_][\w']*")


def read_tests(source: str, function: str) -> ExpressionTests:
    """Read a list of rows that one test compares, as McEval writes tests.

    A row has arguments of the function and what is expected. The submission's program gets only the
    arguments.

    Raises:
        SuiteError: The tests have another form.
    """
    called, rows, applied = _CALLED.search(source), _ROWS.search(source), _APPLIED.search(source)
    test, compared = _TEST.search(source), _COMPARED.search(source)
    if not (called and rows and applied and test and compared):
        _refuse(source)
    name = re.compile(rf"\b{called['name']}\b")
    typed = _TYPED.search(source)
    # Numbers of an answer without a type are of the type that the tests want.
    call = function if typed is None else f"({function} :: {typed['type']})"
    bindings = [
        name.sub(lambda _: call, let["binding"])
        for let in _LET.finditer(source, test.end(), compared.start())
    ]
    bound = {word for each in bindings for word in _words(each.partition("=")[0])}
    actual, expected = compared["left"], compared["right"]
    if not bound & _words(actual):
        actual, expected = expected, actual
    wanted = _words(expected)
    if not _words(actual) <= bound | {"sort"} or any(wanted & _words(each) for each in bindings):
        _refuse(compared[0])
    parts = _Parts.of(applied, test, wanted)
    end = end_of_brackets(masked(source, _TEXT), rows.end())
    cases: list[ExpressionCase] = []
    for text in _items(source[rows.end() : end], ","):
        got = parts.applied(text, f"let {{ {'; '.join(bindings)} }} in {actual}", to_wanted=False)
        value = parts.applied(text, expected, to_wanted=True)
        like = f"({value}) `ShownForTests.asTypeOf` ({got})"
        cases.append(ExpressionCase(id=str(len(cases)), actual=got, expected=like))
    if not cases:
        _refuse(source)
    return ExpressionTests(cases=tuple(cases))


class _Parts(NamedTuple):
    """How a row becomes the parameters of a test, with a mark at what is expected."""

    of_row: list[tuple[str, bool]]
    arguments: list[tuple[str, bool]]
    parameters: list[tuple[str, bool]]

    @classmethod
    def of(cls, applied: re.Match[str], test: re.Match[str], wanted: set[str]) -> "_Parts":
        """Return the parts; `wanted` are the names of what is expected.

        Raises:
            SuiteError: Arguments and parameters differ in number.
        """
        arguments, parameters = _items(applied["arguments"], " "), _items(test["parameters"], " ")
        if len(arguments) != len(parameters):
            _refuse(test[0])
        are_wanted = [bool(wanted & _words(each)) for each in parameters]
        pairs = list(zip(arguments, are_wanted, strict=True))
        names = {word for each, is_wanted in pairs if is_wanted for word in _words(each)}
        row = _items(_inner(applied["pattern"]), ",")
        return cls(
            [(part, bool(names & _words(part))) for part in row],
            pairs,
            list(zip(parameters, are_wanted, strict=True)),
        )

    def applied(self, row: str, body: str, *, to_wanted: bool) -> str:
        """Return an expression that has only the parts which are expected, or only the others.

        Raises:
            SuiteError: The row has not as many parts as the others.
        """
        values = _items(_inner(row), ",")
        if len(values) != len(self.of_row):
            _refuse(row)
        kinds = [kind for _, kind in self.of_row]

        def chosen(parts: Iterable[tuple[str, bool]], between: str) -> str:
            return between.join(part for part, kind in parts if kind is to_wanted)

        inner = f"(\\{chosen(self.parameters, ' ')} -> {body}) {chosen(self.arguments, ' ')}"
        row = chosen(zip(values, kinds, strict=True), ", ")
        return f"(\\({chosen(self.of_row, ', ')}) -> {inner}) ({row})"


def undefined(begun: str, name: str) -> str:
    """Return a function of the type that its declaration says, without a value."""
    found = re.search(rf"^{name}\s*::[^\n]*(?:\n[ \t]+[^\n]*)*", begun, re.MULTILINE)
    return "" if found is None else f"{found[0]}\n{name} = undefined"


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_TEXT.sub("", text)))


def _inner(text: str) -> str:
    """Return what is inside the brackets of a tuple; a text without them as it is."""
    text = text.strip()
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _items(text: str, separator: str) -> list[str]:
    """Return the parts between separators outside of brackets and texts, on one line each."""
    parts, depth, start, mask = list[str](), 0, 0, masked(text, _TEXT)
    for index, char in enumerate(mask):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and char == separator:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [" ".join(part.split("\n")).strip() for part in parts if part.strip()]


def _refuse(text: str) -> NoReturn:
    refuse("the tests cannot be split into calls and expected values", text)


LANGUAGES = (
    Language(
        name="haskell",
        title="Haskell",
        image="haskell",
        aliases=frozenset({"hs", "ghc"}),
        packages={"ghc": "ghc"},
        folders=("/usr/include", "/var/lib/ghc"),
        source="solution.hs",
        compile=(
            "ghc",
            "-v0",
            "-w",
            "-O",
            "-fdiagnostics-color=never",
            "-o",
            "program",
            "{source}",
        ),
        run=("./program",),
        program=_OWN_MAIN,
        show=show,
        assertions=Assertions(comments=r"--[^\n]*|\{-.*?-\}", read=read_tests, stub=undefined),
        compile_words=ErrorWords(
            message=re.compile(r"solution\.hs:\d+:\d+: error:\s*(?P<message>.+)"),
            line=re.compile(r"solution\.hs:(?P<line>\d+):\d+: error"),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"^program: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r" at solution\.hs:(?P<line>\d+):"),
        ),
        out_of_memory=("heap exhausted", "out of memory"),
    ),
)
