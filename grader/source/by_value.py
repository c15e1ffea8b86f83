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
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NoReturn

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
    STAR,
    SYNTAX,
    TAKE_FUNCTIONS,
    TEST_MODULES,
    asks_type,
    is_builtin,
    is_same_wherever,
)
from grader.source.names import (
    bound_names,
    free_names,
    holds_constants,
    is_fixture,
    is_made_here,
    module_name,
    parametrised,
    targets_of,
    top_level_names,
    walk,
    walk_scope,
)
from grader.source.trees import module_tree, script_trees


class _NotAllowed(Exception):
    """The suite does something that could distinguish a copy from the original."""


_STARTS_TESTS = ("unittest", "main")
"""Allowed only in code that does not run, since it calls any function that a text names."""

_OF_FRAMES = re.compile(
    r"\b(?:_getframe|currentframe|f_back|extract_stack|walk_stack|format_stack|inspect\.stack)\b"
)
_OTHER_ENCODING = re.compile(rb"coding[:=][ \t]*(?!utf-?8)[^ \t]", re.IGNORECASE)

_Loop = frozenset[str] | None
"""The names that get another value each time that a piece of code runs; None for the top of a
module, which runs once. A function counts as a loop."""


def _deny(why: str) -> NoReturn:
    raise _NotAllowed(why)


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
    except (SuiteError, _NotAllowed, RecursionError):
        return None  # source that does not parse is refused elsewhere


def may_ask_for_callers(code: str) -> bool:
    """Tell whether a submission may look at the frames above its own: the harness's, if apart."""
    return _OF_FRAMES.search(code) is not None


def _is_utf8(source: bytes) -> bool:
    """Tell whether a source is read as UTF-8: in another encoding, it could be other code."""
    return not any(map(_OTHER_ENCODING.search, source.splitlines()[:2]))


class _Reading:
    """Reads the sources of a suite, node by node; `_NotAllowed` ends the reading."""

    def __init__(self, trees: Iterable[ast.Module], *, solution: str | None) -> None:
        """Read nothing yet.

        Args:
            trees: Of the suite's sources.
            solution: The module that tests import the submission as; None for a script, which
                runs in the submission's namespace.
        """
        self._trees = tuple(trees)
        self._solution = solution
        self._bound = set(bound_names(self._trees))
        self._modules: dict[str, str] = {}
        """Local names of imported modules."""
        self._solution_names: set[str] = set()
        """Local names of the submission's module."""
        self._imported: dict[str, str] = {}
        """Names imported from the submission: the local name, and the submission's own."""
        self._has_star = False
        self._functions = {
            node.name: node
            for tree in self._trees
            for node in walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self._calls = [
            node
            for tree in self._trees
            for node in walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        self._known_parameters = {"self", "cls"}
        self._callables: set[str] = set()
        """Names that stand for functions of the submission: its own, and parameters."""
        self._wanted: set[str] = set()
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
            _NotAllowed: It cannot be judged apart from it.
        """
        for tree in self._trees:
            self._read_imports(tree)
        self._callables |= self._imported.keys()
        self._settle_meanings()
        self._follow_parameters()
        for tree in self._trees:
            self._visit(tree, None)
        self._follow_origins()
        if any(not self._fresh.get(name) or name in self._arguments for name in self._changed):
            _deny("something is changed that may belong to the submission")
        nowhere: set[str] = set()
        if self._solution is None:
            nowhere = self._builtins | set(top_level_names(self._trees))
        elif self._has_star:
            nowhere = self._builtins | self._before_star()
        return Apart(
            names=tuple(sorted(self._wanted)),
            classes=tuple(sorted(self._wanted_classes)),
            modules=tuple(sorted(self._wanted_modules)),
            nowhere=tuple(sorted(nowhere)),
            watched=any(self._loads[name] > 1 for name in self._arguments),
        )

    def _before_star(self) -> set[str]:
        """Return the names that a star import from the submission may replace."""
        found: set[str] = set()
        for tree in self._trees:
            stars = [
                index
                for index, node in enumerate(tree.body)
                if isinstance(node, ast.ImportFrom)
                and node.module == self._solution
                and node.names[0].name == STAR
            ]
            if stars:
                found.update(bound_names(tree.body[: stars[-1]]))
        return found - {STAR}

    # ------------------------------------------------------------ imports and parameters

    def _read_imports(self, tree: ast.Module) -> None:
        for node in walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self._read_import(alias)
                case ast.ImportFrom(module=str(module), names=names, level=0):
                    for alias in names:
                        self._read_import_from(module, alias)
                case ast.ImportFrom():
                    _deny("a relative import")
                case ast.Call(func=ast.Attribute(attr="parametrize"), args=[names, *_]):
                    self._known_parameters |= set(parametrised(names))
                case ast.FunctionDef(name=name) if is_fixture(node):
                    self._known_parameters.add(name)

    def _read_import(self, alias: ast.alias) -> None:
        local = alias.asname or alias.name
        if self._solution is not None and alias.name == self._solution:
            self._solution_names.add(local)
        elif alias.name in MODULES or (self._solution and alias.name in TEST_MODULES):
            self._modules[local] = alias.name
        else:
            _deny(f"import {alias.name}")

    def _read_import_from(self, module: str, alias: ast.alias) -> None:
        if self._solution is not None and module == self._solution:
            if alias.name == STAR:
                self._has_star = True
            else:
                self._imported[alias.asname or alias.name] = alias.name
                self._wanted.add(alias.name)
        elif not self._is_listed(module, alias.name):
            _deny(f"from {module} import {alias.name}")
        elif (module, alias.name) == _STARTS_TESTS:
            self._modules[alias.asname or alias.name] = ".".join(_STARTS_TESTS)

    def _is_listed(self, module: str, name: str) -> bool:
        of_tests = TEST_MODULES.get(module) if self._solution else None
        listed = MODULES.get(module, of_tests)
        if listed is None or name.startswith("_") or name == STAR:
            return False
        return not listed or name in listed

    def _settle_meanings(self) -> None:
        """Check that no name belongs to the submission in one place and to the tests in another.

        In `def check(double): ...` followed by `check(double)`, both are the same function.

        Raises:
            _NotAllowed: A name belongs to both.
        """
        free = {name for tree in self._trees for name in free_names(tree)}
        local = self._bound - set(bound_names(self._trees, walk_scope))
        for name in {name for name in free & local if not is_builtin(name)}:
            if not self._is_handed_down(name):
                _deny(f"{name!r} has two meanings")
            self._bound.remove(name)

    def _is_handed_down(self, name: str) -> bool:
        """Tell whether a name is bound only as a parameter that receives its outer object."""
        takers = {
            function.name
            for function in self._functions.values()
            if name in {argument.arg for argument in function.args.args}
        }
        bindings = sum(bound == name for bound in bound_names(self._trees))
        given = [
            isinstance(argument, ast.Name) and argument.id == name
            for call in self._calls
            for parameter, argument in self._passed(call)
            if parameter == name
        ]
        return bindings == len(takers) and bool(given) and all(given)

    def _follow_parameters(self) -> None:
        """Find the parameters of the suite's functions that receive functions to call."""
        grown = True
        while grown:
            grown = False
            for call in self._calls:
                for parameter, argument in self._passed(call):
                    if self._is_callable(argument) and parameter not in self._callables:
                        self._callables.add(parameter)
                        grown = True

    def _passed(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """Yield the arguments of a call of the suite's own function, with their parameters."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None:
            return
        named = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        yield from zip(named, call.args, strict=False)
        yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)

    def _is_callable(self, node: ast.expr) -> bool:
        """Tell whether an expression stands for a function of the submission."""
        match node:
            case ast.Name(id=name):
                return name in self._callables or self._is_free(name)
            case ast.Attribute(value=ast.Name(id=name)) if name in self._solution_names:
                return True
            case ast.Attribute(value=ast.Call(func=made, args=[], keywords=[]), attr=attr):
                # A method of a new instance.
                return self._is_callable(made) and not attr.startswith("_")
            case _:
                return False

    def _is_free(self, name: str) -> bool:
        """Tell whether a name can only come from the submission's namespace."""
        from_there = self._solution is None or self._has_star
        return from_there and name not in self._bound and not is_builtin(name)

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
            ) if "__name__" not in self._bound:
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
                    _deny("an attribute is deleted")
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
                _deny("asynchronous code")
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
                _deny(type(node).__name__)
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
                _deny(f"{name!r} gets another meaning")

    def _visit_name(self, node: ast.Name, loop: _Loop) -> None:
        name = node.id
        if name in OTHER_BUILTINS or name.startswith("__"):
            _deny(name)
        if not isinstance(node.ctx, ast.Load):
            self._visit_names([name])
            return
        if name in self._modules or name in self._solution_names or self._is_callable(node):
            _deny(f"{name!r} is handed on")
        if name == "type" and id(node) not in self._type_calls:
            _deny("type outside of a comparison")
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
                _deny("an attribute is set")
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in self._modules:
                module = self._modules[name]
                if (module, attr) == _STARTS_TESTS or not self._is_listed(module, attr):
                    _deny(f"{name}.{attr}")
                return
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                name in MODULES and self._is_free(name)
            ):
                # The submission has imported it.
                if not self._is_listed(name, attr):
                    _deny(f"{name}.{attr}")
                self._wanted_modules.add(name)
                return
            case ast.Attribute(attr=attr) if attr.startswith(LEADING_ON) or attr in NOT_OF_OBJECTS:
                _deny(f".{attr}")
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                if not isinstance(node.ctx, ast.Load):
                    self._fresh[f"self.{attr}"] = False
                self._count(f"self.{attr}", loop)
                self._count(f"self.{attr}", loop)  # by several tests
                return
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                _deny("an attribute is set")
            case _:
                pass
        if self._is_callable(node):
            _deny("a function of the submission is handed on")
        self._visit(node.value, loop)

    def _visit_call(self, node: ast.Call, loop: _Loop) -> None:
        arguments: list[ast.AST] = [*node.args, *node.keywords]
        passed: list[ast.expr] = []
        given: list[ast.AST] = []
        match node.func:
            case function if self._is_callable(function):
                self._want(function)
                given = arguments
            case ast.Name(id=name) if name in self._functions:
                passed = [argument for _, argument in self._passed(node)]
                self._loads[name] += 1
            case ast.Name(id=name) if name in TAKE_FUNCTIONS and name not in self._bound:
                passed = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "key")]
                self._builtins.add(name)
            case ast.Attribute(attr=attr) if attr in EXPECT_ERRORS:
                passed = node.args[1:2]
                given = [*node.args[2:], *node.keywords] if passed else []
                self._visit(node.func, loop)
            case ast.Attribute(attr=attr) if attr in ASK_IDENTITY:
                if not any(map(is_same_wherever, node.args[:2])):
                    _deny("an identity is asked for")
                self._visit(node.func, loop)
            case ast.Attribute(attr=attr) if attr.startswith("assert"):
                self._allow_types(node.args)
                self._visit(node.func, loop)
            case ast.Attribute(value=base, attr="format") if not isinstance(base, ast.Constant):
                _deny("a format that the submission may have made")
            case ast.Attribute(value=base, attr=attr) if attr in CHANGING:
                self._change(base)
                self._visit(node.func, loop)
            case _:
                self._visit(node.func, loop)
        for argument in given:
            self._arguments |= self._data_names(argument)
        handed = [argument for argument in passed if self._is_callable(argument)]
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
                self._wanted_classes |= self._own_names(made)
            case _:
                names = self._own_names(function)
                if any(name[:1].isupper() for name in names):
                    _deny("a class, whose instances are not plain data")
                self._wanted |= names

    def _own_names(self, function: ast.expr) -> set[str]:
        """Return the submission's own name for an expression's object, if it has one."""
        match function:
            case ast.Name(id=name) if name in self._imported or self._is_free(name):
                return {self._imported.get(name, name)}
            case ast.Attribute(attr=attr):
                return {attr}
            case _:
                return set()

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
        others = {"self"}.union(self._modules, self._functions, self._callables, BUILTINS)
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
                    _deny("an identity is asked for")
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
            _deny("type parameters")
        names = {argument.arg for argument in walk(node.args) if isinstance(argument, ast.arg)}
        makes_fixture = is_fixture(node)
        if self._solution is not None and (node.name.startswith("test") or makes_fixture):
            if not names <= self._known_parameters:
                _deny("a fixture of pytest's or of a plugin's")
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
            _deny("a class")
        methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
        if any(name.startswith("__") for name in methods):
            _deny("a class of objects")

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
            _deny("something is changed that has no name of its own")
        self._changed.add(target.id)
