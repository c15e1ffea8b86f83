"""Reads hostile source text without running it, and in bounded time and memory.

The parser is the only part of Python that gets a submission's code in the trusted process. So
`grader.source.syntax` refuses text that is known to crash it, and bounds what it reads.
"""

import ast
import re
import sys
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from grader.extract import statements
from grader.extract.lines import is_statement, looks_like_code, mentions
from grader.source.names import (
    Definition,
    bound_names,
    missing_names,
)
from grader.source.syntax import MAX_PARSE_CHARS, may_be_parsed, parse

PARSE_BUDGET_CHARS = 2 * MAX_PARSE_CHARS
"""For all texts together that one extraction tries."""
_MAX_ATTEMPTS = 6
"""How often a source is cut before its first error and parsed again."""


_READS = re.compile(
    r"\b(?:raw_input|input|stdin)\b(?!\s*=)|\bopen\s*\(\s*0|\bfileinput\b|\bos\.read\b"
)
_PRINTS = re.compile(r"\bprint\b|\bstdout\b|\bos\.write\b")
_FENCE_OR_TAG = re.compile(r"\s*[`<]")
"""No code begins so, but most answers do. The parser takes as long for them as for code."""


class Syntax(Enum):
    """What the parser made of a text."""

    VALID = auto()
    BROKEN = auto()
    UNREAD = auto()
    """Too large, too deep or past the budget, so it was not parsed."""


@dataclass(frozen=True, kw_only=True)
class SourceReading:
    """A text with what the parser made of it.

    Without slots, since its properties are computed when they are first needed, and kept.
    """

    code: str
    syntax: Syntax
    tree: ast.Module | None = None
    """Only, and always, with `Syntax.VALID`."""
    error_line: int = 0
    """The line of the error, from 1; 0 if the parser named none, or the text is not broken."""

    @property
    def valid(self) -> bool:
        """Whether the text is known to be Python."""
        return self.tree is not None

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that running the text binds, and `Class.member` for those of its classes."""
        return frozenset(statements.dotted_names(self.tree.body) if self.tree else ())

    @cached_property
    def substantial(self) -> bool:
        """Whether any statement is more than a bare name or constant."""
        if self.tree is None:
            return self._seems_code
        return any(not statements.is_idle(node) for node in self.tree.body)

    @cached_property
    def is_program(self) -> bool:
        """Whether it could be a whole answer.

        Then it binds all names that it uses, and prints something or defines a function or class. A
        fragment in an explanation, such as `print(sum(...))`, or an example call of another block's
        function, does not.
        """
        if self.tree is None:
            return self._seems_code
        return (
            not self.missing and statements.yields(self.tree) and not statements.has_gap(self.tree)
        )

    @cached_property
    def missing(self) -> frozenset[str]:
        """The names that it uses and does not bind anywhere, without builtins."""
        if self.tree is None:
            return frozenset()
        bound = set(bound_names([self.tree]))
        return frozenset() if "*" in bound else frozenset(missing_names(self.tree, bound))

    @cached_property
    def acts(self) -> bool:
        """Whether running it does more than define things."""
        return self.tree is not None and any(map(statements.acts, self.tree.body))

    @cached_property
    def answers_input(self) -> bool:
        """Whether it seems to read standard input, and to print."""
        return bool(_READS.search(self.code) and _PRINTS.search(self.code))

    def defines(self, entry_point: str) -> bool:
        """Tell whether running the text binds `entry_point`, a name or `Class.method`."""
        if self.syntax is Syntax.UNREAD:
            return mentions(self.code, entry_point)
        name = entry_point.replace("()", "")
        return name in self.bound or f"{name.partition('.')[0]}.*" in self.bound

    def builds(self, entry_point: str) -> bool:
        """Tell whether it defines `entry_point` by code of its own.

        An import, a stub such as `def f(): ...` and `f = cache(f)` need another definition.
        """
        if self.tree is None:
            return self.defines(entry_point)
        name, _, member = entry_point.replace("()", "").partition(".")
        nodes = statements.module_level(self.tree.body)
        return any(statements.builds(node, name, member) for node in nodes)

    @cached_property
    def is_outline(self) -> bool:
        """Whether all functions and classes that it defines are stubs, and there are some."""
        body = self.tree.body if self.tree else []
        definitions = [node for node in body if isinstance(node, Definition)]
        return bool(definitions) and all(map(statements.is_stub, definitions)) and not self.acts

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that it imports from modules outside of the standard library."""
        return frozenset(
            alias.name
            for node in (statements.module_level(self.tree.body) if self.tree else ())
            if isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] not in sys.stdlib_module_names
            for alias in node.names
        )

    @cached_property
    def _seems_code(self) -> bool:
        """Whether a text that was not parsed looks like code."""
        return self.syntax is Syntax.UNREAD and looks_like_code(self.code)


class SourceReader:
    """Parses texts within one budget: one reader per extraction, not shared between threads."""

    def __init__(self) -> None:
        self._budget = PARSE_BUDGET_CHARS
        self._seen: dict[str, SourceReading] = {}

    def read(self, code: str) -> SourceReading:
        """Parse `code`, or return it as `Syntax.UNREAD`. Never raises."""
        if len(code) > MAX_PARSE_CHARS:
            return SourceReading(code=code, syntax=Syntax.UNREAD)
        known = self._seen.get(code)
        if known is None:
            if len(code) > self._budget or not may_be_parsed(code):
                return SourceReading(code=code, syntax=Syntax.UNREAD)
            known = self._seen[code] = _parse(code)
            self._budget -= _cost(known)
        return known

    def read_leading(self, code: str, *, drop_code: bool) -> SourceReading:
        """Parse the longest run of whole top-level statements at the start of `code`.

        Prose after them is dropped and, with `drop_code`, broken statements, too. If no attempt
        parses, the reading is that of the whole text.
        """
        whole = reading = self.read(code)
        for _ in range(_MAX_ATTEMPTS):
            if reading.syntax is not Syntax.BROKEN or not reading.error_line:
                break
            cut = _statement_start(reading.code, reading.error_line)
            line = reading.code[cut : cut + 200].partition("\n")[0]
            if not reading.code[:cut].strip() or (is_statement(line) and not drop_code):
                break
            reading = self.read(reading.code[:cut].rstrip() + "\n")
        return reading if reading.valid else whole


def _parse(code: str) -> SourceReading:
    if (opening := _FENCE_OR_TAG.match(code)) is not None:
        line = opening[0].count("\n") + 1
        return SourceReading(code=code, syntax=Syntax.BROKEN, error_line=line)
    try:
        tree = parse(code)
    except SyntaxError as error:
        return SourceReading(code=code, syntax=Syntax.BROKEN, error_line=error.lineno or 0)
    except (ValueError, OverflowError):
        return SourceReading(code=code, syntax=Syntax.BROKEN)
    except (RecursionError, MemoryError, SystemError):
        # The parser gave up on nesting; a compiler in the sandbox may do better.
        return SourceReading(code=code, syntax=Syntax.UNREAD)
    return SourceReading(code=code, syntax=Syntax.VALID, tree=tree)


def _cost(reading: SourceReading) -> int:
    """Return the characters of the budget that a parse took: those up to the error, or a share."""
    size = len(reading.code)
    if not reading.error_line:
        return size
    lines = reading.code.count("\n") + 1
    return max(size * min(reading.error_line, lines) // lines, size // 16)


def _statement_start(code: str, line: int) -> int:
    """Return the start of the top-level statement that contains `line`, counted from 1."""
    ends = [match.start() for match in re.finditer("\n", code)]
    starts = [0, *(end + 1 for end in ends)]
    for index in range(min(line, len(starts)) - 1, 0, -1):
        first = code[starts[index] : starts[index] + 1]
        if first and first not in " \t\n)]}#":
            return starts[index]
    return 0
