"""Which names a suite uses of a submission, found in the suite's code if there is no reference."""

import ast
import keyword
from collections.abc import Iterable

from grader.model import CallTests, PytestTests, ScriptTests, Tests, TestSuite
from grader.source.allowed import EXPECT_ERRORS
from grader.source.names import missing_names, module_name
from grader.source.syntax import UNPARSABLE, parse

_ANY_ARGUMENTS = "(*args, **kwargs): pass"


def skeleton_of(suite: TestSuite) -> str:
    """Return source that defines the names that a suite uses of a submission.

    A name is an exception if the suite expects it to be raised or if its name says so; a variable
    if it is in capitals and never called; a class, with every method that the suite calls on
    anything, if it begins with a capital; else a function. Returns "" if no name is found, as for
    programs.
    """
    uses = _Uses()
    match suite.tests:
        case CallTests(entry_point=entry_point):
            owner, _, name = entry_point.rpartition(".")
            uses.names |= {owner or name}
            uses.called |= {name}
        case ScriptTests() as tests:
            uses.look_at(sources_of(tests), module=None)
        case PytestTests(solution_path=path) as tests:
            uses.look_at(sources_of(tests), module=module_name(path))
        case _:
            return ""
    if suite.entry_point is not None:
        uses.names.add(suite.entry_point.partition(".")[0].removesuffix("()"))
    names = (name for name in uses.names if name.isidentifier() and not keyword.iskeyword(name))
    return "\n".join(uses.definition(name) for name in sorted(names))


def sources_of(tests: Tests) -> list[str]:
    """Return the code of tests, one text for each namespace; empty if they have none."""
    match tests:
        case ScriptTests(cases=cases, setup=setup):
            return ["\n".join([setup, *(case.source for case in cases)])]
        case PytestTests(files=files):
            return [file.content.decode("utf-8", "replace") for file in files]
        case _:
            return []


class _Uses:
    """The names that a suite's code uses of a submission, and how it uses them."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.called: set[str] = set()
        """Names and attributes that are called anywhere."""
        self._raised: set[str] = set()

    def look_at(self, sources: Iterable[str], module: str | None) -> None:
        """Add the names in a suite's code.

        Args:
            sources: The code. Sources that do not parse are skipped.
            module: The module name of the submission; None: the code shares its namespace, as a
                script does.
        """
        for source in sources:
            try:
                tree = parse(source)
            except UNPARSABLE:
                continue
            nodes = list(ast.walk(tree))
            aliases = self._imported(nodes, module)
            for node in nodes:
                self._use(node, aliases)
            if module is None or "*" in aliases:
                self.names |= missing_names(tree)

    def definition(self, name: str) -> str:
        """Return the definition of a name, as source."""
        if name in self._raised or name.endswith(("Error", "Exception", "Warning")):
            return f"class {name}(Exception): pass"
        if name.isupper() and len(name) > 1 and name not in self.called:
            return f"{name} = None"
        if not name.lstrip("_")[:1].isupper():
            return f"def {name}{_ANY_ARGUMENTS}"
        methods = sorted(self.called - self.names - {name})
        own = [f"    def {method}(self, *args, **kwargs): pass" for method in methods]
        return "\n".join([f"class {name}:", "    pass", *own])

    def _imported(self, nodes: Iterable[ast.AST], module: str | None) -> set[str]:
        """Add the names imported from the submission; return the names of its module."""
        aliases: set[str] = set()
        for node in nodes:
            match node:
                case ast.ImportFrom(module=found, names=names) if found and _is(found, module):
                    imported = {each.name for each in names}
                    self.names |= imported - {"*"}
                    aliases |= imported & {"*"}
                case ast.Import(names=names):
                    aliases |= {
                        each.asname or each.name for each in names if _is(each.name, module)
                    }
                case _:
                    pass
        return aliases

    def _use(self, node: ast.AST, aliases: set[str]) -> None:
        match node:
            case ast.Attribute(value=ast.Call(func=ast.Name()), attr=name):
                self.called.add(name)  # `check(Solution().add)` passes a method
            case ast.Attribute(value=ast.Name() | ast.Attribute() as owner, attr=name):
                if ast.unparse(owner) in aliases:
                    self.names.add(name)
            case ast.Call(func=ast.Name(id=name)):
                self.called.add(name)
            case ast.Call(func=ast.Attribute(attr=name), args=args):
                if not name.startswith(("__", "assert")):
                    self.called.add(name)
                match args:
                    case [ast.Name(id=wanted) | ast.Attribute(attr=wanted), *_] if (
                        name in EXPECT_ERRORS
                    ):
                        self._raised.add(wanted)
                    case _:
                        pass
            case _:
                pass


def _is(found: str, module: str | None) -> bool:
    """Return whether an imported module is the submission's, in any folder."""
    return module is not None and (found == module or module.endswith(f".{found}"))
