"""Reads hostile source text without running it, and in bounded time and memory.

The parser is the only part of Python that gets a submission's code in the trusted process. So
`grader.source.syntax` refuses text that is known to crash it, and bounds what it reads.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import chain, islice

from grader.source.names import (
    Definition,
    bound_names,
    missing_names,
    name_bound_by,
    names_read,
)
from grader.source.syntax import MAX_PARSE_CHARS, may_be_parsed, parse

PARSE_BUDGET_CHARS = 2 * MAX_PARSE_CHARS
"""For all texts together that one extraction tries."""
_CODE_LINE = re.compile(
    r"[ \t]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[(:]|import[ \t]+\w"
    r"|from[ \t]+[\w.]+[ \t]+import\b|(?:if|elif|while|for|with)\b.*:[ \t]*(?:#.*)?$"
    r"|(?:else|try|finally)[ \t]*:|except\b.*:|return\b|raise[ \t]+\w+\(|pass$|print[ \t]*\("
    r"|[\w.\[\], ]+(?:[-+*/%|&^]|//|\*\*|<<|>>)?=[^=]|[\w.]+\(.*\)[ \t]*(?:#.*)?$)"
)


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
        return frozenset(_dotted_names(self.tree.body) if self.tree else ())

    @cached_property
    def substantial(self) -> bool:
        """Whether any statement is more than a bare name or constant."""
        if self.tree is None:
            return self._seems_code
        return any(not is_idle(node) for node in self.tree.body)

    @cached_property
    def is_program(self) -> bool:
        """Whether it could be a whole answer.

        Then it binds all names that it uses, and prints something or defines a function or class. A
        fragment in an explanation, such as `print(sum(...))`, or an example call of another block's
        function, does not.
        """
        if self.tree is None:
            return self._seems_code
        return not self.missing and _yields(self.tree) and not _has_gap(self.tree)

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
        return self.tree is not None and any(map(_acts, self.tree.body))

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
        return any(_builds(node, name, member) for node in module_level(self.tree.body))

    @cached_property
    def is_outline(self) -> bool:
        """Whether all functions and classes that it defines are stubs, and there are some."""
        body = self.tree.body if self.tree else []
        definitions = [node for node in body if isinstance(node, Definition)]
        return bool(definitions) and all(map(_is_stub, definitions)) and not self.acts

    @cached_property
    def imported(self) -> frozenset[str]:
        """The names that it imports from modules outside of the standard library."""
        return frozenset(
            alias.name
            for node in (module_level(self.tree.body) if self.tree else ())
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
            if not reading.code[:cut].strip() or (_is_statement(line) and not drop_code):
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


# ---------------------------------------------------------------- names


_MAX_ATTEMPTS = 6
"""How often a source is cut before its first error and parsed again."""


def module_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run with their module: those in branches and loops too."""
    # Not recursive, since a long chain of elif is nested more deeply than calls may be.
    pending = [iter(body)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        if isinstance(node, Definition):
            continue
        inner = [getattr(node, field, ()) for field in ("body", "orelse", "finalbody")]
        handlers = (*getattr(node, "handlers", ()), *getattr(node, "cases", ()))
        inner += [handler.body for handler in handlers]
        pending.append(chain.from_iterable(inner))


def _dotted_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names bound by `body`, with the members of its classes.

    The member "*" stands for those that a base class may have.
    """
    names = own_names(body)
    for node in module_level(body):
        if isinstance(node, ast.ClassDef):
            members = own_names(node.body) | ({"*"} if node.bases else set())
            names.update(f"{node.name}.{member}" for member in members)
    return names


def _yields(tree: ast.Module) -> bool:
    """Tell whether it may print, or defines a function or class."""
    return any(isinstance(node, Definition) for node in ast.walk(tree)) or bool(
        names_read(tree) & {"print", "sys", "os"}
    )


def _has_gap(tree: ast.Module) -> bool:
    """Tell whether a call has `...` in place of its arguments."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(len(call.args) == 1 and _is_gap(call.args[0]) for call in calls)


def _is_gap(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _builds(node: ast.stmt, name: str, member: str) -> bool:
    if not isinstance(node, Definition):
        return not member and name in _assigned(node) and name not in _values_read(node)
    if node.name != name or not (member and isinstance(node, ast.ClassDef)):
        return node.name == name and not member and not _is_stub(node)
    own = [
        each
        for each in module_level(node.body)
        if member in _assigned(each) or (isinstance(each, Definition) and each.name == member)
    ]
    return not all(map(_is_stub, own)) if own else bool(node.bases)


def _assigned(node: ast.stmt) -> set[str]:
    """Return the names that a statement assigns, without those of statements inside it."""
    targets = (part for target in _targets(node) for part in ast.walk(target))
    return {part.id for part in targets if isinstance(part, ast.Name)}


def _values_read(node: ast.stmt) -> set[str]:
    return names_read(node) if isinstance(node, ast.Assign | ast.AnnAssign) else set()


def _is_stub(node: ast.stmt) -> bool:
    """Tell whether a definition does nothing, or is nothing but a placeholder itself."""
    if isinstance(node, ast.ClassDef):
        return not node.bases and all(map(_is_stub, node.body))
    if isinstance(node, Definition):
        return all(map(_is_stub, node.body))
    if isinstance(node, ast.Raise):
        return node.exc is not None and "NotImplementedError" in names_read(node.exc)
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def _acts(node: ast.stmt) -> bool:
    if isinstance(node, Definition | ast.Import | ast.ImportFrom) or is_idle(node):
        return False
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return any(isinstance(inner, ast.Call) for inner in ast.walk(node))
    return True


def own_names(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that running `body` binds in its own scope; "*" for a star import."""
    names: set[str] = set()
    for node in module_level(body):
        parts = node.names if isinstance(node, ast.Import | ast.ImportFrom) else [node]
        names.update(filter(None, map(name_bound_by, parts)))
        names |= _assigned(node)
    return names


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.For | ast.AsyncFor) or (
        isinstance(node, ast.AnnAssign) and node.value is not None
    ):
        yield node.target
    elif isinstance(node, ast.With | ast.AsyncWith):
        yield from (item.optional_vars for item in node.items if item.optional_vars)


def is_idle(node: ast.stmt) -> bool:
    """Tell whether a statement only mentions values, as do "8", "YES" and "yes, it"."""
    if isinstance(node, ast.AnnAssign):
        return node.value is None  # "Answer: yes" parses as an annotation
    if not isinstance(node, ast.Expr):
        return False
    if isinstance(node.value, ast.Name | ast.Constant):
        return True
    return not any(
        isinstance(part, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
        for part in ast.walk(node)
    )


# ---------------------------------------------------------------- text that does not parse


def mentions(code: str, entry_point: str) -> bool:
    """Tell whether a line of `code` starts a definition of the entry point's last name."""
    name = re.escape(entry_point.replace("()", "").rpartition(".")[2])
    matches = re.finditer(rf"(?:def|class)[ \t]+{name}\b", code)
    for match in islice(matches, _MAX_MENTIONS):
        before = code[max(0, match.start() - 100) : match.start()].rpartition("\n")[2]
        if before.strip() in {"", "async"}:
            return True
    return False


def code_starts(text: str) -> Iterator[int]:
    """Yield the places where code may start in prose: unindented lines, the likeliest first.

    First the start of the text, if that is a statement; then a line that can only be code (an
    import, a definition) with the statements directly above it; then that line alone; then the
    first line that has the form of a statement.
    """
    text = text[:_MAX_PROSE_CHARS]
    if _is_statement(text.lstrip().partition("\n")[0]):
        yield 0
    certain = _TOP_LEVEL.search(text)
    if certain:
        extended = cursor = certain.start()
        for _ in range(_MAX_LINES_ABOVE):
            above = text.rfind("\n", 0, max(cursor - 1, 0)) + 1
            line = text[above : max(cursor - 1, 0)]
            if above == cursor or (line.strip() and not _is_statement(line)):
                break
            cursor = above
            extended = cursor if line.strip() else extended
        yield extended
        if extended != certain.start():
            yield certain.start()
    statement = _STATEMENT.search(text)
    if statement:
        yield statement.start()


def definition_start(text: str) -> int:
    """Return the start of the first line that can only be code, or the text's end."""
    certain = _TOP_LEVEL.search(text[:_MAX_PROSE_CHARS])
    return certain.start() if certain else len(text)


def _is_statement(line: str) -> bool:
    return line.lstrip().startswith("#") or _CODE_LINE.match(line[:200]) is not None


_MAX_LINES_ABOVE = 100
_SAMPLE_CHARS = 20_000
"""How much text decides whether it looks like code."""
_MAX_MENTIONS = 1000
_MAX_PROSE_CHARS = 256 * 1024
"""How much text is searched for the start of code without a fence."""
_STATEMENT = re.compile(rf"^(?![ \t])(?:{_CODE_LINE.pattern})", re.MULTILINE)
_TOP_LEVEL = re.compile(
    r"^(?:@\w[\w.]*(?:\(.*)?$|(?:async[ \t]+)?def[ \t]+\w+[ \t]*\(|class[ \t]+\w+[ \t]*[(:]"
    r"|import[ \t]+[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+)*[ \t]*(?:#.*)?$"
    r"|from[ \t]+[\w.]+[ \t]+import[ \t])",
    re.MULTILINE,
)


def looks_like_code(text: str) -> bool:
    """Tell whether most lines at the start of `text` have the form of Python statements."""
    lines = [line for line in text[:_SAMPLE_CHARS].split("\n") if line.strip()]
    lines = [line for line in lines if not line.lstrip().startswith("#")]
    code = sum(1 for line in lines if _is_statement(line))
    return code > 0 and 2 * code >= len(lines)
