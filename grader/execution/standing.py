"""Which scripts leave the process that runs them as they found it.

To fork, lock in and end a process costs several times what a script of assertions does in it.
The tests of a suite that provably changes nothing there may therefore run in a judge that stays
for the next suite. The proof is a list of what is allowed, not of what is not: every module by
the names that may be used of it, no attribute that starts with an underscore, nothing that sets
an attribute, defines a class or reaches names by text. Whatever is not on the list costs a fork,
and nothing else.
"""

import ast
from functools import lru_cache

from grader.model import ScriptTests

_ALLOWED: dict[str, frozenset[str]] = {
    "bisect": frozenset("bisect bisect_left bisect_right insort insort_left insort_right".split()),
    "cmath": frozenset(),
    "collections": frozenset("Counter OrderedDict defaultdict deque namedtuple".split()),
    "copy": frozenset("copy deepcopy".split()),
    "datetime": frozenset("date datetime time timedelta timezone".split()),
    "decimal": frozenset(["Decimal"]),
    "fractions": frozenset(["Fraction"]),
    "functools": frozenset("cache cmp_to_key lru_cache partial reduce".split()),
    "heapq": frozenset(
        "heapify heappop heappush heappushpop heapreplace nlargest nsmallest".split()
    ),
    "itertools": frozenset(),
    "json": frozenset("dumps loads".split()),
    "math": frozenset(),
    "random": frozenset(
        "Random choice choices getrandbits randint random randrange sample seed shuffle "
        "uniform".split()
    ),
    "re": frozenset("compile escape findall finditer fullmatch match search split sub".split()),
    "statistics": frozenset("mean median mode pstdev pvariance stdev variance".split()),
    "string": frozenset(
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable "
        "punctuation whitespace".split()
    ),
    "typing": frozenset("Any Dict FrozenSet List Optional Set Tuple Union".split()),
}
"""Modules of which nothing that is reachable by these names can be changed, or is put back by the
judge (`random`). Of those with no names listed, every public one may be used."""

_FORBIDDEN_NAMES = frozenset(
    "breakpoint compile delattr dir eval exec getattr globals help input locals open setattr "
    "vars".split()
)
_FRAMES = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")
"""How the attributes begin that lead from generators, functions and tracebacks to frames."""

_FORBIDDEN_NODES = (
    ast.AsyncFor,
    ast.AsyncFunctionDef,
    ast.AsyncWith,
    ast.Await,
    ast.ClassDef,
    ast.Yield,
    ast.YieldFrom,
)
"""What defines classes, which can be changed and finalised, or code that is suspended."""

_TELLING_NODES = (
    *_FORBIDDEN_NODES,
    ast.Attribute,
    ast.FunctionDef,
    ast.Import,
    ast.ImportFrom,
    ast.Name,
    ast.arg,
)
_INNER_NODES = (
    *(ast.stmt, ast.expr, ast.arguments, ast.arg, ast.keyword, ast.comprehension),
    *(ast.excepthandler, ast.withitem, ast.match_case, ast.pattern, ast.alias),
)
"""Every kind that holds others, or a name."""


@lru_cache(maxsize=4096)
def leaves_no_trace(tests: ScriptTests) -> bool:
    """Tell whether a script's tests may run in a process that other tests run in afterwards."""
    try:
        trees = [ast.parse(source) for source in (tests.setup, *(c.source for c in tests.cases))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    nodes = [node for tree in trees for node in _telling_nodes(tree)]
    modules = frozenset(
        alias.asname or alias.name
        for node in nodes
        if type(node) is ast.Import
        for alias in node.names
    )
    read_from = {id(node.value) for node in nodes if type(node) is ast.Attribute}
    return all(
        # A module is only good for what is read from it: it must not get another name.
        _is_allowed(node, modules)
        and not (type(node) is ast.Name and node.id in modules and id(node) not in read_from)
        for node in nodes
    )


def _telling_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return every node that `_is_allowed` has something to say about.

    Most of a suite is literals, which is why this is no `ast.walk`.
    """
    found: list[ast.AST] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, _TELLING_NODES):
            found.append(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                pending += [item for item in value if isinstance(item, _INNER_NODES)]
            elif isinstance(value, _INNER_NODES):
                pending.append(value)
    return found


def _is_allowed(node: ast.AST, modules: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
            return name not in _FORBIDDEN_NAMES and not name.startswith("__")
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return False
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
            return _is_listed(module, name)
        case ast.Attribute(attr=name):
            return not name.startswith(("_", *_FRAMES))
        case ast.Import(names=names):
            return all(alias.name in _ALLOWED and alias.asname is None for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return all(_is_listed(module, alias.name) for alias in names)
        case _:
            return False


def _is_listed(module: str, name: str) -> bool:
    """Tell whether a name of a module may be used."""
    if module not in _ALLOWED or name.startswith("_") or name == "*":
        return False
    return not _ALLOWED[module] or name in _ALLOWED[module]
