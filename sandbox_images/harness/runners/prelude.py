"""What a suite wants executed before a submission's code, such as imports, in the same module.

It is not part of the code's text, so `from __future__` stays the first statement there, and line
numbers are those of the submission.
"""

import __future__

from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

_BYTE_ORDER_MARK = "\ufeff"
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def execute(prelude: str, module: ModuleType, code: CodeType | None = None) -> None:
    """Execute a prelude in the submission's module, which is still empty.

    Args:
        prelude: Its text.
        module: The submission's.
        code: What the text compiles to, if that is known.
    """
    if prelude:
        exec(code or _compile(prelude), module.__dict__)  # noqa: S102 - the suite's own


def try_to_compile(prelude: str) -> CodeType | None:
    """Compile a prelude; None if that fails, as `execute` will again."""
    try:
        return _compile(prelude)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return None


def compile_after(prelude: str, source: str, path: str) -> CodeType:
    """Compile a source as Python compiles a file; `from __future__` in a prelude counts for both.

    Raises whatever `compile` raises.
    """
    flags = _compile(prelude).co_flags & _FUTURES if "__future__" in prelude else 0
    text = source.removeprefix(_BYTE_ORDER_MARK)
    code: CodeType = compile(text, path, "exec", flags=flags, dont_inherit=True)
    return code


def _compile(prelude: str) -> CodeType:
    code: CodeType = compile(prelude, "<prelude>", "exec", dont_inherit=True)
    return code


class PreludeFinder:
    """Has a prelude executed first whenever one file is imported; for `sys.meta_path`."""

    def __init__(self, prelude: str, path: str) -> None:
        """`path` is that of the submission's file."""
        self._prelude = prelude
        self._path = path

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find that file under any module name, and nothing else."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin != self._path:
            return None
        spec.loader = _PreludeLoader(fullname, self._path, self._prelude)
        return spec


class _PreludeLoader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, prelude: str) -> None:
        super().__init__(fullname, path)
        self._prelude = prelude

    def exec_module(self, module: ModuleType) -> None:
        execute(self._prelude, module)
        super().exec_module(module)

    def source_to_code(self, data: Any, path: Any, **_options: Any) -> CodeType:  # type: ignore[override]
        return compile_after(self._prelude, data.decode("utf-8"), path)
