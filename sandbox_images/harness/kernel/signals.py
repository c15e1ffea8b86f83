"""How a zygote and its runs react to signals.

If a service or job is to end, the system may send a signal to every process of it. It is meant for
the grader, which then ends its slots. So supervisor and zygotes survive it. A run reacts to signals
like a program that was just started.
"""

import ctypes
import signal

from sandbox_images.harness.kernel.calls import Calls

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_OF_THE_C_LIBRARY = (32, 33)
"""`posix_spawn` has the new process ignore these two, and Python's library cannot change that."""
_CHANGEABLE = tuple(set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP})
_MASK_BYTES = 8
# struct sigaction as the kernel has it: the handler, flags, another address, and a mask.
_ACTION_BYTES = 32
_HANDLER_BYTES = 8
_DEFAULT = bytes(_ACTION_BYTES)
_IGNORED = b"\1".ljust(_ACTION_BYTES, b"\0")
_NO_HANDLERS = (_DEFAULT[:_HANDLER_BYTES], _IGNORED[:_HANDLER_BYTES])


class SetAside:
    """What this process does on signals, kept for its runs while the process has no handler itself.

    It also ignores `ENDING`. The interpreter does not learn of it: its own table of handlers, which
    programs see, stays as it is, so a run only has to change what the kernel knows.
    """

    def __init__(self) -> None:
        """Set the handlers aside, and block no signal any more."""
        found = {number: ctypes.create_string_buffer(_ACTION_BYTES) for number in _CHANGEABLE}
        look, change = Calls(), Calls()
        for number, action in found.items():
            look.add("rt_sigaction", number, 0, look.keep(action), _MASK_BYTES)
        look.make()
        self._kept = {
            number: action
            for number, action in found.items()
            if number in ENDING or action.raw[:_HANDLER_BYTES] not in _NO_HANDLERS
        }
        for number in (*self._kept, *_OF_THE_C_LIBRARY):
            new = _IGNORED if number in ENDING else _DEFAULT
            change.add("rt_sigaction", number, new, 0, _MASK_BYTES)
        change.make()
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def add_return(self, calls: Calls) -> None:
        """Add the calls by which a run takes back what was set aside."""
        for number, action in self._kept.items():
            calls.add("rt_sigaction", number, calls.keep(action), 0, _MASK_BYTES)


def add_defaults(calls: Calls) -> None:
    """Add the calls after which no signal is ignored, for a program that a run executes."""
    for number in (*ENDING, *IGNORED_BY_PYTHON):
        calls.add("rt_sigaction", number, _DEFAULT, 0, _MASK_BYTES)
