"""What tests may contain if they are judged apart from the submission; see `by_value`."""

import ast
import builtins

MODULES: dict[str, frozenset[str]] = {
    "bisect": frozenset("bisect bisect_left bisect_right".split()),
    "cmath": frozenset(),
    "collections": frozenset("Counter OrderedDict defaultdict deque namedtuple".split()),
    "copy": frozenset("copy deepcopy".split()),
    "datetime": frozenset("date datetime time timedelta timezone".split()),
    "decimal": frozenset(["Decimal"]),
    "fractions": frozenset(["Fraction"]),
    "functools": frozenset("cmp_to_key partial reduce".split()),
    "itertools": frozenset(),
    "json": frozenset("dumps loads".split()),
    "math": frozenset(),
    "re": frozenset("compile escape findall finditer fullmatch match search split sub".split()),
    "statistics": frozenset("mean median mode pstdev pvariance stdev variance".split()),
    "string": frozenset(
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits printable "
        "punctuation whitespace".split()
    ),
    "typing": frozenset(
        "Any Callable DefaultDict Deque Dict FrozenSet Generator Iterable Iterator List Literal "
        "Mapping Optional Sequence Set Tuple Type Union".split()
    ),
}
"""Modules and the names that tests may use of them; without names, every public one. Nothing that
these names reach can be changed, or observes anything but its arguments."""

TEST_MODULES = {
    "pytest": frozenset("approx fail fixture mark param raises".split()),
    "unittest": frozenset("TestCase main".split()),
}

BUILTINS = frozenset(
    "Ellipsis False None NotImplemented True abs all any ascii bin bool bytearray bytes callable "
    "chr complex dict divmod enumerate filter float format frozenset hash hex int isinstance "
    "issubclass iter len list map max min next object oct ord pow print range repr reversed round "
    "set slice sorted str sum tuple type zip".split()
) | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
"""`type` is allowed only in comparisons, which neither make a class nor return one."""

OTHER_BUILTINS = (
    frozenset(dir(builtins)) | frozenset("copyright credits exit help license quit".split())
) - BUILTINS

TAKE_FUNCTIONS = frozenset("filter map max min sorted".split())
"""Builtins that call a function argument with plain items."""

EXPECT_ERRORS = frozenset("assertRaises assertRaisesRegex raises".split())
"""Methods whose first argument is the exception that they expect; they call the second one with the
arguments after it."""

LEADING_ON = ("_", "ag_", "co_", "cr_", "f_", "gi_", "tb_")
"""Prefixes of attributes that lead from an object to its internals, to frames or to globals."""

CHANGING = frozenset(
    "add append appendleft clear difference_update discard extend extendleft insert "
    "intersection_update move_to_end pop popitem popleft remove reverse rotate setdefault sort "
    "subtract symmetric_difference_update update".split()
)
"""Methods that change a list, dict or set in place."""

NOT_OF_OBJECTS = frozenset(
    "assertLogs assertNoLogs assertWarns assertWarnsRegex debug doModuleCleanups format_map mro "
    "obj register skipTest usefixtures".split()
)
"""Attributes that lead to classes and modules, change them, or observe what processes share."""

ASK_IDENTITY = frozenset(["assertIs", "assertIsNot"])

SYNTAX = (
    *(ast.Assert, ast.AnnAssign, ast.Assign, ast.AugAssign, ast.Break, ast.Continue, ast.Expr),
    *(ast.For, ast.Global, ast.If, ast.Module, ast.Nonlocal, ast.Pass, ast.Raise, ast.Return),
    *(ast.Try, ast.ExceptHandler, ast.While, ast.With, ast.withitem, ast.BinOp, ast.BoolOp),
    *(ast.Constant, ast.Dict, ast.DictComp, ast.FormattedValue, ast.GeneratorExp, ast.IfExp),
    *(ast.JoinedStr, ast.Lambda, ast.List, ast.ListComp, ast.NamedExpr, ast.Set, ast.SetComp),
    *(ast.Slice, ast.Starred, ast.Tuple, ast.UnaryOp, ast.arguments, ast.keyword, ast.alias),
    *(ast.comprehension, ast.boolop, ast.cmpop, ast.expr_context, ast.operator, ast.unaryop),
)
"""Kinds of syntax that are always allowed; others need a rule in `by_value`."""

LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SAME_WHEREVER = (type(None), bool, type(...))
STAR = "*"


def is_same_wherever(node: ast.expr) -> bool:
    """Tell whether a constant is a single object in each process, so that `is` may compare it."""
    return isinstance(node, ast.Constant) and isinstance(node.value, _SAME_WHEREVER)


def asks_type(node: ast.expr) -> bool:
    """Tell whether an expression is `type(x)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
        and not node.keywords
    )


def is_builtin(name: str) -> bool:
    """Tell whether a name means something without being bound."""
    return name in BUILTINS or name in OTHER_BUILTINS
