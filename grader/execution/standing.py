"""Which scripts leave the process that runs them as they found it.

To fork, lock in and end a process costs several times what a script of assertions does in it.
The tests of a suite that provably changes nothing there may therefore run in a judge that stays
for the next suite. The proof is a list of what is allowed, not of what is not: syntax by its
kinds, builtins by name, every module by the names that may be used of it, no attribute that
starts with an underscore, nothing that sets an attribute, makes a class or reaches names by text.
Whatever is not on the list costs a fork, and nothing else.
"""

import ast
import builtins
import sys
from functools import lru_cache

from grader.errors import SuiteError
from grader.judging.trees import script_trees
from grader.model import ScriptTests


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


HARMLESS: dict[str, frozenset[str]] = {
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

_BUILTINS = frozenset(
    "Ellipsis False None NotImplemented True abs all any ascii bin bool bytearray bytes callable "
    "chr complex dict divmod enumerate filter float format frozenset hash hex id int isinstance "
    "issubclass iter len list map max min next object oct ord pow print range repr reversed round "
    "set slice sorted str sum tuple type zip".split()
) | {name for name, value in vars(builtins).items() if _is_exception(value)}
"""`type` only where `_compared_types` finds it."""

_OTHER_BUILTINS = (
    frozenset(dir(builtins)) | frozenset("copyright credits exit help license quit".split())
) - _BUILTINS

_LEADING_ON = ("_", "ag_", "co_", "cr_", "f_", "gi_", "tb_")
"""How the attributes begin that lead from an object to its insides, to frames or to globals."""

_SHARED = frozenset(["mro", "obj", "register"])
"""Attributes that lead to classes and modules, or change them: of classes and of exceptions."""

_MODULE_NAMES = sys.stdlib_module_names | frozenset(
    "mock np numpy pandas pd pytest scipy sympy torch".split()
)
"""Names by which a script may get a module that it does not import, since the submission does
(`harness.split.scope`)."""

_SILENT_NODES = (
    *(ast.Assert, ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Delete),
    *(ast.Expr, ast.For, ast.If, ast.Module, ast.Pass, ast.Raise, ast.Return, ast.Try, ast.While),
    *(ast.With, ast.BinOp, ast.BoolOp, ast.Call, ast.Constant, ast.Dict, ast.DictComp),
    *(ast.FormattedValue, ast.GeneratorExp, ast.IfExp, ast.JoinedStr, ast.Lambda, ast.List),
    *(ast.ListComp, ast.NamedExpr, ast.Set, ast.SetComp, ast.Slice, ast.Starred, ast.Subscript),
    *(ast.Tuple, ast.UnaryOp, ast.arguments, ast.keyword, ast.withitem),
)
"""Kinds of syntax that say nothing by themselves. What is in neither this list nor in `_is_allowed`
costs a fork, such as a class, code that is suspended, or a pattern, which reads attributes."""

_LEAVES = (ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop)


@lru_cache(maxsize=4096)
def leaves_no_trace(tests: ScriptTests) -> bool:
    """Tell whether a script's tests may run in a process that other tests run in afterwards."""
    try:
        trees = script_trees(tests)
    except SuiteError:
        return False
    nodes = [node for tree in trees for node in _telling_nodes(tree)]
    read_from = {
        id(node.value): node.value.id
        for node in nodes
        if type(node) is ast.Attribute and type(node.value) is ast.Name
    }
    modules = _MODULE_NAMES.intersection(read_from.values()).union(
        alias.name for node in nodes if type(node) is ast.Import for alias in node.names
    )
    types = _compared_types(nodes)
    return all(
        # A module is only good for what is read from it: it must not get another name.
        _is_allowed(node, modules)
        and not (type(node) is ast.Name and node.id in modules and id(node) not in read_from)
        and not (type(node) is ast.Name and node.id == "type" and id(node) not in types)
        for node in nodes
    )


def _telling_nodes(tree: ast.AST) -> list[ast.AST]:
    """Return every node that `_is_allowed` or `_compared_types` has something to say about.

    Most of a suite is literals, which is why this is no `ast.walk`.
    """
    found: list[ast.AST] = []
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if type(node) not in _SILENT_NODES:
            found.append(node)
        for name in node._fields:
            value = getattr(node, name, None)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, ast.AST) and not isinstance(item, _LEAVES):
                    pending.append(item)
    return found


def _compared_types(nodes: list[ast.AST]) -> set[int]:
    """Return which names `type` stand in `type(x) == ..`, where it makes no class nor leads to one.

    `type(x)` alone would be as good as `type` itself, where `x` is a class.
    """
    return {
        id(operand.func)
        for node in nodes
        if type(node) is ast.Compare
        for operand in (node.left, *node.comparators)
        if type(operand) is ast.Call and len(operand.args) == 1 and not operand.keywords
    }


def _is_allowed(node: ast.AST, modules: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name):
            return _is_name(name)
        case ast.FunctionDef(name=name):
            return _is_name(name) and not getattr(node, "type_params", None)
        case ast.ExceptHandler(name=str(name)):
            return _is_name(name)
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return all(map(_is_name, names))
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return False
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
            return is_listed(module, name)
        case ast.Attribute(attr=name):
            return not name.startswith(_LEADING_ON) and name not in _SHARED
        case ast.comprehension(is_async=is_async):
            return not is_async
        case ast.Import(names=names):
            return all(alias.name in HARMLESS and alias.asname is None for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return all(is_listed(module, alias.name) and _is_name(alias.asname) for alias in names)
        case ast.Compare() | ast.ExceptHandler() | ast.alias():
            return True
        case _:
            return False


def _is_name(name: str | None) -> bool:
    """Tell whether a script may bind and read a name."""
    return name is None or not (name in _OTHER_BUILTINS or name.startswith("__"))


def is_listed(module: str, name: str) -> bool:
    """Tell whether a name of a module may be used."""
    if module not in HARMLESS or name.startswith("_") or name == "*":
        return False
    return not HARMLESS[module] or name in HARMLESS[module]
