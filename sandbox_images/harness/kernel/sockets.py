"""Unix sockets: counts them, and waits for those that only hold each other to be freed.

A socket can be sent over a socket. Until it is received, the kernel keeps it. If sockets are on
their way in a circle, they outlive all processes, with their names and with all descriptors that
were sent along. The kernel looks for such circles whenever any unix socket is closed.
"""

import os
import socket
import time

_READ_BYTES = 4096
_RELEASE_S = 10.0
"""How long the kernel may take, on a busy machine."""
_PAUSE_S = 0.001


def count(process: str = "/proc/self") -> int:
    """Return how many sockets there are in a process's net namespace.

    Args:
        process: Its folder.

    Raises:
        OSError: The kernel has no such count, or the process is gone.
        ValueError: The count does not have the form that the kernel documents.
    """
    # Once per run, so without the overhead of `open`.
    descriptor = os.open(f"{process}/net/sockstat", os.O_RDONLY)
    try:
        # The first line is: sockets: used 12
        return int(os.read(descriptor, _READ_BYTES).split(maxsplit=3)[2])
    finally:
        os.close(descriptor)


def await_release(lasting: int) -> None:
    """Wait until the kernel has freed all sockets but `lasting`. No process may hold the others.

    Raises:
        OSError: The kernel has not freed them in time.
    """
    deadline = time.monotonic() + _RELEASE_S
    while (left := count() - lasting) > 0:
        if time.monotonic() > deadline:
            raise OSError(f"the kernel does not free {left} sockets of a run that has ended")
        for end in socket.socketpair():
            end.close()
        time.sleep(_PAUSE_S)
