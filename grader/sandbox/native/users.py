"""A kernel user for each native slot: a number that no other user of the machine has.

Only root can assign them. The range lies above what systemd gives to containers and below the
numbers that some programs read as negative.
"""

import contextlib
import errno
import fcntl
import os
import struct
from pathlib import Path

from grader.model.errors import SandboxUnavailableError

FIRST_UID = 1_900_000_000
COUNT = 4096

_LOCKS = Path("/run/grader-slot-users.lock")

# struct flock: type, whence, start, length, pid.
_FLOCK = struct.Struct("hhqqi4x")


class SlotUser:
    """One number, taken for as long as this object is open.

    A lock on one byte of a shared file says that it is taken; the kernel drops the lock when the
    process ends, however it ends.
    """

    def __init__(self, locks: Path = _LOCKS) -> None:
        """Take the lowest free number.

        Raises:
            SandboxUnavailableError: None is free, or the file of locks cannot be opened.
        """
        try:
            self._descriptor = os.open(locks, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            message = f"cannot open the locks of slot users: {error}"
            raise SandboxUnavailableError(message) from error
        self.uid = FIRST_UID + self._lock_first()

    def close(self) -> None:
        """Give the number back. Repeats harmlessly."""
        descriptor, self._descriptor = self._descriptor, -1
        with contextlib.suppress(OSError):
            os.close(descriptor)

    def _lock_first(self) -> int:
        for number in range(COUNT):
            request = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
            try:
                fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, request)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    self.close()
                    message = f"cannot lock a slot user: {error}"
                    raise SandboxUnavailableError(message) from error
            else:
                return number
        self.close()
        message = f"all {COUNT} slot users of this machine are taken"
        raise SandboxUnavailableError(message)


def can_be_given(uid_map: Path = Path("/proc/self/uid_map")) -> bool:
    """Tell whether this user namespace has the numbers. Those of ordinary users do not."""
    last = FIRST_UID + COUNT - 1
    ranges = (map(int, line.split()) for line in uid_map.read_text().splitlines())
    return any(first <= FIRST_UID and last < first + count for first, _, count in ranges)
