"""Runs inside the sandbox around a program, and prints the program's files after its end.

It forks. The child becomes the program; the parent waits for it, then writes a mark, the exit
status and the files to standard output. The program can forge all of that, like any output.
Standard library only; sent as text by `grader.server.programs.fetching`.
"""

import base64
import json
import os
import sys
from types import CodeType, ModuleType
from typing import Any

OWN_PATH = sys.argv[0]


def main() -> None:
    """Run the program, then print its exit status and files."""
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
    """Compile the program from text, so that a coding cookie in it has no effect."""
    with open(path, encoding="utf-8", errors="surrogatepass", newline="") as file:  # noqa: PTH123
        return compile(file.read(), os.path.abspath(path), "exec", dont_inherit=True)  # noqa: PTH100


def be_program(code: CodeType, path: str) -> None:
    """Execute the program as `__main__`; the runner around this file ends like the interpreter."""
    sys.argv[:] = [path]
    module = ModuleType("__main__")
    module.__file__ = os.path.abspath(path)  # noqa: PTH100
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - any exception of the program
        own = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(own), own)
        sys.exit(1)


def read_files(paths: list[str], most_bytes: int) -> dict[str, str]:
    """Return the regular files among `paths` that fit into `most_bytes`, as base64."""
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
    """Write to descriptor 1, since the program may have replaced `sys.stdout`."""
    view = memoryview(f"{mark}{json.dumps(what)}".encode())
    while view:
        view = view[os.write(1, view) :]


if __name__ == "__main__":
    main()
