"""A session: a keeper of files, and a tree of parked processes, each of which is a state.

The keeper is the run's main process. It executes no cell. The process of the first state is forked
from it; that of every other state is forked from the state that its step started from. Between
two steps a state does nothing but wait to be forked, stopped by the supervisor.

A cell can take over the process that executes it. So the supervisor believes only what the kernel
says about states: which process sent a message, and which still lives.
"""

import contextlib
import fcntl
import os
import signal
import socket
from collections.abc import Callable
from typing import NoReturn

from sandbox_images.harness.kernel import namespaces
from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import work_area
from sandbox_images.harness.runners.cells import Cells, current_folder
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire import frames, orders, session_lines
from sandbox_images.harness.wire.orders import RunOrder
from sandbox_images.harness.wire.session_lines import BEGUN, FORKED, PARKED, REAP

_EVERY_SIGNAL = signal.valid_signals()
_Mask = set[int | signal.Signals]


def serve(run: ConfinedRun, _reporter: Reporter) -> NoReturn:
    """Fork the first state, then keep the files of all states."""
    control = socket.socket(fileno=run.connection)
    received = orders.receive(control)
    if received is None:
        os._exit(0)
    message, (line,) = received
    if namespaces.clone(0) == 0:
        control.close()
        os.close(run.payload)
        os.close(run.report)
        _be_state(socket.socket(fileno=line))
    os.close(line)
    _Keeper(control, message["most_bytes"]).serve()
    os._exit(0)


# ---------------------------------------------------------------- states


def _be_state(line: socket.socket) -> NoReturn:
    """Wait for steps. Each is taken in a fork, which then waits for steps itself."""
    cells = Cells()
    null = os.open(os.devnull, os.O_RDWR)
    _discard_output(null)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _EVERY_SIGNAL)
    line.send(PARKED)
    while (child := _next_fork(line)) is not None:
        line.close()
        line = child
        os.setsid()  # signals to its group are for what the step itself starts
        folder = current_folder()
        line.send(FORKED)
        received = orders.receive(line)
        if received is None:
            break
        order = RunOrder.parse(*received)
        mask = _take(order, cells, folder, mask, line)
        _release_locks()
        _discard_output(null)
        line.send(PARKED)
    os._exit(0)


def _next_fork(line: socket.socket) -> socket.socket | None:
    """Fork until the supervisor hangs up; return, in the fork only, the line that is its own."""
    latest = 0
    while (received := orders.receive(line)) is not None:
        message, descriptors = received
        if message["op"] == REAP:
            _pid, status = os.waitpid(latest, 0)
            line.send(session_lines.status(status))
            continue
        _reap_all()
        (descriptor,) = descriptors
        try:
            latest = namespaces.clone(0)
        except OSError:
            latest = -1  # No process can be forked: the supervisor sees its line hang up.
        if latest == 0:
            return socket.socket(fileno=descriptor)
        os.close(descriptor)
        line.send(FORKED)
    return None


def _reap_all() -> None:
    """Reap the states that were forked from this one and have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _take(order: RunOrder, cells: Cells, folder: str, mask: _Mask, line: socket.socket) -> _Mask:
    """Take a step, with the cells' own signal mask; return that mask as the cell leaves it."""
    os.dup2(order.stdout, 1)
    os.dup2(order.stderr, 2)
    bundle = orders.read_bundle(order.bundle)
    for descriptor in order.descriptors:
        if descriptor != order.report:
            os.close(descriptor)
    try:
        # By its name: the folder may have been removed and made again for this state.
        os.chdir(folder)
    except OSError:
        os.chdir("/")
    line.send(BEGUN)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        cells.run(bundle.source or "", Reporter(order.report))
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        signal.pthread_sigmask(signal.SIG_BLOCK, _EVERY_SIGNAL)
    except BaseException:  # noqa: BLE001 - of a handler that the cell has set, for a late signal
        signal.pthread_sigmask(signal.SIG_BLOCK, _EVERY_SIGNAL)
    os.close(order.report)
    return mask


def _release_locks() -> None:
    """Give up this process's locks on parts of files, such as those of SQLite.

    Its forks do not have them, and would wait for them in vain.
    """
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            fcntl.lockf(int(name), fcntl.LOCK_UN)


def _discard_output(null: int) -> None:
    for descriptor in (1, 2):
        os.dup2(null, descriptor)


# ---------------------------------------------------------------- the keeper of files


class _Keeper:
    """Holds the files of every state. Runs only while no state does."""

    def __init__(self, control: socket.socket, most_bytes: int) -> None:
        """Keep nothing yet.

        Args:
            control: To the supervisor.
            most_bytes: What the files of one state may hold.
        """
        self._control = control
        self._most_bytes = most_bytes
        self._trees: dict[int, work_area.Tree] = {}
        self._latest: work_area.Tree = {}

    def serve(self) -> None:
        """Carry out requests until the supervisor hangs up."""
        operations: dict[str, Callable[..., None]] = {
            "save": self._save,
            "restore": self._restore,
            "put": self._put,
            "get": self._get,
            "forget": self._forget,
        }
        while (received := orders.receive(self._control)) is not None:
            message, descriptors = received
            try:
                operations[message.pop("op")](*descriptors, **message)
                problem = None
            except (OSError, work_area.UncopyableError) as error:
                problem = getattr(error, "strerror", None) or str(error)
            for descriptor in descriptors:
                os.close(descriptor)
            orders.send(self._control, {"problem": problem})

    def _save(self, *, state: int) -> None:
        """Copy the current files as those of a state."""
        self._trees[state] = self._latest = work_area.save(self._latest, self._most_bytes)

    def _restore(self, *, state: int) -> None:
        """Put the files of a state in place of the current ones."""
        work_area.restore(self._trees[state])
        self._latest = self._trees[state]

    def _put(self, bundle: int) -> None:
        """Write the client's files, in place of what is at their paths."""
        for path, span in orders.read_bundle(bundle).files.items():
            work_area.put(path, orders.read_span(bundle, span))

    def _get(self, wanted: int, found: int, *, state: int, listing: bool) -> None:
        """Write a frame with files of a state to `found`: those that `wanted` names, or a list."""
        tree = self._trees[state]
        if listing:
            frame = frames.encode({"sizes": work_area.sizes(tree)})
        else:
            names = list(orders.read_bundle(wanted).files)
            paths, contents = work_area.get(tree, names, self._most_bytes)
            frame = frames.encode({"paths": paths}, *contents)
        with open(found, "wb", closefd=False) as file:
            file.write(frame)

    def _forget(self, *, states: list[int]) -> None:
        """Drop the files of states."""
        for state in states:
            self._trees.pop(state, None)
