"""Tell by reading a suite whether it can be judged apart from the submission.

If tests only call functions of the submission with plain data, and only look at the plain data that
they return, they observe the same when both run in processes of their own and values are copied.
Three things could distinguish a copy from the original: its identity, a change that the tests make
to it, and anything else that two parts of one process share (random numbers, files, warnings, the
environment). So a suite is compared with lists of what is allowed: kinds of syntax, builtins, and
names of modules. No attribute may start with an underscore. If a suite contains anything else, it
is run in one process with the submission.

What is allowed also leaves the process of the tests unchanged, so that it may judge the next suite
too (`sandbox_images.harness.runners.standing`). Some things show only while the tests run, such as
a result that is not plain data, or an argument that was changed in place.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

from grader.model import PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.sandbox.payload import Apart
from grader.source.allowed import (
    ASK_IDENTITY,
    BUILTINS,
    CHANGING,
    EXPECT_ERRORS,
    LEADING_ON,
    LOOPS,
    MODULES,
    NOT_OF_OBJECTS,
    OTHER_BUILTINS,
    SYNTAX,
    TAKE_FUNCTIONS,
    asks_type,
    is_builtin,
    is_same_wherever,
)
from grader.source.names import (
    bound_names,
    holds_constants,
    is_fixture,
    is_made_here,
    module_name,
    targets_of,
    top_level_names,
    walk,
)
from grader.source.suite_names import STARTS_TESTS, NotAllowedError, SuiteNames, deny
from grader.source.trees import module_tree, script_trees

_OF_FRAMES = re.compile(
    r"\b(?:_getframe|currentframe|f_back|extract_stack|walk_stack|format_stack|inspect\.stack)\b"
)
_OTHER_ENCODING = re.compile(rb"coding[:=][ \t]*(?!utf-?8)[^ \t]", re.IGNORECASE)

_Loop = frozenset[str] | None
"""The names that get another value each time that a piece of code runs; None for the top of a
module, which runs once. A function counts as a loop."""


@lru_cache(maxsize=4096)
def find_apart(tests: ScriptTests | PytestTests) -> Apart | None:
    """Return what a suite uses of the submission if it can be judged apart from it, else None."""
    try:
        if isinstance(tests, ScriptTests):
            return _Reading(script_trees(tests), solution=None).apart()
        paths = set(tests.test_paths)
        if tests.pytest_args or {file.path for file in tests.files} != paths:
            return None  # other files could be read, or set pytest up
        if not all(_is_utf8(file.content) for file in tests.files):
            return None
        trees = [module_tree(file.content.decode("utf-8", "replace")) for file in tests.files]
        solution = module_name(tests.solution_path)
        found = [tree for tree in trees if tree]
        return _Reading(found, solution=solution).apart() if len(found) == len(trees) else None
    except (SuiteError, NotAllowedError, RecursionError):
        return None  # source that does not parse is refused elsewhere


def may_ask_for_callers(code: str) -> bool:
    """Tell whether a submission may look at the frames above its own: the harness's, if apart."""
    return _OF_FRAMES.search(code) is not None


def _is_utf8(source: bytes) -> bool:
    """Tell whether a source is read as UTF-8: in another encoding, it could be other code."""
    return not any(map(_OTHER_ENCODING.search, source.splitlines()[:2]))


class _Reading:
    """Reads the sources of a suite, node by node; `NotAllowedError` ends the reading."""

    def __init__(self, trees: Iterable[ast.Module], *, solution: str | None) -> None:
        """Read the names only.

        Args:
            trees: Of the suite's sources.
            solution: As for `SuiteNames`.

        Raises:
            NotAllowedError: The suite cannot be judged apart from the submission.
        """
        self._trees = tuple(trees)
        self._solution = solution
        self._names = SuiteNames(self._trees, solution=solution)
        self._wanted = set(self._names.wanted)
        self._wanted_classes: set[str] = set()
        self._wanted_modules: set[str] = set()
        self._builtins: set[str] = set()
        self._loads: Counter[str] = Counter()
        self._arguments: set[str] = set()
        self._origins: dict[str, set[str]] = defaultdict(set)
        """From which names the value of a name may come."""
        self._type_calls: set[int] = set()
        self._changed: set[str] = set()
        self._fresh: dict[str, bool] = {}
        """Whether a name is only ever bound to objects that the tests made themselves."""

    def apart(self) -> Apart:
        """Return what the suite uses of the submission.

        Raises:
            NotAllowedError: It cannot be judged apart from it.
        """
        for tree in self._trees:
            self._visit(tree, None)
        self._follow_origins()
        if any(not self._fresh.get(name) or name in self._arguments for name in self._changed):
            deny("something is changed that may belong to the submission")
        nowhere: set[str] = set()
        if self._solution is None:
            nowhere = self._builtins | set(top_level_names(self._trees))
        elif self._names.has_star:
            nowhere = self._builtins | self._names.before_star()
        return Apart(
            names=tuple(sorted(self._wanted)),
            classes=tuple(sorted(self._wanted_classes)),
            modules=tuple(sorted(self._wanted_modules)),
            nowhere=tuple(sorted(nowhere)),
            watched=any(self._loads[name] > 1 for name in self._arguments),
        )

    def _follow_origins(self) -> None:
        """Treat everything that an argument may have been taken from as an argument too."""
        pending = list(self._arguments)
        while pending:
            new = self._origins[pending.pop()] - self._arguments
            self._arguments |= new
            pending += new

    # ------------------------------------------------------------ node by node

    def _visit(self, node: ast.AST, loop: _Loop) -> None:
        """Read a node and everything in it.

        Args:
            node: What to read.
            loop: The loop that contains it.
        """
        match node:
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id="__name__"),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value="__main__")],
                )
            ) if "__name__" not in self._names.bound:
                if self._solution is None:  # a script, and not an imported module
                    self._visit_all(node.body, loop)
                self._visit_all(node.orelse, loop)
                return
            case _ if holds_constants(node):
                return
            case ast.Import() | ast.ImportFrom():
                self._visit_names(alias.asname for alias in node.names)
                return
            case ast.Name():
                self._visit_name(node, loop)
                return
            case ast.Attribute():
                self._visit_attribute(node, loop)
                return
            case ast.Call():
                self._visit_call(node, loop)
                return
            case ast.Compare():
                self._visit_compare(node)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self._change(node.value)
            case ast.Delete(targets=targets):
                if not all(isinstance(target, ast.Name | ast.Subscript) for target in targets):
                    deny("an attribute is deleted")
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
                    self._come_from(target, value)
            case ast.AnnAssign(target=target, value=value):
                self._bind(target, value)
                self._come_from(target, value)
            case ast.AugAssign(target=ast.Name() as target):
                self._change(target)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                self._visit_names(names)
            case ast.NamedExpr(target=target, value=value):
                self._bind(target, value)
                self._come_from(target, value)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._come_from(target, value)
            case ast.For(target=target, iter=value):
                self._come_from(target, value)
            case ast.comprehension(is_async=1):
                deny("asynchronous code")
            case ast.comprehension(target=target, iter=value):
                self._come_from(target, value)
            case ast.ExceptHandler(name=str(name)):
                self._visit_names([name])
            case ast.FunctionDef():
                self._visit_function(node)
                return
            case ast.ClassDef():
                self._visit_class(node)
            case ast.arg(arg=name):
                self._visit_names([name])
                self._fresh[name] = False
            case ast.Subscript():
                pass
            case _ if not isinstance(node, SYNTAX):
                deny(type(node).__name__)
            case _:
                pass
        if isinstance(node, LOOPS):
            loop = frozenset(targets_of(node))
            self._fresh.update(dict.fromkeys(loop, False))
        self._visit_all(ast.iter_child_nodes(node), loop)

    def _visit_all(self, nodes: Iterable[ast.AST], loop: _Loop) -> None:
        for node in nodes:
            self._visit(node, loop)

    def _visit_names(self, names: Iterable[str | None]) -> None:
        for name in names:
            if name is not None and (
                is_builtin(name) or name.startswith("__") or name == "pytestmark"
            ):
                deny(f"{name!r} gets another meaning")

    def _visit_name(self, node: ast.Name, loop: _Loop) -> None:
        name = node.id
        if name in OTHER_BUILTINS or name.startswith("__"):
            deny(name)
        if not isinstance(node.ctx, ast.Load):
            self._visit_names([name])
            return
        if (
            name in self._names.modules
            or name in self._names.solution_names
            or self._names.is_callable(node)
        ):
            deny(f"{name!r} is handed on")
        if name == "type" and id(node) not in self._type_calls:
            deny("type outside of a comparison")
        if is_builtin(name):
            self._builtins.add(name)
        self._count(name, loop)

    def _count(self, name: str, loop: _Loop) -> None:
        self._loads[name] += 1 if loop is None or name in loop else 2

    def _visit_attribute(self, node: ast.Attribute, loop: _Loop) -> None:
        match node:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
                name != "self"
            ):
                deny("an attribute is set")
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._names.modules:
                module = self._names.modules[name]
                if (module, attr) == STARTS_TESTS or not self._names.is_listed(module, attr):
                    deny(f"{name}.{attr}")
                return
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                name in MODULES and self._names.is_free(name)
            ):
                # The submission has imported it.
                if not self._names.is_listed(name, attr):
                    deny(f"{name}.{attr}")
                self._wanted_modules.add(name)
                return
            case ast.Attribute(attr=attr) if attr.startswith(LEADING_ON) or attr in NOT_OF_OBJECTS:
                deny(f".{attr}")
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                if not isinstance(node.ctx, ast.Load):
                    self._fresh[f"self.{attr}"] = False
                self._count(f"self.{attr}", loop)
                self._count(f"self.{attr}", loop)  # by several tests
                return
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                deny("an attribute is set")
            case _:
                pass
        if self._names.is_callable(node):
            deny("a function of the submission is handed on")
        self._visit(node.value, loop)

    def _visit_call(self, node: ast.Call, loop: _Loop) -> None:
        arguments: list[ast.AST] = [*node.args, *node.keywords]
        passed: list[ast.expr] = []
        given: list[ast.AST] = []
        match node.func:
            case function if self._names.is_callable(function):
                self._want(function)
                given = arguments
            case ast.Name(id=name) if name in self._names.functions:
                passed = [argument for _, argument in self._names.passed(node)]
                self._loads[name] += 1
            case ast.Name(id=name) if name in TAKE_FUNCTIONS and name not in self._names.bound:
                passed = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "key")]
                self._builtins.add(name)
            case ast.Attribute(attr=attr) if attr in EXPECT_ERRORS:
                passed = node.args[1:2]
                given = [*node.args[2:], *node.keywords] if passed else []
                self._visit(node.func, loop)
            case ast.Attribute(attr=attr) if attr in ASK_IDENTITY:
                if not any(map(is_same_wherever, node.args[:2])):
                    deny("an identity is asked for")
                self._visit(node.func, loop)
            case ast.Attribute(attr=attr) if attr.startswith("assert"):
                self._allow_types(node.args)
                self._visit(node.func, loop)
            case ast.Attribute(value=base, attr="format") if not isinstance(base, ast.Constant):
                deny("a format that the submission may have made")
            case ast.Attribute(value=base, attr=attr) if attr in CHANGING:
                self._change(base)
                self._visit(node.func, loop)
            case _:
                self._visit(node.func, loop)
        for argument in given:
            self._arguments |= self._data_names(argument)
        handed = [argument for argument in passed if self._names.is_callable(argument)]
        for argument in handed:
            self._want(argument)
        for part in arguments:
            inner = part.value if isinstance(part, ast.keyword) else part
            if not any(inner is argument for argument in handed):
                self._visit(part, loop)

    def _want(self, function: ast.expr) -> None:
        """Note which function of the submission is used."""
        match function:
            case ast.Attribute(value=ast.Call(func=made)):
                self._wanted_classes |= self._names.own_names(made)
            case _:
                names = self._names.own_names(function)
                if any(name[:1].isupper() for name in names):
                    deny("a class, whose instances are not plain data")
                self._wanted |= names

    def _data_names(self, node: ast.AST) -> set[str]:
        """Return the names in an expression, without those of functions and modules."""
        found = set()
        for child in walk(node):
            match child:
                case ast.Name(id=name):
                    found.add(name)
                case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                    found.add(f"self.{attr}")
                case _:
                    pass
        others = {"self"}.union(
            self._names.modules, self._names.functions, self._names.callables, BUILTINS
        )
        return found - others

    def _come_from(self, target: ast.expr, value: ast.expr | None) -> None:
        if value is not None:
            for name in self._data_names(target):
                self._origins[name] |= self._data_names(value)

    def _visit_compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            if isinstance(operator, ast.Is | ast.IsNot):
                pair = operands[index : index + 2]
                if not any(map(is_same_wherever, pair)) and not any(map(asks_type, pair)):
                    deny("an identity is asked for")
        self._allow_types(operands)

    def _allow_types(self, compared: Iterable[ast.expr]) -> None:
        """Allow `type(x)` in a comparison, which neither makes a class nor returns one."""
        self._type_calls |= {
            id(operand.func)
            for operand in compared
            if isinstance(operand, ast.Call) and asks_type(operand)
        }

    def _visit_function(self, node: ast.FunctionDef) -> None:
        self._visit_names([node.name])
        if getattr(node, "type_params", None):
            deny("type parameters")
        names = {argument.arg for argument in walk(node.args) if isinstance(argument, ast.arg)}
        makes_fixture = is_fixture(node)
        if self._solution is not None and (node.name.startswith("test") or makes_fixture):
            if not names <= self._names.parameters:
                deny("a fixture of pytest's or of a plugin's")
            given = {n for decorator in node.decorator_list for n in self._data_names(decorator)}
            for name in names:
                self._origins[name] |= given
            if len(node.decorator_list) > 1:
                self._loads.update(names)  # each row of one is combined with each of the other
        if makes_fixture:
            self._origins[node.name] |= {n for part in node.body for n in self._data_names(part)}
        own = frozenset(bound_names([node]))
        returns = [] if node.returns is None else [node.returns]
        self._visit_all([*node.decorator_list, node.args, *returns, *node.body], own)

    def _visit_class(self, node: ast.ClassDef) -> None:
        self._visit_names([node.name])
        simple = not (node.keywords or node.decorator_list or getattr(node, "type_params", None))
        if self._solution is None or not simple:
            deny("a class")
        methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
        if any(name.startswith("__") for name in methods):
            deny("a class of objects")

    # ------------------------------------------------------------ what is changed

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        match target:
            case ast.Name(id=name):
                made_here = value is not None and is_made_here(value)
                self._fresh[name] = made_here and self._fresh.get(name, True)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                for each in targets:
                    self._bind(each, None)
            case ast.Starred(value=inner):
                self._bind(inner, None)
            case _:
                pass

    def _change(self, target: ast.expr) -> None:
        if not isinstance(target, ast.Name):
            deny("something is changed that has no name of its own")
        self._changed.add(target.id)
