"""Attacks: submissions that solve nothing. A suite that one of them passes teaches it to a model.

If the tests read what a program prints, an attack is a program. Else it defines every name of the
reference, or, if there is none, the names that the suite's code uses (`grader.offline.surface`).
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from types import MappingProxyType
from typing import assert_never

from grader.languages import PYTHON
from grader.model import (
    CallTests,
    ExpressionTests,
    InteractiveTests,
    PytestTests,
    ScriptTests,
    StdinTests,
    Tests,
    TestSuite,
)
from grader.offline.stubs import Recipe, stub_of
from grader.offline.surface import skeleton_of, sources_of
from grader.source.allowed import EXPECT_ERRORS
from grader.source.syntax import UNPARSABLE, parse

_MAX_ANSWER_CHARS = 10_000
"""Longer answers are not used in an attack."""


class Attack(StrEnum):
    """What an attack does instead of solving the problem."""

    NONE = "none"
    ODD = "odd"
    EMPTY_LIST = "empty-list"
    EMPTY_TEXT = "empty-text"
    ZERO = "zero"
    TRUE = "true"
    USUAL_ANSWER = "usual-answer"
    ARGUMENT = "argument"
    ARGUMENT_CLEARED = "argument-cleared"
    ARGUMENT_WRAPPED = "argument-wrapped"
    ALWAYS_EQUAL = "always-equal"
    ABSORBING = "absorbing"
    SWALLOWING = "swallowing"
    RAISING = "raising"
    EXITING = "exiting"
    EXITING_ON_LOAD = "exiting-on-load"
    EMPTY = "empty"

    @property
    def says(self) -> str:
        """What it does, as words that follow "a submission that"."""
        return _SAYS[self]


_SAYS: Mapping[Attack, str] = MappingProxyType(
    {
        Attack.NONE: "returns None, or prints nothing",
        Attack.ODD: "answers with something that equals nothing else",
        Attack.EMPTY_LIST: "returns an empty list",
        Attack.EMPTY_TEXT: "returns an empty text",
        Attack.ZERO: "answers 0",
        Attack.TRUE: "returns True",
        Attack.USUAL_ANSWER: "answers with the value that the tests expect most often",
        Attack.ARGUMENT: "answers with its input or argument",
        Attack.ARGUMENT_CLEARED: "empties its argument and returns it",
        Attack.ARGUMENT_WRAPPED: "returns its argument in a list",
        Attack.ALWAYS_EQUAL: "returns an object that equals everything",
        Attack.ABSORBING: "returns an object that accepts every call, attribute and operator",
        Attack.SWALLOWING: "returns an object whose `with` swallows every exception",
        Attack.RAISING: "raises the exception that the tests expect most often",
        Attack.EXITING: "exits with 0 when it is called",
        Attack.EXITING_ON_LOAD: "exits with 0 when it is loaded",
        Attack.EMPTY: "is empty",
    }
)

PLAIN = (Attack.NONE, Attack.ODD)
"""A case that passes with both of these asserts nothing: one that rightly expects None fails the
second, and one that only expects a true value fails the first."""

_ODD = """
class _GraderOdd:
    pass

_grader_odd = _GraderOdd()
"""

_CLEARED = """
def _grader_cleared(value):
    if hasattr(value, "clear"):
        value.clear()
    return value
"""

_EQUAL = """
class _GraderEqual:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

_grader_equal = _GraderEqual()
"""

_ANYTHING = """
class _GraderAnyMeta(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()

class _GraderAny(metaclass=_GraderAnyMeta):
    def __init__(self, *args, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **kwargs):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        return {swallows}
"""

_SWALLOWING = _ANYTHING.replace("{swallows}", "True") + "\n_grader_any = _GraderAny()\n"

_OPERATORS = """
    add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod
    pow rpow and rand or ror xor rxor lshift rshift neg pos abs invert round getitem
"""
_COMPARISONS = "eq lt le gt ge contains bool"

_ABSORBING = (
    _ANYTHING.replace("{swallows}", "False")
    + f"""
    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0

    def __setitem__(self, key, value):
        pass

    def __delitem__(self, key):
        pass

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0

    def __int__(self):
        return 0

    def __index__(self):
        return 0

    def __float__(self):
        return 0.0

    def __str__(self):
        return ""

    def __await__(self):
        return self
        yield

for _name in {_OPERATORS.split()!r}:
    setattr(_GraderAny, f"__{{_name}}__", lambda self, *others: self)
for _name in {_COMPARISONS.split()!r}:
    setattr(_GraderAny, f"__{{_name}}__", lambda self, *others: True)
_grader_any = _GraderAny()
"""
)

_RECIPES: Mapping[Attack, Recipe] = MappingProxyType(
    {
        Attack.NONE: Recipe(),
        Attack.ODD: Recipe(body="return _grader_odd", value="_grader_odd", helpers=_ODD),
        Attack.EMPTY_LIST: Recipe(body="return []", value="[]"),
        Attack.EMPTY_TEXT: Recipe(body='return ""', value='""'),
        Attack.ZERO: Recipe(body="return 0", value="0"),
        Attack.TRUE: Recipe(body="return True", value="True"),
        Attack.ARGUMENT: Recipe(body="return {argument}"),
        Attack.ARGUMENT_CLEARED: Recipe(
            body="return _grader_cleared({argument})", helpers=_CLEARED
        ),
        Attack.ARGUMENT_WRAPPED: Recipe(body="return [{argument}]"),
        Attack.ALWAYS_EQUAL: Recipe(
            body="return _grader_equal", value="_grader_equal", helpers=_EQUAL, base="_GraderEqual"
        ),
        Attack.ABSORBING: Recipe(
            body="return _grader_any",
            value="_grader_any",
            helpers=_ABSORBING,
            base="_GraderAny",
            is_hollow=True,
        ),
        Attack.SWALLOWING: Recipe(
            body="return _grader_any",
            value="_grader_any",
            helpers=_SWALLOWING,
            base="_GraderAny",
            is_hollow=True,
        ),
        Attack.EXITING: Recipe(body="raise SystemExit(0)"),
    }
)

_EXIT = "import os\nos._exit(0)\n"

_PROGRAMS: Mapping[Attack, str] = MappingProxyType(
    {
        Attack.NONE: "pass\n",
        Attack.ODD: "print('grader attack: 7f3a9c51')\n",
        Attack.ZERO: "print(0)\n",
        Attack.ARGUMENT: "import sys\nsys.stdout.write(sys.stdin.read())\n",
        Attack.RAISING: "raise ValueError\n",
        Attack.EXITING_ON_LOAD: _EXIT,
    }
)


def attacks_on(suite: TestSuite, *, only: tuple[Attack, ...] = tuple(Attack)) -> dict[Attack, str]:
    """Return the sources of the attacks that fit a suite, in the order of `only`.

    If several have the same source, only the first is returned. There are none if the tests call
    functions in another language than Python.
    """
    made = dict(_attacks(suite))
    first: dict[str, Attack] = {}
    for attack in only:
        if attack in made:
            first.setdefault(made[attack], attack)
    return {attack: source for source, attack in first.items()}


def _attacks(suite: TestSuite) -> Iterator[tuple[Attack, str]]:
    answer = _most_common(_answers(suite.tests))
    if isinstance(suite.tests, StdinTests | InteractiveTests):
        yield from _PROGRAMS.items()
        if answer is not None:
            yield Attack.USUAL_ANSWER, f"import sys\nsys.stdout.write({answer})\n"
        return
    if suite.language != PYTHON:
        return
    yield Attack.EXITING_ON_LOAD, _EXIT
    yield Attack.EMPTY, "pass\n"
    names = suite.reference or skeleton_of(suite)
    if not names:
        return
    recipes = dict(_RECIPES)
    raised = _most_common(_raised(suite.tests)) or "ValueError"
    recipes[Attack.RAISING] = Recipe(body=f"raise {raised}")
    if answer is not None:
        recipes[Attack.USUAL_ANSWER] = Recipe(body=f"return {answer}", value=answer)
    for attack, recipe in recipes.items():
        source = stub_of(names, recipe)
        if source is not None:
            yield attack, source


# ---------------------------------------------------------------- expectations


def _most_common(expressions: Iterable[str | None]) -> str | None:
    """Return the most frequent expression that is not too long; None if there is none."""
    known = Counter(each for each in expressions if each and len(each) <= _MAX_ANSWER_CHARS)
    return max(known, key=lambda each: known[each], default=None)


def _answers(tests: Tests) -> Iterator[str | None]:
    """Yield the expected values of cases as Python expressions; None if one has no literal."""
    match tests:
        case StdinTests(cases=cases) | InteractiveTests(cases=cases):
            yield from (repr(case.expected) for case in cases)
        case CallTests(cases=calls):
            yield from (_literal(call.expected) for call in calls)
        case ExpressionTests():
            return  # which are in no language that attacks are written in
        case ScriptTests() | PytestTests():
            for node in _nodes(tests):
                match node:
                    case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
                        yield from (_literal(left), _literal(right))
                    case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right, *_]):
                        yield from (_literal(left), _literal(right))
                    case _:
                        pass
        case _:
            assert_never(tests)


def _raised(tests: Tests) -> Iterator[str]:
    """Yield the names of the exceptions that the tests expect."""
    for node in _nodes(tests):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[wanted, *_]) if (
                name in EXPECT_ERRORS
            ):
                yield from _names(wanted)
            case ast.ExceptHandler(type=ast.expr() as wanted):
                yield from _names(wanted)
            case _:
                pass


def _names(wanted: ast.expr) -> Iterator[str]:
    if isinstance(wanted, ast.Name | ast.Attribute):
        yield wanted.id if isinstance(wanted, ast.Name) else wanted.attr


def _nodes(tests: Tests) -> Iterator[ast.AST]:
    """Yield the nodes of the tests' code, except of sources that do not parse."""
    for source in sources_of(tests):
        with suppress(*UNPARSABLE):
            yield from ast.walk(parse(source))


def _literal(value: object) -> str | None:
    """Return the literal of a value or node; None if it has none."""
    try:
        text = ast.unparse(value) if isinstance(value, ast.expr) else repr(value)
        ast.literal_eval(text)
    except (*UNPARSABLE, TypeError):
        return None
    return text
