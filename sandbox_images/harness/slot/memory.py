"""How much memory a slot takes with a run, and without one."""

from collections.abc import Callable

from sandbox_images.harness.slot.zygotes import Zygotes


class SlotMemory:
    """The memory of a slot, if something counts it."""

    def __init__(self, read: Callable[[], int] | None, zygotes: Zygotes) -> None:
        self.read = read
        """Returns the bytes that the slot takes; None if nothing counts them."""
        self._zygotes = zygotes
        self._idle: tuple[frozenset[int], int] | None = None
        """The processes of the harness, and what the slot took with them and without a run."""

    def idle_bytes(self) -> int:
        """Return the memory that the slot takes without a run.

        It is measured again if the harness has a new process, and after a run that may have changed
        it. Measuring takes as long as starting a short run.
        """
        if self.read is None:
            return 0
        pids = self._zygotes.harness_pids
        if self._idle is None or (self._idle[0] != pids and not self._zygotes.are_spent):
            self._idle = (pids, self.read())
        return self._idle[1]

    def forget(self) -> None:
        """Have the memory measured again before the next run."""
        # What a run has left behind counts as memory of the next runs of its batch.
        if not self._zygotes.are_spent:
            self._idle = None

    def is_full(self, limit_bytes: int) -> bool:
        """Tell whether earlier runs have left so much in memory that another could not start."""
        if self.read is None or not self._zygotes.are_spent:
            return False
        return self.read() - self.idle_bytes() > limit_bytes // 2
