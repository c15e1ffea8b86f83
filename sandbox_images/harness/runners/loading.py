"""Compile and execute the submission's source as a module."""

import sys
from types import CodeType, ModuleType

from sandbox_images.harness.confinement import WORK, Bundle
from sandbox_images.harness.runners.events import Reporter


def path_of(bundle: Bundle) -> str:
    """Return where the submission's file lies; also its code's file name in tracebacks."""
    return f"{WORK}/{bundle.source_path}"


def compile_source(bundle: Bundle, reporter: Reporter) -> CodeType | None:
    """Compile the submission, or report why it does not compile and return None.

    The source is compiled as text, so that no coding cookie in it changes its meaning.
    """
    try:
        return compile(bundle.source, path_of(bundle), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        reporter.emit(
            "compile_error",
            type=type(error).__name__,
            message=str(getattr(error, "msg", None) or error)[:500],
            line=getattr(error, "lineno", None),
        )
        return None


def new_module(name: str, bundle: Bundle) -> ModuleType:
    """Make an empty module for the submission and register it under `name`."""
    module = ModuleType(name)
    module.__file__ = path_of(bundle)
    sys.modules[name] = module
    sys.path.insert(0, WORK)
    sys.argv[:] = [bundle.source_path]
    return module
