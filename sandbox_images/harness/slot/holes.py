"""Fills the holes of this process's memory, so that its forks put new objects next to each other.

The allocators of Python and of C first hand out blocks that are free in pages with used blocks. A
fork has to copy such a page, for the sake of a block or two.
"""

import ctypes

_kept: list[object] = []
"""What fills the holes."""
_LARGEST = 512
"""Bytes of the largest objects for which Python keeps pools."""
_STEP = 16
_POOL_BYTES = 16 * 1024
_MOST_BYTES = 1024 * 1024
"""More than the holes of one size have, unless an allocator works in another way."""
_TOP_BYTES = 120 * 1024
"""More than the holes of C's heap have, and less than what C maps by itself."""


def fill() -> None:
    """Use up the free blocks of all pages that are in use."""
    for size in range(_STEP, _LARGEST + 1, _STEP):
        _fill_pools(size)
    _fill_heap()


def _fill_pools(size: int) -> None:
    counts: dict[int, int] = {}
    made: list[object] = []
    for _ in range(_MOST_BYTES // size):
        made.append(_object_of(size))
        pool = id(made[-1]) // _POOL_BYTES
        counts[pool] = counts.get(pool, 0) + 1
        # The rest are the pool's head, and what this loop itself makes.
        if counts[pool] > _POOL_BYTES // size - 8:
            _kept.append(made[: -counts[pool]])  # without those in a pool that was free
            return


def _object_of(size: int) -> object:
    if size == 16:
        return object()
    return 0j if size == 32 else bytes(size - b"".__sizeof__())


def _fill_heap() -> None:
    malloc, free = (ctypes.PyDLL(None)[name] for name in ("malloc", "free"))
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    free.argtypes = [ctypes.c_void_p]
    top = malloc(_TOP_BYTES)  # behind all holes
    free(top)
    size = _TOP_BYTES
    while size > _STEP:
        size = size * 3 // 4
        for _ in range(_MOST_BYTES // size):
            block = malloc(size)
            if block is None or block >= top:
                free(block)
                break
        else:
            return
