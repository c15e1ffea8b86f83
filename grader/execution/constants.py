"""Which expressions make constants: values that nothing can change, or containers of such."""

import ast

IMMUTABLE = "immutable"
CONTAINER = "container"
"""A list, dict or set whose items are immutable."""

_MAKE_IMMUTABLE = frozenset(
    "abs bool chr float frozenset int len max min ord range round str sum tuple".split()
)
_MAKE_CONTAINERS = frozenset("dict list set sorted".split())
_ITERATE = frozenset("enumerate range reversed zip".split())
MAKERS = _MAKE_IMMUTABLE | _MAKE_CONTAINERS | _ITERATE
"""Builtins by which constants are made."""


class Constants:
    """What a module and its classes hold, in the order of their definition."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.containers: set[str] = set()
        """Names of those that hold containers, wherever."""
        self.modules: set[str] = set()
        """Names that mean the library's module of that name, and nothing else anywhere."""
        self._immutable: set[str] = set()

    def define(self, name: str, value: ast.expr) -> str | None:
        """Give a name to a value; return its kind, None where it may be no constant."""
        kind = self.kind(value)
        if kind == IMMUTABLE:
            self._immutable.add(name)
        elif kind == CONTAINER:
            self.containers.add(name)
        return kind

    def kind(self, value: ast.expr, local: frozenset[str] = frozenset()) -> str | None:
        """Return what an expression makes; None where that may be no constant.

        Args:
            value: The expression.
            local: Names that have an immutable value in it.
        """
        match value:
            case ast.Constant() | ast.Lambda(args=ast.arguments(defaults=[], kw_defaults=[])):
                return IMMUTABLE
            case ast.Name(id=name):
                known = name in local or name in self._immutable - self.containers
                return IMMUTABLE if known else None
            case ast.Tuple(elts=items):
                return self._if_all(items, IMMUTABLE, local)
            case ast.List(elts=items) | ast.Set(elts=items):
                return self._if_all(items, CONTAINER, local)
            case ast.Dict(keys=keys, values=values):
                return self._if_all([*keys, *values], CONTAINER, local)
            case ast.UnaryOp(operand=operand):
                return self._if_all([operand], IMMUTABLE, local)
            case ast.BinOp(left=left, right=right):
                return self._if_all([left, right], IMMUTABLE, local)
            case ast.Subscript(value=inner, slice=index):
                return self._if_all([inner, index], IMMUTABLE, local)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return self._if_all([x for x in (lower, upper, step) if x], IMMUTABLE, local)
            case ast.ListComp(elt=item, generators=loops) | ast.SetComp(elt=item, generators=loops):
                return self._comprehension([item], loops, local)
            case ast.DictComp(key=key, value=item, generators=loops):
                return self._comprehension([key, item], loops, local)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                named = all(keyword.arg is not None for keyword in keywords)
                items = [keyword.value for keyword in keywords]
                return self._if_all(items, CONTAINER, local) if named else None
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args, local)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=args, keywords=[]
            ) if "re" in self.modules:
                return self._if_all(args, IMMUTABLE, local)
            case ast.Attribute(value=ast.Name(id="math" | "string" as name)):
                return IMMUTABLE if name in self.modules else None
            case ast.Call(func=ast.Attribute(value=text, attr="split" | "splitlines"), args=args):
                return self._if_all([text, *args], CONTAINER, local)
            case _:
                return None

    def _if_all(
        self, items: list[ast.expr] | list[ast.expr | None], kind: str, local: frozenset[str]
    ) -> str | None:
        """Return a kind if all items are immutable."""
        sound = all(item is not None and self.kind(item, local) == IMMUTABLE for item in items)
        return kind if sound else None

    def _is_iterable(self, value: ast.expr, local: frozenset[str]) -> bool:
        """Tell whether the items of a value are immutable."""
        match value:
            case ast.Name(id=name) if name in self.containers:
                return True
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _ITERATE:
                return all(self._is_iterable(arg, local) for arg in args)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="items" | "keys" | "values"),
                args=[],
            ):
                return name in self.containers
            case ast.GeneratorExp(elt=item, generators=loops):
                return self._comprehension([item], loops, local) is not None
            case _:
                return self.kind(value, local) is not None

    def _comprehension(
        self, items: list[ast.expr], loops: list[ast.comprehension], local: frozenset[str]
    ) -> str | None:
        for loop in loops:
            if loop.is_async or not self._is_iterable(loop.iter, local):
                return None
            targets = [n for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
            local |= {target.id for target in targets}
            if not all(
                isinstance(n, ast.Name | ast.Tuple | ast.List | ast.Store)
                for n in ast.walk(loop.target)
            ):
                return None
            if not all(self._condition(test, local) for test in loop.ifs):
                return None
        return self._if_all(items, CONTAINER, local)

    def _condition(self, test: ast.expr, local: frozenset[str]) -> bool:
        match test:
            case ast.Compare(left=left, comparators=comparators):
                return self._if_all([left, *comparators], IMMUTABLE, local) is not None
            case _:
                return self.kind(test, local) is not None

    def _call(self, name: str, args: list[ast.expr], local: frozenset[str]) -> str | None:
        if not all(self._is_iterable(arg, local) for arg in args):
            return None
        if name in _MAKE_IMMUTABLE:
            # What is given beside the items may itself be what is returned.
            alone = args[1:] if len(args) == 1 or name == "sum" else args
            return self._if_all(alone, IMMUTABLE, local)
        return CONTAINER if name in _MAKE_CONTAINERS else None
