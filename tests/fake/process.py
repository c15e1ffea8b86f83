"""This very process, lent to a program; for `tests.fake.backend` only."""

import builtins
import io
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

one_run_at_a_time = threading.RLock()


class CappedStream(io.RawIOBase):
    """Keeps what is written up to a cap; drops the rest and counts its bytes."""

    def __init__(self, cap: int) -> None:
        super().__init__()
        self._cap = cap
        self._kept = bytearray()
        self.dropped_bytes = 0

    @property
    def content(self) -> bytes:
        """What was kept."""
        return bytes(self._kept)

    def writable(self) -> bool:
        """Return true."""
        return True

    def write(self, data: Any) -> int:
        """Keep as much as there is room for."""
        view = memoryview(data).cast("B")
        room = self._cap - len(self._kept)
        self._kept += view[:room]
        self.dropped_bytes += max(0, len(view) - room)
        return len(view)

    def close(self) -> None:
        """Stay open, so that the content survives a program that closes its stream."""


@contextmanager
def borrowed_process(work: Path) -> Iterator[None]:
    """Lend the process to a program, and undo what programs tend to change afterwards."""
    folder, streams = Path.cwd(), (sys.stdin, sys.stdout, sys.stderr)
    path, argv, modules = sys.path[:], sys.argv[:], dict(sys.modules)
    meta_path, environment = sys.meta_path[:], dict(os.environ)
    recursion_limit, bytecode = sys.getrecursionlimit(), sys.dont_write_bytecode
    builtin = dict(vars(builtins))
    os.chdir(work)
    sys.path.insert(0, str(work))
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        sys.path[:], sys.argv[:], sys.meta_path[:] = path, argv, meta_path
        # Modules that are not the program's stay: many cannot be imported twice.
        for name, module in list(sys.modules.items()):
            if name not in modules and str(getattr(module, "__file__", "")).startswith(str(work)):
                del sys.modules[name]
        sys.modules.update(modules)
        for name in vars(builtins).keys() - builtin.keys():
            delattr(builtins, name)
        vars(builtins).update(builtin)
        os.environ.clear()
        os.environ.update(environment)
        sys.setrecursionlimit(recursion_limit)
        sys.dont_write_bytecode = bytecode
        os.chdir(folder)
