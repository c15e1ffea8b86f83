"""The limit: fork a small warmed Python and `exec` the program in the child. No sandbox at all.

Runs by itself as `python -I -S bare_fork.py JOBS`, so that nothing but a bare Python is forked.
Reads a JSON list of programs on standard input and answers with one JSON object: how many
ended well, and the seconds from the first fork to the last exit. Imports that the programs
make are warmed beforehand, as the harness warms them: the limit gets every advantage.

Each of the jobs has a parent of its own that forks its programs one after another. A single
parent for all of them would be the limit itself: it forks no more than some 2,200 a second.
"""

import ast
import gc
import importlib
import json
import os
import struct
import sys
import time

_NUMBER = struct.Struct("I")


def run_all(programs: list[str], jobs: int) -> tuple[int, float]:
    """Run each program in a fork, `jobs` at a time; return how many exited 0, and seconds."""
    for name in {name for program in programs for name in _imported(program)}:
        importlib.import_module(name)
    gc.freeze()
    orders, give = os.pipe()
    answers, answer = os.pipe()
    started = time.perf_counter()
    for _ in range(jobs):
        if os.fork() == 0:
            os.close(give)
            os.write(answer, _NUMBER.pack(_run_ordered(programs, orders)))
            os._exit(0)
    os.close(orders)
    os.close(answer)
    for number in range(len(programs)):
        os.write(give, _NUMBER.pack(number))
    os.close(give)
    passed = sum(_NUMBER.unpack(os.read(answers, _NUMBER.size))[0] for _ in range(jobs))
    return passed, time.perf_counter() - started


def _run_ordered(programs: list[str], orders: int) -> int:
    """Run the programs whose numbers come next in a pipe that all parents read from."""
    passed = 0
    while order := os.read(orders, _NUMBER.size):
        pid = os.fork()
        if pid == 0:
            _child(programs[_NUMBER.unpack(order)[0]])
        passed += os.waitpid(pid, 0)[1] == 0
    return passed


def _imported(program: str) -> set[str]:
    """Return the modules that a program imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def _child(program: str) -> None:
    try:
        exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})  # noqa: S102 - the contestant
    except BaseException:  # noqa: BLE001 - whatever it is, the program did not end well
        os._exit(1)
    os._exit(0)


def main() -> None:
    """Read programs, run them, answer; what they print is dropped."""
    programs = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    passed, elapsed_s = run_all(programs, int(sys.argv[1]))
    os.write(answer, json.dumps({"passed": passed, "elapsed_s": elapsed_s}).encode())


if __name__ == "__main__":
    main()
