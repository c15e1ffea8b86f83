"""Compile and execute the submission's source as a module."""

import sys
from types import CodeType, ModuleType
from typing import Any

from sandbox_images.harness.confinement import WORK
from sandbox_images.harness.orders import Bundle
from sandbox_images.harness.runners.events import Reporter


def path_of(bundle: Bundle) -> str:
    """Return where the submission's file lies; also its code's file name in tracebacks."""
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
        return compile(bundle.source or "", path_of(bundle), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        return {
            "type": type(error).__name__,
            "message": str(getattr(error, "msg", None) or error)[:500],
            "line": getattr(error, "lineno", None),
        }


def module_name(source_path: str) -> str:
    """Return the name under which tests import the submission's file."""
    return source_path.removesuffix(".py").replace("/", ".")


def new_module(name: str, bundle: Bundle) -> ModuleType:
    """Make an empty module for the submission and register it under `name`."""
    module = ModuleType(name)
    module.__file__ = path_of(bundle)
    sys.modules[name] = module
    sys.path.insert(0, WORK)
    sys.argv[:] = [bundle.source_path]
    return module
