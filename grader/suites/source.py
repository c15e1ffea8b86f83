"""Reads test sources without running them: their kind, cases, imports and names."""

import ast
import builtins
import symtable
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from grader.model.errors import SuiteError
from grader.source import syntax
from grader.source.names import Definition, Function, first_line, missing_names
from grader.suites.images import SCIENCE_MODULES

_KNOWN_MODULES = sys.stdlib_module_names | SCIENCE_MODULES | {"pytest", "hypothesis"}
_EXITING = frozenset({"unittest.main", "pytest.main", "sys.exit", "exit", "quit"})


class SourceKind(StrEnum):
    """The kind of a test source."""

    CHECK = "check"
    """Defines `check(candidate)`."""
    PYTEST = "pytest"
    """Has test functions or test classes that pytest must collect."""
    SCRIPT = "script"
    """Has statements that assert as they run."""
    NONE = "none"
    """Asserts nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The names at the top of a module."""

    defined: frozenset[str]
    used: frozenset[str]


@lru_cache(maxsize=2)
def parse(source: str, what: str = "the tests") -> ast.Module:
    """Parse Python source; `what` names it in errors. The tree is shared: do not change it.

    A row is recognised, classified and read one after another, each of which parses the same
    source. That takes most of the time, so the last trees are kept. Trees are large, so few are.

    Raises:
        SuiteError: It does not parse.
    """
    with _reading(what):
        return syntax.parse(source)


def outline(source: str, what: str = "the tests") -> Outline:
    """Return the names at the top of a module, in half the time of `parse`.

    Raises:
        SuiteError: It does not parse.
    """
    with _reading(what), syntax.quiet():
        symbols = symtable.symtable(source, "<tests>", "exec").get_symbols()
    return Outline(
        defined=frozenset(symbol.get_name() for symbol in symbols if symbol.is_assigned()),
        used=frozenset(symbol.get_name() for symbol in symbols if symbol.is_referenced()),
    )


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except SyntaxError as error:
        message = f"cannot parse {what} as Python: {error.msg} (line {error.lineno})"
        raise SuiteError(message) from error
    except syntax.UNPARSABLE as error:
        message = f"cannot parse {what} as Python: {type(error).__name__} {error}"
        raise SuiteError(message) from error


def kind_of(tree: ast.Module) -> SourceKind:
    """Return the kind of a test source.

    A module with test functions that imports the submission is for pytest, whatever else it has.
    Otherwise `check` counts first, then statements that assert as they run, then test functions.
    """
    has_tests = any(_is_test(node) for node in tree.body)
    if has_tests and foreign_modules(tree):
        return SourceKind.PYTEST
    if defines(tree, "check"):
        return SourceKind.CHECK
    if any(_is_script_case(node) for node in tree.body):
        return SourceKind.SCRIPT
    if has_tests and not _calls_own_tests(tree):
        return SourceKind.PYTEST
    if _has_assert(tree) and any(isinstance(node, ast.Expr) for node in tree.body):
        return SourceKind.SCRIPT
    return SourceKind.NONE


def defines(tree: ast.Module, name: str) -> bool:
    """Return whether a top-level function or class of that name is defined."""
    return any(isinstance(node, Definition) and node.name == name for node in tree.body)


def has_tests(source: str) -> bool:
    """Return whether pytest would find a test in this module."""
    return any(_is_test(node) for node in parse(source).body)


def calls_at_top(tree: ast.Module, name: str) -> bool:
    """Return whether a top-level statement calls `name`, other than under a `__main__` guard."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for statement in tree.body
        if not isinstance(statement, Definition) and not _is_main_guard(statement)
        for node in ast.walk(statement)
    )


def argument_of_check(tree: ast.Module) -> str | None:
    """Return the first argument with which the last statement calls `check`, as source, or None."""
    for node in ast.walk(ast.Module(body=tree.body[-1:], type_ignores=[])):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            return ast.unparse(node.args[0]) if node.func.id == "check" else None
    return None


def split_cases(source: str) -> tuple[str, ...]:
    """Split a script into cases: each ends with a top-level statement that asserts something.

    The statements before it, such as imports and assignments, belong to the same case; what they
    define is also there for later cases. Statements after the last assertion join the last case. A
    script that asserts only in functions that it calls is one case.

    Raises:
        SuiteError: It does not parse or asserts nothing.
    """
    tree = parse(source)
    groups: list[list[ast.stmt]] = [[]]
    for node in tree.body:
        groups[-1].append(node)
        if _is_script_case(node):
            groups.append([])
    rest = groups.pop()
    if not groups:
        if kind_of(tree) is not SourceKind.SCRIPT:
            message = "the tests assert nothing: no assert statement runs"
            raise SuiteError(message)
        return (source,)
    groups[-1].extend(rest)
    return tuple(_segments(source, groups))


def without_solution_imports(source: str, module: str) -> str:
    """Return a script without `from MODULE import ...`: it runs in the submission's namespace.

    A name that is imported under another name is assigned to that instead.
    """
    found = [
        node
        for node in parse(source).body
        if isinstance(node, ast.ImportFrom) and node.module == module
    ]
    lines = _blanked(source, found)
    for node in found:
        renamed = [alias for alias in node.names if alias.asname]
        lines[node.lineno - 1] = "; ".join(f"{a.asname} = {a.name}" for a in renamed) + "\n"
    return "".join(lines) if found else source


def without_own_run(source: str) -> str:
    """Return tests without the statements that run them and exit, such as `unittest.main()`.

    Under a `__main__` guard they do nothing here, so only those without one are left out.
    """
    found = [node for node in parse(source).body if _runs_and_exits(node)]
    return "".join(_blanked(source, found)) if found else source


def _runs_and_exits(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    calls = [ast.unparse(each.func) for each in ast.walk(node) if isinstance(each, ast.Call)]
    return bool(calls) and _EXITING.issuperset(calls)


def _blanked(source: str, statements: Sequence[ast.stmt]) -> list[str]:
    """Return the lines of a source with those of some statements empty."""
    lines = _lines(source)
    for node in statements:
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            lines[number - 1] = "\n"
    return lines


def _segments(source: str, groups: list[list[ast.stmt]]) -> Iterator[str]:
    lines = _lines(source)
    starts = [first_line(group[0]) for group in groups]
    ends = [group[-1].end_lineno or 0 for group in groups]
    for index, group in enumerate(groups):
        before = ends[index - 1] if index else 0
        after = starts[index + 1] if index + 1 < len(groups) else len(lines) + 1
        if before < starts[index] and ends[index] < after:
            yield "".join(lines[starts[index] - 1 : ends[index]]).rstrip("\n")
        else:  # several groups on one line, separated by semicolons
            yield "\n".join(ast.unparse(node) for node in group)


def _lines(source: str) -> list[str]:
    """Return the lines as Python counts them, which differ from those of `str.splitlines`."""
    return [line + "\n" for line in source.replace("\r", "\n").split("\n")]


def called_name(sources: Iterable[str], defined_in: str = "") -> str | None:
    """Return the function that assertions test, or None if that is not clear.

    It is the name called most often, without builtins and what the tests define. If the source of
    a solution is given as `defined_in`, only names that it defines count.
    """
    wanted = _top_names(parse(defined_in, "the solution")) if defined_in else None
    calls: Counter[str] = Counter()
    own: set[str] = set(dir(builtins))
    for source in sources:
        tree = parse(source)
        own |= _top_names(tree)
        calls.update(
            {
                node.func.id
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
        )
    for name, _count in calls.most_common():
        if name in wanted if wanted is not None else name not in own:
            return name
    return None


def imported_names(tree: ast.Module, module: str) -> tuple[str, ...]:
    """Return the names that the source imports from `module`."""
    return tuple(
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == module
        for alias in node.names
        if alias.name != "*"
    )


def foreign_modules(tree: ast.Module) -> tuple[str, ...]:
    """Return the modules imported at the top that no image has: likely the submission's."""
    found: dict[str, None] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found[node.module] = None
        elif isinstance(node, ast.Import):
            found.update({alias.name: None for alias in node.names})
    return tuple(name for name in found if name.partition(".")[0] not in _KNOWN_MODULES)


def solution_module(tree: ast.Module, defined: Iterable[str] = ()) -> str | None:
    """Return the module that tests import the submission from; None if they do not import it.

    A library that no image has looks the same as the submission. The submission is the module from
    which one of `defined`, or everything, is imported. If there is no such module and the tests use
    names that they do not bind, they do not import the submission. Else it is the only module, or
    the only one from which names are imported.

    Args:
        tree: The tests.
        defined: Names that the submission is known to define.

    Raises:
        SuiteError: Several modules could be the submission.
    """
    modules = foreign_modules(tree)
    if "solution" in modules or not modules:
        return "solution" if modules else None
    imported = {module: set(imported_names(tree, module)) for module in modules}
    found = [module for module in modules if imported[module] & set(defined)]
    found = found or [module for module in modules if _imports_all(tree, module)]
    if not found and missing_names(tree):
        return None
    found = found or [module for module in modules if imported[module]] or list(modules)
    if len(found) > 1:
        message = (
            "the tests must import the submission from one module; unknown modules that they"
            f" import: {', '.join(found)}"
        )
        raise SuiteError(message)
    return found[0]


def _imports_all(tree: ast.Module, module: str) -> bool:
    return any(
        isinstance(node, ast.ImportFrom) and node.module == module and node.names[0].name == "*"
        for node in tree.body
    )


def top_names(code: str) -> set[str]:
    """Return the names that a solution defines at its top; none if it does not parse."""
    try:
        return _top_names(parse(code, "the solution"))
    except SuiteError:
        return set()


def with_star_import(source: str, helpers: str = "") -> str:
    """Return test source that first imports every public name of the submission.

    What the source `helpers` defines replaces names of the submission.
    """
    line = "from solution import *\n" + (f"\n{helpers}\n\n" if helpers else "")
    if "__future__" not in source:
        return line + source
    last = max(
        (
            node.end_lineno or 0
            for node in parse(source).body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        ),
        default=0,
    )
    lines = _lines(source)
    return "".join([*lines[:last], line, *lines[last:]])


def is_continuation(code: str) -> bool:
    """Return whether `code` continues a definition, rather than standing alone."""
    first = next((line for line in code.splitlines() if line.strip()), "")
    return first[:1].isspace()


def _top_names(tree: ast.Module) -> set[str]:
    names = {node.name for node in tree.body if isinstance(node, Definition)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _is_script_case(node: ast.stmt) -> bool:
    return not isinstance(node, Definition) and not _is_main_guard(node) and _has_assert(node)


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        return node.name.startswith("Test") or any("TestCase" in base for base in bases)
    return isinstance(node, Function) and node.name.startswith("test")


def _calls_own_tests(tree: ast.Module) -> bool:
    return any(
        calls_at_top(tree, node.name)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and _is_test(node)
    )


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _has_assert(node: ast.AST) -> bool:
    """Tell whether it has an assert statement, or calls a function such as `assert_equal`.

    Methods of unittest do not count: outside of test classes, no twin changes what they expect.
    """
    return any(
        isinstance(inner, ast.Assert)
        or (isinstance(inner, ast.Call) and _called(inner).startswith("assert_"))
        for inner in ast.walk(node)
    )


def _called(call: ast.Call) -> str:
    """Return the last name of what is called, such as `main` of `unittest.main()`."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
