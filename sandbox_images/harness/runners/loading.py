"""Compile and execute the submission's source as a module."""

import builtins
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from sandbox_images.harness.lock_in.confinement import WORK
from sandbox_images.harness.runners import prelude
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire.orders import Bundle


def path_of(bundle: Bundle) -> str:
    """Return the path of the submission's file. Tracebacks name the code by it."""
    return f"{WORK}/{bundle.source_path}"


def compile_source(bundle: Bundle, reporter: Reporter) -> CodeType | None:
    """Compile the submission, or report why it does not compile and return None."""
    compiled = try_to_compile(bundle)
    if isinstance(compiled, CodeType):
        return compiled
    reporter.emit("compile_error", **compiled)
    return None


def try_to_compile(bundle: Bundle) -> CodeType | dict[str, Any]:
    """Compile the submission, or return the fields of a "compile_error" event.

    The source is compiled as text, so that no coding cookie in it changes its meaning.
    """
    try:
        return prelude.compile_after(bundle.prelude, bundle.source or "", path_of(bundle))
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return {
            "type": type(error).__name__,
            "message": str(getattr(error, "msg", None) or error)[:500],
            "line": getattr(error, "lineno", None),
        }


def module_name(source_path: str) -> str:
    """Return the name under which tests import the submission's file."""
    return source_path.removesuffix(".py").replace("/", ".")


def new_module(name: str, bundle: Bundle, prelude_code: CodeType | None = None) -> ModuleType:
    """Make a module for the submission, with its prelude executed, and register it under `name`.

    Raises whatever the prelude raises.

    Args:
        name: In `sys.modules`.
        bundle: The submission's.
        prelude_code: What its prelude compiles to, if that is known.
    """
    module = ModuleType(name)
    if name == "__main__":
        # As the interpreter does it. Programs can see that `__builtins__` is a module here.
        module.__loader__ = SourceFileLoader(name, path_of(bundle))
        module.__dict__.update(__annotations__={}, __builtins__=builtins)
    module.__file__ = path_of(bundle)
    if name == "__main__":
        module.__dict__["__cached__"] = None
    sys.modules[name] = module
    sys.path.insert(0, WORK)
    sys.argv[:] = [bundle.source_path]
    prelude.execute(bundle.prelude, module, prelude_code)
    return module


def precede_import(bundle: Bundle) -> None:
    """Have the prelude executed first whenever the submission's file is imported."""
    if bundle.prelude:
        sys.meta_path.insert(0, prelude.PreludeFinder(bundle.prelude, path_of(bundle)))
