"""Filling the holes of a process's memory before it is forked."""

import subprocess
import sys

from tests.conftest import REPO

PAGES_OF_NEW_BLOCKS = """
import ctypes, mmap, sys
from sandbox_images.harness.slot import holes

malloc, free = (ctypes.PyDLL(None)[name] for name in ("malloc", "free"))
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
free.argtypes = [ctypes.c_void_p]

objects = [bytes(100) for _ in range(10_000)]
blocks = [malloc(2_000) for _ in range(1_000)]
del objects[::20]
for block in blocks[::20]:
    free(block)
if sys.argv[1] == "fill":
    holes.fill()
new_objects = [bytes(100) for _ in range(100)]
new_blocks = [malloc(2_000) for _ in range(40)]
for addresses in (map(id, new_objects), new_blocks):
    print(len({address // mmap.PAGESIZE for address in addresses}))
"""


def pages(what: str) -> list[int]:
    """Return how many pages 100 new objects of Python take, and 40 new blocks of C."""
    done = subprocess.run(
        [sys.executable, "-c", PAGES_OF_NEW_BLOCKS, what],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPO,
    )
    return [int(count) for count in done.stdout.split()]


def test_new_objects_are_next_to_each_other_once_holes_are_filled() -> None:
    objects, blocks = pages("fill")
    assert objects <= 6
    assert blocks <= 22
    scattered_objects, scattered_blocks = pages("leave")
    assert scattered_objects > 40
    assert scattered_blocks > 35


def test_holes_are_filled_under_another_allocator_too() -> None:
    command = "from sandbox_images.harness.slot import holes; holes.fill(); print('filled')"
    done = subprocess.run(
        [sys.executable, "-c", command],
        capture_output=True,
        text=True,
        check=True,
        cwd=REPO,
        env={"PYTHONMALLOC": "malloc"},
    )
    assert done.stdout == "filled\n"
