"""Modules that stand in for packages which a trainer imports and tests do not need."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Anything(ModuleType):
    """A module that has every name; each is a class or function of no consequence."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda *_, **__: None})


class _Finder(MetaPathFinder, Loader):
    def __init__(self, packages: tuple[str, ...], names: Mapping[str, Mapping[str, Any]]) -> None:
        self._packages = packages
        self._names = names
        self.created: list[ModuleType] = []

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in self._packages:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = Anything(spec.name)
        vars(module).update(self._names.get(spec.name, {}))
        self.created.append(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def stand_ins(
    *packages: str,
    names: Mapping[str, Mapping[str, Any]] | None = None,
    extended: tuple[str, ...] = (),
) -> Iterator[None]:
    """Replace packages for a while.

    Args:
        packages: What is replaced, whether it is installed or not.
        names: What modules of it have to do more than be there, by their full names.
        extended: Packages of which what is imported already stays in use, and only further
            modules are replaced.
    """
    finder = _Finder((*packages, *extended), names or {})
    with put_aside(*packages):
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            for module in finder.created:
                _unbind(module)


@contextmanager
def put_aside(*packages: str) -> Iterator[None]:
    """Import packages anew for a while, then go on with what was imported before."""
    kept = _forget(packages)
    try:
        yield
    finally:
        _forget(packages)
        sys.modules.update(kept)


def _forget(packages: tuple[str, ...]) -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in names}


def _unbind(module: ModuleType) -> None:
    """Forget a module, and that its parent has it as an attribute."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    parent, _, name = module.__name__.rpartition(".")
    if vars(sys.modules.get(parent, module)).get(name) is module:
        delattr(sys.modules[parent], name)
