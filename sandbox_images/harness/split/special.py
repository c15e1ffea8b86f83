"""Special methods of proxies: which of them ask the candidate, and whom else.

`proxies` states the rules. An operator is asked for where only objects of the submission take
part or where the object is the suite's own. Else an instance of a builtin's subclass does what
the builtin does, and any other object is refused. What has one operand only is always answered,
since the candidate then answers without knowing what the tests expect.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sandbox_images.harness.split.operations import DATA_BASES
from sandbox_images.harness.split.proxies import ask_method, is_own, judge_of, proxy_number
from sandbox_images.harness.values import ValueDecodeError

Method = Callable[..., Any]

MUTABLE = (list, dict, set)
_WRITING = frozenset(
    "__delitem__ __iadd__ __iand__ __imul__ __ior__ __isub__ __ixor__ __setitem__ add append clear "
    "difference_update discard extend insert intersection_update pop popitem remove reverse "
    "setdefault sort symmetric_difference_update update".split()
)
_LOCAL = frozenset(dir(object)) - {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"} | {
    "__class_getitem__"
}
"""Special methods of a builtin that do not look at what the object holds."""


def make_methods(special: frozenset[str], methods: frozenset[str], data: Any) -> dict[str, Method]:
    """Return the methods of a proxy class.

    Args:
        special: Special methods that the submission's class defines.
        methods: Its public methods that can be called without asking for them first.
        data: The builtin that it extends, or None.
    """
    if "__missing__" in special:
        special |= {"__getitem__"}
    made = {} if data is None else dict(_builtin_methods(data))
    for name in special & _OPERATIONS.keys():
        made[name] = _special(name, data)
    if data is None and "__eq__" in special:
        made["__ne__"] = _special("__ne__", None)
        made["__hash__"] = _special("__hash__", None)
    if data is None and "__getitem__" in special and "__iter__" not in special:
        made["__iter__"] = _special("__iter__", None)
    for name in methods:
        if not name.startswith("_candidate_") and not name.startswith("__"):
            made[name] = _method(name, made.get(name) or getattr(data, name, None))
    return made


@lru_cache(maxsize=512)
def _special(name: str, data: Any) -> Method:
    operation, make = _OPERATIONS[name]
    method = make(operation, None if data is None else _builtin_methods(data).get(name))
    method.__name__ = name
    return method


# ---------------------------------------------------------------- builtins' subclasses


@lru_cache(maxsize=len(DATA_BASES))
def _builtin_methods(base: type) -> dict[str, Method]:
    """Return a builtin's methods; of a mutable one, each works on what the object holds by then.

    They stand in every class, since some base of it may be none that extends the builtin.
    """
    if base not in MUTABLE:
        return {name: getattr(base, name) for name in _OPERATIONS.keys() & set(dir(base))}
    return {
        name: _writing(name) if name in _WRITING else _reading(method)
        for name in dir(base)
        if name not in _LOCAL and callable(method := getattr(base, name))
    }


def _reading(method: Method) -> Method:
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        judge = judge_of(self)
        try:
            fill(self, judge.operate("plain", self))
        except ValueDecodeError as error:
            raise judge.forged(str(error)) from None
        return method(self, *args, **kwargs)

    return read


def _writing(name: str) -> Method:
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        return judge_of(self).call_method(self, name, args, kwargs)

    return write


def fill(value: Any, data: Any) -> None:
    """Have an instance of a mutable builtin's subclass hold what the candidate's does.

    Raises:
        ValueDecodeError: That is no such data.
    """
    if not isinstance(value, type(data)):
        raise ValueDecodeError("an object carries data of another type than its class")
    if type(data) is list:
        list.__init__(value, data)
    elif type(data) is dict:
        dict.clear(value)
        dict.update(value, data)
    elif type(data) is set:
        set.__init__(value, data)


# ---------------------------------------------------------------- operators


def _unary(operation: str, builtin: Method | None) -> Method:
    def method(self: Any, *args: Any) -> Any:
        own = is_own(self)
        if builtin is not None and not own:
            return builtin(self, *args)
        return _claimed(self, judge_of(self).operate(operation, self, *args), own=own)

    return method


def _part(operation: str, builtin: Method | None) -> Method:
    """Make what yields a part of the object, which is not the suite's own as the object may be."""

    def method(self: Any, *args: Any) -> Any:
        if builtin is not None and not is_own(self):
            return builtin(self, *args)
        return judge_of(self).operate(operation, self, *args)

    return method


def _binary(operation: str, builtin: Method | None, *, reflected: bool = False) -> Method:
    def method(self: Any, other: Any) -> Any:
        own = is_own(self)
        if not own and proxy_number(other) is None:
            if builtin is not None:
                return builtin(self, other)
            raise judge_of(self).refuse(
                f"an object of the submission's class {type(self).__name__} stands in for plain "
                f"data in {operation!r}"
            )
        operands = (other, self) if reflected else (self, other)
        return _claimed(self, judge_of(self).operate(operation, *operands), own=own)

    return method


def _reflected(operation: str, builtin: Method | None) -> Method:
    return _binary(operation, builtin, reflected=True)


def _claimed(value: Any, result: Any, *, own: bool) -> Any:
    if own:
        judge_of(value).proxies.claim(result)
    return result


def _equality(operation: str, builtin: Method | None) -> Method:
    def method(self: Any, other: Any) -> Any:
        if proxy_number(other) is None:
            return NotImplemented if builtin is None else builtin(self, other)
        return bool(judge_of(self).operate(operation, self, other))

    return method


def _containment(operation: str, builtin: Method | None) -> Method:
    def method(self: Any, item: Any) -> bool:
        if is_own(self) or proxy_number(item) is not None:
            return bool(judge_of(self).operate(operation, self, item))
        if builtin is not None:
            return bool(builtin(self, item))
        if not hasattr(type(self), "__iter__"):
            raise judge_of(self).refuse("an object of the submission is asked what it contains")
        return any(item is each or item == each for each in self)

    return method


def _leaving(operation: str, _builtin: Method | None) -> Method:
    def method(self: Any, _kind: Any, error: Any, _tb: Any) -> Any:
        return judge_of(self).operate(operation, self, error)

    return method


def _calling(_operation: str, _builtin: Method | None) -> Method:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return judge_of(self).call(self, args, kwargs)

    return method


def _awaiting(operation: str, _builtin: Method | None) -> Method:
    def method(self: Any) -> Any:
        return judge_of(self).operate(operation, self)
        yield

    return method


def _method(name: str, builtin: Method | None) -> Method:
    """Make a method that is called at once, without asking for it first."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if builtin is not None and not is_own(self):
            return builtin(self, *args, **kwargs)
        return ask_method(self, name).call_method(self, name, args, kwargs)

    method.__name__ = name
    return method


_ARITHMETIC = "add sub mul truediv floordiv mod pow lshift rshift matmul and or xor divmod".split()
_OPERATIONS: dict[str, tuple[str, Callable[[str, Method | None], Method]]] = {
    "__call__": ("call", _calling),
    "__contains__": ("contains", _containment),
    "__enter__": ("enter", _unary),
    "__exit__": ("exit", _leaving),
    "__await__": ("await", _awaiting),
    **{f"__{name}__": (name, _equality) for name in ("eq", "ne")},
    **{f"__{name}__": (name, _binary) for name in ("lt", "le", "gt", "ge")},
    **{f"__{name}__": (name, _unary) for name in ("abs", "invert", "neg", "pos", "round")},
    **{
        f"__{name}__": (name, _part)
        for name in (
            "bool bytes complex delitem float getitem hash index int iter len next reversed setitem"
        ).split()
    },
}
for _name in _ARITHMETIC:
    _asked = f"{_name}_" if _name in ("and", "or") else _name
    _OPERATIONS[f"__{_name}__"] = (_asked, _binary)
    _OPERATIONS[f"__r{_name}__"] = (_asked, _reflected)
    if _name != "divmod":
        _OPERATIONS[f"__i{_name}__"] = (f"i{_name}", _binary)
