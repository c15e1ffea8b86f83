"""Gives the Python that finds this file on its path a time of day that a test can set.

`CLOCK_OFFSET` names a file with the seconds that are added. Debian's libfaketime would do the
same for any program, but breaks the waiting of Python 3.11; what is monotonic stays as it is.
"""

import os
import time

_real_time_ns = time.time_ns


def _time_ns() -> int:
    try:
        with open(os.environ["CLOCK_OFFSET"]) as file:  # noqa: PTH123 - before pathlib is there
            return _real_time_ns() + int(file.read() or 0) * 10**9
    except OSError:
        return _real_time_ns()


time.time_ns = _time_ns
time.time = lambda: _time_ns() / 1e9
