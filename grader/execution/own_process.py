"""Which submissions may see which process they are in."""

import re

_OF_ITS_PROCESS = re.compile(
    r"\b(?:CLOCK_(?:PROCESS|THREAD)_CPUTIME_ID|(?:process|thread)_time(?:_ns)?|get(?:pid|ppid|pgid|sid)"
    r"|gettid|get_native_id|native_id|getrusage|os\.times|register_at_fork)\b"
)
"""What is another in a copy: the numbers of a process and its relatives, and the time they took."""


def knows_its_process(source: str) -> bool:
    """Tell whether a submission may see that another process answers than the one it began in.

    It may compare with what it learnt when it was loaded, and be right to.
    """
    return _OF_ITS_PROCESS.search(source) is not None
