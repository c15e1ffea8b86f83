"""Gives the Python that finds this file on its path a time of day that a test can set.

`CLOCK_OFFSET` names a file with the seconds that are added. Beside it, a file for each process,
whose name ends in its id, has the seconds that this process has seen last.

Debian's libfaketime would do the same for any program, but breaks the waiting of Python 3.11; what
is monotonic stays as it is.
"""

import os
import time

_real_time_ns = time.time_ns
_seen = ""


def _time_ns() -> int:
    global _seen
    name = os.environ["CLOCK_OFFSET"]
    try:
        with open(name) as file:  # noqa: PTH123 - before pathlib is there
            offset_s = file.read() or "0"
        if offset_s != _seen:
            _seen = offset_s
            with open(f"{name}.{os.getpid()}", "w") as file:  # noqa: PTH123
                file.write(offset_s)
        return _real_time_ns() + int(offset_s) * 10**9
    except OSError:
        return _real_time_ns()


time.time_ns = _time_ns
time.time = lambda: _time_ns() / 1e9
