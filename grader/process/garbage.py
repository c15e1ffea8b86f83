"""How often the interpreter looks for reference cycles, in a process that is this package's own.

By default it does so whenever there are 700 objects more, whatever they are. A service with 512
open requests spent a third of its CPU time on that. But few objects may hold large texts, and the
interpreter does not count these.
"""

import contextlib
import ctypes
import gc

_OBJECTS = 10_000
_BYTES = 16 * 1024 * 1024


class RareCollection:
    """Looks for cycles when there are 10,000 objects more, or 16 MiB of texts."""

    def __init__(self) -> None:
        """Change nothing yet."""
        self._begun = False
        self._bytes = 0

    def begin(self) -> None:
        """Look for cycles rarely from now on, and never among the objects that exist now."""
        gc.collect()
        gc.freeze()
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
        self._begun = True

    def count(self, size: int) -> None:
        """Count the bytes of a new text that may become part of a cycle."""
        self._bytes += size
        if self._begun and self._bytes > _BYTES:
            self._bytes = 0
            gc.collect()
            _give_back_free_memory()


def _give_back_free_memory() -> None:
    """Give free memory back to the kernel that glibc keeps because of memory in use above it."""
    with contextlib.suppress(AttributeError):  # Other libraries have no such function.
        ctypes.CDLL(None).malloc_trim(0)
