"""Runs inside the sandbox in the place of a program whose files are to be fetched afterwards.

Forks: the child becomes the program, this process waits for it and then writes how it ended and
its files, after a mark, to standard output. All of that is the program's word, like all that a
program prints. Standard library only; sent as text by `grader.server.programs.fetching`.
"""

import base64
import json
import os
import sys
from types import CodeType, ModuleType
from typing import Any

OWN_PATH = sys.argv[0]


def main() -> None:
    """Run the program, then tell what became of it."""
    with open(f"{OWN_PATH}.json", encoding="utf-8") as file:  # noqa: PTH123 - imported for every program
        order = json.load(file)
    for path in (f"{OWN_PATH}.json", OWN_PATH):
        os.unlink(path)  # noqa: PTH108
    try:
        code = compile_program(order["program"])
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        kind, words = type(error).__name__, str(getattr(error, "msg", None) or error)
        line = getattr(error, "lineno", None)
        tell(order["mark"], {"compile_error": {"type": kind, "message": words, "line": line}})
        return
    child = os.fork()
    if child == 0:
        be_program(code, order["program"])
        return
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    files = read_files(order["paths"], order["most_bytes"])
    tell(order["mark"], {"return_code": status, "files": files})


def compile_program(path: str) -> CodeType:
    """Compile the program's text, so that no coding cookie in it changes its meaning."""
    with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:  # noqa: PTH123
        return compile(file.read(), os.path.abspath(path), "exec", dont_inherit=True)  # noqa: PTH100


def be_program(code: CodeType, path: str) -> None:
    """Execute the program as `__main__`; the runner around this ends as the interpreter would."""
    sys.argv[:] = [path]
    module = ModuleType("__main__")
    module.__file__ = os.path.abspath(path)  # noqa: PTH100
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the program raised
        own = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(own), own)
        sys.exit(1)


def read_files(paths: list[str], most_bytes: int) -> dict[str, str]:
    """Return the plain files among `paths` for which there is room, as base64."""
    found = {}
    for path in paths:
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > most_bytes:  # noqa: PTH113, PTH202
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                content = file.read(most_bytes)
        except OSError:
            continue
        most_bytes -= len(content)
        found[path] = base64.b64encode(content).decode()
    return found


def tell(mark: str, what: dict[str, Any]) -> None:
    """Write to standard output, whatever became of `sys.stdout`."""
    view = memoryview(f"{mark}{json.dumps(what)}".encode())
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
