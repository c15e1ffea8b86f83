"""What of the standard library crosses by name, and in which direction.

The tests may name anything to the submission, which could import it all the same. The other way,
only what does no harm whoever calls it, with whatever arguments: a test may well call what the
submission returned with other things that it returned. `eval`, `attrgetter` or `mock.ANY` would
then be code, a way to the tests' globals, or an object that equals every answer.
"""

import builtins
import importlib
import sys
import types
from typing import Any

_NAMED_TYPES = (
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_UNSAFE_PACKAGES = frozenset(
    "__main__ antigravity ensurepip idlelib lib2to3 test this tkinter turtle turtledemo unittest "
    "venv".split()
)
"""What does something when it is imported, or belongs to the tests."""
_FUNCTIONS = frozenset(
    "abs all any ascii bin callable chr divmod format hash hex id isinstance issubclass iter len "
    "max min next oct ord pow repr round sorted sum".split()
)
_TYPES: dict[str, frozenset[str]] = {
    "builtins": frozenset(
        "bool bytearray bytes complex dict enumerate filter float frozenset int list map object "
        "range reversed set slice str tuple zip".split()
    ),
    "collections": frozenset("ChainMap Counter OrderedDict defaultdict deque".split()),
    "datetime": frozenset("date datetime time timedelta timezone".split()),
    "decimal": frozenset(["Decimal"]),
    "fractions": frozenset(["Fraction"]),
    "operator": frozenset(["itemgetter"]),
}
_MODULES = frozenset("math cmath itertools statistics numbers collections.abc".split())
"""Every public function and type of these is harmless."""
_OPERATORS = frozenset(
    "abs add and_ concat contains countOf eq floordiv ge getitem gt index indexOf inv invert is_ "
    "is_not le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv truth "
    "xor".split()
)
_IMMUTABLE = frozenset({"int", "float", "complex", "str", "bytes", "tuple", "frozenset"})
_FORMATS = frozenset({"format", "format_map"})
"""Methods of str by which a text reads any attribute of what it is given."""


def name_of(value: Any) -> list[str] | None:
    """Return module and name of a function or type of the standard library, else None."""
    if not isinstance(value, _NAMED_TYPES):
        return None
    owner = getattr(value, "__objclass__", value)  # of a method such as str.upper
    module, name = getattr(owner, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    return [module, name] if find(module, name) is value else None


def name_of_harmless(value: Any) -> list[str] | None:
    """Return the name of what may cross from the submission to the tests, else None."""
    named = name_of(value)
    if named is None:
        return None
    module, name = named
    return named if _is_harmless(module, name, value) else None


def find(module: Any, name: Any) -> Any:
    """Return what a name stands for in this process's standard library, or None."""
    if type(module) is not str or type(name) is not str or not is_safe_module(module):
        return None
    found: Any = sys.modules.get(module) or _import(module)
    for part in name.split("."):
        if found is None or (part.startswith("_") and found is builtins):
            return None
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found if isinstance(found, _NAMED_TYPES) else None


def find_harmless(module: Any, name: Any) -> Any:
    """Return what a name of the submission's stands for, or None if it may not have that."""
    found = find(module, name)
    return found if found is not None and _is_harmless(module, name, found) else None


def is_safe_module(name: Any) -> bool:
    """Tell whether a name is that of a module of the standard library, safe to import."""
    if type(name) is not str:
        return False
    package, *parts = name.split(".")
    return (
        package in sys.stdlib_module_names
        and package not in _UNSAFE_PACKAGES
        and not any(part.startswith("_") for part in parts)
    )


def module_name(module: types.ModuleType) -> str | None:
    """Return the name of a module of the standard library that may cross, else None."""
    name = module.__name__
    return name if is_safe_module(name) and sys.modules.get(name) is module else None


def _import(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except Exception:  # noqa: BLE001 - whatever keeps it from being there
        return None


def _is_harmless(module: str, name: str, value: Any) -> bool:
    if any(part.startswith("_") for part in name.split(".")):
        return False
    if isinstance(value, type):
        if issubclass(value, BaseException):
            return issubclass(value, Exception) or module == "builtins"
        return module in _MODULES or name in _TYPES.get(module, ())
    owner, _, method = name.rpartition(".")
    if module == "builtins":
        return name in _FUNCTIONS or (owner in _IMMUTABLE and method not in _FORMATS)
    if module == "_operator":
        return name in _OPERATORS
    return module in _MODULES and not owner
