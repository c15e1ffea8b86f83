"""Finds the expectations of a test that are evaluated in every run that passes.

A statement is certainly reached if nothing before it can leave the test and nothing around it can
swallow its failure. The walk follows loops over literal tables row by row, and calls of the suite's
own helpers with their arguments.
"""

import ast
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from types import MappingProxyType

from grader.source.allowed import EXPECT_ERRORS
from grader.source.names import Function
from grader.twins.leaving import (
    breaks,
    fails,
    is_generator,
    leaves,
    leaves_finally,
    may_leave,
)
from grader.twins.names import Names, call_name
from grader.twins.scopes import HelperOf, Scope, is_assertion
from grader.twins.source import SuiteSource
from grader.twins.tables import bindings, row_bindings, stays, stored_names, table_rows
from grader.twins.values import Bound, Values

_MAX_DEPTH = 6
_MAX_STEPS = 20_000

_SAFE_CONTEXTS = frozenset(
    "assertLogs assertNoLogs assertWarns assertWarnsRegex at_level catch_warnings chdir "
    "closing context deprecated_call dict disabled localcontext multiple mock_open "
    "NamedTemporaryFile nullcontext object open patch Pool "
    "redirect_stderr redirect_stdout subTest TemporaryDirectory TemporaryFile ThreadPoolExecutor "
    "ProcessPoolExecutor Timer warns".split()
)
"""Context managers of the standard library and of pytest that let exceptions through."""

_USUAL_LIBRARIES = frozenset({*sys.stdlib_module_names, "pytest"})
_ASSERTING_CONTEXTS = frozenset(
    "assertLogs assertNoLogs assertWarns assertWarnsRegex deprecated_call warns".split()
)
"""Those of them that fail a test by themselves."""


@dataclass(frozen=True, slots=True)
class Reached:
    """A statement that asserts something, or may, with the expressions that names stand for."""

    node: ast.stmt | ast.expr | ast.excepthandler
    """An `assert`, a call, an `if` that fails, or an expected exception's context or handler."""
    source: SuiteSource
    scope: Scope
    env: Mapping[str, Bound]
    passed_over: bool = False
    """Whether it has assertions of which none can be changed, such as some that may not run."""
    goes_on: bool = False
    """Whether its case may go on though a change has failed, and fail later: the submission may
    catch the failure, which the harness notes."""


@dataclass(slots=True)
class Frame:
    """One call of a test or a helper, or one run of a script."""

    source: SuiteSource
    scope: Scope
    env: dict[str, Bound]
    depth: int = 0
    inner: dict[str, tuple[Function, list[Reached]]] = field(default_factory=dict)
    """Functions without parameters that were defined in it, and what was noted about them."""


class Walk:
    """The walk through one test."""

    def __init__(
        self,
        names: Names,
        helper_of: HelperOf,
        *,
        noted: bool,
        everywhere: bool = False,
        made_before: Mapping[str, ast.expr] = MappingProxyType({}),
    ) -> None:
        """Start with nothing found.

        Args:
            names: The meanings of names.
            helper_of: Finds the suite's own function that a call means; see `Scope`.
            noted: Whether a failed assertion fails its case even if the error is swallowed; see
                `grader.source.swallowing`.
            everywhere: Whether to walk also statements that may not run, or whose failure may be
                swallowed.
            made_before: What makes values that the test reads; see `made_before` in
                `grader.twins.fixtures`.
        """
        self._noted = noted
        self._made_before = made_before
        self._everywhere = everywhere
        self._names = names
        self._helper_of = helper_of
        self._steps = 0
        self.found: list[Reached] = []

    def block(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        """Walk statements; return whether the code after them is certainly reached."""
        for number, statement in enumerate(body, 1):
            if not self._statement(statement, frame) and not self._everywhere:
                self.note_missed(body[number:], frame)
                return False
        return True

    def _statement(self, node: ast.stmt, frame: Frame) -> bool:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return False
        match node:
            case ast.Assert():
                self._reach(node, frame)
                return True
            case ast.Expr(value=ast.Await(value=ast.Call() as call) | (ast.Call() as call)):
                return self._call(call, frame)
            case ast.Assign(targets=[target], value=value):
                self._bind(target, value, frame)
                return True
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value, frame)
                return True
            case ast.With() | ast.AsyncWith():
                return self._with(node, frame)
            case ast.For():
                return self._for(node, frame)
            case ast.Try():
                return self._try(node, frame)
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return False
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                before = len(self.found)
                self._pass_over(node, [node.body], frame)
                if isinstance(node, Function) and _is_plain(node) and not self._everywhere:
                    frame.inner[node.name] = node, self.found[before:]
                return True
            case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Global() | ast.Nonlocal():
                return True
            case ast.If(orelse=[]) if fails(node.body):
                self._reach(node, frame)
                return True
            case ast.If() if (branch := self._branch(node, frame)) is not None:
                return self.block(branch, frame)
            case ast.If() | ast.While() | ast.AsyncFor():
                self._pass_over(node, [node.body, node.orelse], frame)
                return not may_leave(node)
            case _:
                self.note_missed([node], frame)
                self._forget(node, frame)
                return not may_leave(node)

    def _pass_over(self, node: ast.AST, bodies: Sequence[list[ast.stmt]], frame: Frame) -> None:
        """Pass over statements that may not run, or whose failure may be swallowed."""
        for body in bodies:
            if self._everywhere:
                self.block(body, frame)
            else:
                self.note_missed(body, frame)
        self._forget(node, frame)

    def note_missed(self, nodes: Sequence[ast.stmt], frame: Frame) -> None:
        """Note that assertions in some statements cannot be changed, if there are any.

        Args:
            nodes: The statements.
            frame: The call in which they are.
        """
        found = next((node for node in nodes if any(map(self._asserts, ast.walk(node)))), None)
        if found is not None:
            self.found.append(Reached(found, frame.source, frame.scope, {}, passed_over=True))

    def _asserts(self, node: ast.AST) -> bool:
        match node:
            case ast.Assert():
                return True
            case ast.If(orelse=[], body=body):
                return fails(body)
            case ast.Call():
                return (
                    call_name(node) in _ASSERTING_CONTEXTS
                    or is_assertion(node, self._names)
                    or self._helper_of(node) is not None
                )
            case _:
                return False

    def _reach(self, node: ast.stmt | ast.expr | ast.excepthandler, frame: Frame) -> None:
        self.found.append(Reached(node, frame.source, frame.scope, dict(frame.env)))

    # ------------------------------------------------------------ names

    def _bind(self, target: ast.expr, value: ast.expr, frame: Frame) -> None:
        found = [*bindings(target, Bound(value, dict(frame.env), frame.source))]
        self._enter(found, frame)

    @staticmethod
    def _enter(found: list[tuple[str, Bound | None]], frame: Frame) -> None:
        for name, bound in found:
            if bound is None:
                frame.env.pop(name, None)
            else:
                frame.env[name] = replace(bound, scope=frame.scope)

    def _forget(self, node: ast.AST, frame: Frame) -> None:
        for inner in ast.walk(node):
            match inner:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    frame.env.pop(name, None)
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    frame.env.pop(name, None)
                case _:
                    pass

    # ------------------------------------------------------------ calls

    def _call(self, call: ast.Call, frame: Frame) -> bool:
        if self._names.library(call.func) == "asyncio.run" and len(call.args) == 1:
            match call.args[0]:
                case ast.Call() as coroutine:
                    return self._call(coroutine, frame)
                case _:
                    pass
        match call:
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if name in frame.inner:
                function, noted = frame.inner.pop(name)
                self.found = [each for each in self.found if not any(each is n for n in noted)]
                self.block(function.body, replace(frame, env=dict(frame.env)))
                return True
            case _:
                pass
        helper = self._helper(call, frame)
        if helper is None:
            self._reach(call, frame)
            return not leaves(call)
        function, scope, bound = helper
        # The caller continues, however the function returns.
        self.block(function.body, self._inner(scope, bound, frame))
        return True

    @staticmethod
    def _inner(scope: Scope, bound: Mapping[str, Bound], frame: Frame) -> Frame:
        env = {name: replace(each, scope=scope) for name, each in bound.items()}
        return Frame(source=scope.source, scope=scope, env=env, depth=frame.depth + 1)

    def _helper(
        self, call: ast.Call, frame: Frame
    ) -> tuple[Function, Scope, dict[str, Bound]] | None:
        """Return the suite's own function that a call means, its scope and its arguments."""
        found = self._helper_of(call) if frame.depth < _MAX_DEPTH else None
        if found is None:
            return None
        function, scope, skipped = found
        bound = _arguments(function, call, skipped, frame)
        return None if bound is None else (function, scope, bound)

    # ------------------------------------------------------------ compound statements

    def _branch(self, node: ast.If, frame: Frame) -> list[ast.stmt] | None:
        """Return the branch that runs, if the condition compares known values."""
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
                values = [Values(self._names, frame.env).of(side) for side in (left, right)]
                if not all(isinstance(value, str | int) for value in values):
                    return None
                is_equal = values[0] == values[1]
                return node.body if is_equal == isinstance(op, ast.Eq) else node.orelse
            case _:
                return None

    def _with(self, node: ast.With | ast.AsyncWith, frame: Frame) -> bool:
        for item in node.items:
            if call_name(item.context_expr) in _ASSERTING_CONTEXTS and not self._everywhere:
                self.note_missed([ast.Expr(item.context_expr)], frame)
            if item.optional_vars is not None:
                self._forget(item.optional_vars, frame)
            context, of_context = _meant(item.context_expr, frame)
            raising = self._raising(context, of_context)
            if raising is not None:
                self._reach(*raising)
            if raising is not None or not self._lets_through(context):
                text = ast.unparse(context)
                made = self._made_before.get(text, context) if frame.depth == 0 else context
                if self._noted and not self._everywhere and self._is_submissions(made):
                    # The context may swallow any other error, so that what follows is not run.
                    before = len(self.found)
                    given = {*stored_names(item.optional_vars)} if item.optional_vars else set()
                    given |= {text} if made is not context else set()
                    noted_first = takewhile(partial(self._is_noted, given=given), node.body)
                    self.block([*noted_first], frame)
                    noted = [replace(each, goes_on=True) for each in self.found[before:]]
                    self.found[before:] = noted
                self._pass_over(node, [node.body], frame)
                return not any(map(may_leave, node.body))
        return self.block(node.body, frame)

    def _raising(self, context: ast.expr, frame: Frame) -> tuple[ast.expr, Frame] | None:
        """Return the context that expects an exception; a helper of the suite may make it."""
        if call_name(context) in EXPECT_ERRORS:
            return context, frame
        helper = self._helper(context, frame) if isinstance(context, ast.Call) else None
        match helper:
            case (ast.FunctionDef(body=[*_, ast.Return(value=ast.Call() as made)]), scope, env):
                if call_name(made) in EXPECT_ERRORS:
                    return made, self._inner(scope, env, frame)
            case _:
                pass
        return None

    def _lets_through(self, context: ast.expr) -> bool:
        """Tell whether a context manager is known to swallow no exception."""
        if not isinstance(context, ast.Call) or call_name(context) not in _SAFE_CONTEXTS:
            return False
        root: ast.expr = context.func
        while isinstance(root, ast.Attribute):
            root = root.value
        match root:
            case ast.Name(id="self" | "caplog" | "monkeypatch" | "mocker" | "subtests"):
                return True
            case _:
                return (
                    self._names.builtin(context.func) is not None
                    or self._names.library(context.func) is not None
                )

    def _is_submissions(self, context: ast.expr) -> bool:
        """Tell whether the submission, and not the tests, certainly makes a context manager.

        The context managers of tests may catch what the submission raises on purpose.
        """
        match context:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name) as function):
                # A method of that name may be one of an object of the tests.
                is_own = self._names.is_own(ast.Name(id=name)) or self._is_of_suite(function)
                return not is_own and not self._is_usual(function)
            case ast.Name():
                return self._names.is_imported(context) and not self._is_of_suite(context)
            case _:
                return False

    def _is_noted(self, node: ast.stmt, given: Collection[str]) -> bool:
        """Tell whether a statement is an assertion whose failure is noted before it raises.

        If it asks nothing of the submission, it may raise another error on purpose.

        Args:
            node: The statement.
            given: How the test reads a context manager of the submission, or what it has given.
        """
        match node:
            case ast.Assert():
                pass
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name))):
                if not name.startswith("assert"):
                    return False
            case _:
                return False
        read = [each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute)]
        return any(
            ast.unparse(each) in given
            or (
                isinstance(each, ast.Name)
                and not (self._names.is_own(each) or self._names.builtin(each) is not None)
            )
            for each in read
        )

    def _is_of_suite(self, function: ast.expr) -> bool:
        """Tell whether a function is one of the suite's own modules."""
        library = self._names.library(function) or ""
        return any(library.startswith(f"{module}.") for module in self._names.own_modules)

    def _is_usual(self, function: ast.expr) -> bool:
        """Tell whether a function is one of Python, its standard library or pytest."""
        library = self._names.library(function) or ""
        return (
            self._names.builtin(function) is not None
            or library.partition(".")[0] in _USUAL_LIBRARIES
        )

    def _for(self, node: ast.For, frame: Frame) -> bool:
        rows = table_rows(Bound(node.iter, frame.env, frame.source))
        leaves = any(map(may_leave, [*node.body, *node.orelse]))
        broken = any(map(breaks, node.body))
        if not rows or leaves or broken or not all(map(stays, rows)):
            self._pass_over(node, [node.body, node.orelse], frame)
            return not leaves
        for row in rows:
            for name in stored_names(node.target):
                frame.env.pop(name, None)
            self._enter([*row_bindings(node.target, row)], frame)
            if not self.block(node.body, frame):
                break
        return self.block(node.orelse, frame)

    def _try(self, node: ast.Try, frame: Frame) -> bool:
        if any(map(leaves_finally, node.finalbody)):
            return False
        whole = [*node.body, *node.orelse, *node.finalbody, *node.handlers]
        if all(fails(handler.body) for handler in node.handlers):
            # Any exception inside fails the test, caught or not.
            goes_on = self.block([*node.body, *node.orelse], frame)
            return self.block(node.finalbody, frame) and goes_on
        if len(node.handlers) == 1 and (fails(node.body) or fails(node.orelse)):
            # The test passes only if the handler runs, unless that catches the failure itself.
            handler = node.handlers[0]
            for statement in node.body:
                self._forget(statement, frame)
            self._reach(handler, frame)
            goes_on = self.block(handler.body, frame)
            return self.block(node.finalbody, frame) and goes_on
        handled = [handler.body for handler in node.handlers]
        self._pass_over(node, [node.body, *handled, node.orelse, node.finalbody], frame)
        return not any(map(may_leave, whole))


def _meant(node: ast.expr, frame: Frame) -> tuple[ast.expr, Frame]:
    """Return the expression that a name stands for, or the expression itself, and its frame."""
    while isinstance(node, ast.Name) and (bound := frame.env.get(node.id)) is not None:
        node, frame = bound.node, replace(frame, source=bound.source, env=dict(bound.env))
    return node, frame


def _is_plain(function: Function) -> bool:
    """Tell whether a call of a function without arguments runs its body once."""
    spec = function.args
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    return not (any(parameters) or function.decorator_list or is_generator(function))


def _arguments(
    function: Function, call: ast.Call, skipped: int, frame: Frame
) -> dict[str, Bound] | None:
    """Return the arguments of a call by parameter; None if they are unknown."""
    spec = function.args
    if spec.vararg or spec.kwarg or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    positional = [arg.arg for arg in [*spec.posonlyargs, *spec.args]][skipped:]
    if len(call.args) > len(positional) or any(k.arg is None for k in call.keywords):
        return None
    given = [*zip(positional, call.args, strict=False)]
    given += [(str(k.arg), k.value) for k in call.keywords]
    env = dict(frame.env)
    return {name: Bound(value, env, frame.source) for name, value in given}
