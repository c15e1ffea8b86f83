"""Watch a submission and the suite's interactor talk to each other, each in a run of its own.

They share no descriptor, file or namespace. The supervisor carries what each prints to the other's
standard input, limits the time of both, and decides when each sees the other's end. So it always
knows which of them ended first.
"""

import select
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sandbox_images.harness.kernel import clock, processes
from sandbox_images.harness.kernel.cgroup import CgroupReader
from sandbox_images.harness.kernel.shared_memory import SharedMemory
from sandbox_images.harness.slot import idleness
from sandbox_images.harness.slot.ended import Ended, exit_of
from sandbox_images.harness.slot.relay import Relay
from sandbox_images.harness.slot.sides import Side, Talker
from sandbox_images.harness.slot.watch import RunStopped

_TICK_S = 0.025
_SATISFIED = (0, 7, 42)
"""Exit statuses of an interactor after which the submission still has to end in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueEnd:
    """How a dialogue ended."""

    submission: Ended
    interactor: Ended
    interactor_first: bool
    """Whether the interactor ended while the submission still ran."""
    deadlock: bool
    """Whether each waited for the other, with nothing on its way between them."""


class Interaction:
    """One dialogue, from the orders for both processes to the end of both."""

    def __init__(
        self,
        *,
        submission: Talker,
        interactor: Talker,
        cgroup: CgroupReader | None,
        oom_happened: Callable[[], bool],
        shares: Callable[[], SharedMemory | None],
        harness_pids: frozenset[int],
        host_descriptor: int,
        is_stopped: Callable[[], bool],
        is_crowded: Callable[[], bool] | None = None,
    ) -> None:
        """Prepare. The arguments are those of `Watch`, except for the two programs.

        `shares` returns what adds up the memory that the processes of one of them share.
        """
        questions = Relay(interactor.limits["output_bytes"])
        answers = Relay(submission.limits["output_bytes"])
        self._submission = Side(submission, shares(), prints=answers, reads=questions)
        self._interactor = Side(interactor, shares(), prints=questions, reads=answers)
        # If both have ended, the interactor's end is handled first, because its verdict counts.
        self._sides = (self._interactor, self._submission)
        self._cgroup = cgroup
        self._harness_pids = harness_pids
        self._host_descriptor = host_descriptor
        self._is_stopped = is_stopped
        self._is_crowded = is_crowded
        self._oom_happened = oom_happened
        self._relays = (questions, answers)
        self._moved_bytes = 0
        self._moved_at = 0.0
        self._deadlock = False
        self._interactor_first = False
        self._asked_at = 0.0

    def run(self) -> DialogueEnd:
        """Start both programs and wait for the end of both.

        Raises:
            RunStopped: The grader has stopped the batch; all processes of the run are gone.
            SlotBroken: A process failed before it reached the code it was to run, or was killed
                because the machine had no memory left.
        """
        try:
            self._asked_at = self._moved_at = clock.now()
            for side in self._sides:
                side.start()
            for side in self._sides:
                side.prints.start()
            self._loop()
            now = clock.now()
            oom_happened = self._oom_happened()
            submission, interactor = (
                side.summary(self._age_s(side, now), oom_happened=oom_happened)
                for side in (self._submission, self._interactor)
            )
            return DialogueEnd(
                submission=submission,
                interactor=interactor,
                interactor_first=self._interactor_first,
                deadlock=self._deadlock,
            )
        finally:
            for side in self._sides:
                side.close()
                side.prints.close()

    # ------------------------------------------------------------ what happens

    def _loop(self) -> None:
        next_tick = self._asked_at + _TICK_S
        while any(side.is_alive for side in self._sides):
            self._step(max(0.0, next_tick - clock.now()))
            for side in self._sides:
                if not side.is_alive:
                    side.prints.finish()
            if clock.now() >= next_tick:
                self._check()
                next_tick = clock.now() + _TICK_S

    def _step(self, wait_s: float) -> None:
        """Wait until a descriptor is ready, at most `wait_s` seconds, and call its handler."""
        handlers: dict[int, Callable[[], object]] = {}
        poll = select.poll()
        for descriptor, event, handler in self._awaited():
            handlers[descriptor] = handler
            poll.register(descriptor, event)
        for descriptor, _event in poll.poll(wait_s * 1000):
            handlers[descriptor]()

    def _awaited(self) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """Yield the descriptors to wait for now, each with its event and its handler."""
        yield self._host_descriptor, select.POLLIN, self._hear_host
        for side in self._sides:
            if side.is_alive:
                yield side.party.source.control.fileno(), select.POLLIN, partial(self._hear, side)
            if side.prints.wants_to_read:
                yield side.prints.source, select.POLLIN, side.prints.read
            if side.prints.wants_to_write:
                yield side.prints.sink, select.POLLOUT, side.prints.write
            yield from side.awaited()

    def _hear_host(self) -> None:
        if self._is_stopped():
            self._kill(*self._sides)
            raise RunStopped

    def _hear(self, side: Side) -> None:
        """Read a message about a process, unless the process is known to have ended."""
        if not side.is_alive:
            return
        side.party.hear()
        if side.is_alive:
            return
        side.ended_at = clock.now()
        if side is self._interactor and self._submission.is_alive:
            self._interactor_first = True
            if exit_of(side.party.status)[0] not in _SATISFIED:
                self._kill(self._submission)

    def _kill(self, *sides: Side) -> None:
        """Kill programs and wait until all of their processes are gone."""
        for side in sides:
            side.was_killed = side.was_killed or side.is_alive
        while living := [side for side in sides if side.is_alive]:
            # Repeated, because a zygote may fork a process after the kill.
            pids = self._pids()
            for side in living:
                for pid in pids[side.zygote_pid]:
                    processes.kill(pid)
            controls = {side.party.source.control: side for side in living}
            for control in select.select(list(controls), [], [], _TICK_S)[0]:
                controls[control].party.hear()

    # ------------------------------------------------------------ limits

    def _check(self) -> None:
        pids = self._pids()
        submission, interactor = self._submission, self._interactor
        if interactor.is_alive:
            interactor.look(pids[interactor.zygote_pid])
        if submission.is_alive:
            submission.look(pids[submission.zygote_pid], self._counted_s())
        if not (self._check_submission() or self._check_interactor()):
            self._check_deadlock()

    def _check_submission(self) -> bool:
        """If the submission has hit a limit, stop both; tell whether it has."""
        side, other = self._submission, self._interactor
        if not side.is_alive:
            return False
        # While the interactor works, the submission can only wait.
        at_work_s = other.account.cpu_time_s + other.account.waited_s
        age_s = self._age_s(side, clock.now())
        limit = side.find_limit(age_s, side.account.waited_s + at_work_s)
        if limit is None and self._oom_happened() and other.is_alive:
            limit = "memory"
        if limit is None and self._is_crowded is not None and self._is_crowded():
            limit = "memory"  # such a kernel keeps files in memory
        if limit is None:
            return False
        is_held_up = limit == "wall_time" and self._is_held_up()
        (other if is_held_up else side).limit_hit = limit
        self._kill(*self._sides)
        return True

    def _is_held_up(self) -> bool:
        """Tell whether the submission ran out of time because of the interactor.

        False if the submission was silent only for a short while: the interactor may have sent it
        its current task just before the time was up.
        """
        side, other = self._submission, self._interactor
        silent_s = clock.now() - self._moved_at
        if not other.is_alive or silent_s < side.limits["wall_time_s"] / 2:
            return False
        return self._listens(side) and not self._listens(other)

    def _check_interactor(self) -> bool:
        """If the interactor has hit a limit of its own, stop both; tell whether it has.

        Its wall time counts only from the end of the submission.
        """
        side, other = self._interactor, self._submission
        if not side.is_alive:
            return False
        since = None if other.is_alive else other.ended_at
        alone_s = 0.0 if since is None else clock.now() - since
        side.limit_hit = side.find_limit(alone_s, side.account.waited_s)
        if side.limit_hit is None:
            return False
        self._kill(*self._sides)
        return True

    def _check_deadlock(self) -> None:
        moved, self._moved_bytes = self._moved_bytes, sum(r.moved_bytes for r in self._relays)
        if moved != self._moved_bytes:
            self._moved_at = clock.now()
            return
        if not all(side.is_alive for side in self._sides):
            return
        # In this order: a program that is seen to wait has already sent what it had to send.
        if all(map(self._waits, self._sides)) and all(relay.is_empty for relay in self._relays):
            self._deadlock = True
            self._submission.limit_hit = "wall_time"
            self._kill(*self._sides)

    def _counted_s(self) -> float | None:
        """Return the CPU time of submissions so far, if a control group counts that of the slot."""
        if self._cgroup is None:
            return None
        others_s = processes.cpu_time_s(self._harness_pids) + self._interactor.account.cpu_time_s
        return self._cgroup.cpu_time_s() - others_s

    def _pids(self) -> dict[int, list[int]]:
        """Return the processes of both programs, by the pid of their zygote."""
        zygotes = frozenset(side.zygote_pid for side in self._sides)
        return processes.descendants(zygotes, self._harness_pids)

    def _waits(self, side: Side) -> bool:
        """Tell whether a program only waits for the other one."""
        # Its main process, and process 1 of its namespace. Process 1 always waits, also before the
        # main process starts and after it has ended.
        both = processes.count_children(self._harness_pids, side.pids) == 2
        return both and idleness.wait_for_others(side.pids)

    def _listens(self, side: Side) -> bool:
        """Tell whether a program waits for what the other one prints."""
        return self._waits(side) or idleness.any_reads_input(side.pids)

    def _age_s(self, side: Side, now: float) -> float:
        return (side.ended_at or now) - (side.party.started_at or self._asked_at)
