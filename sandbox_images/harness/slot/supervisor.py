"""The slot's main process: takes one batch at a time as frames, and answers with outcomes.

It is process 1 of the slot. It never imports, parses or runs anything of a submission: it writes
bytes from the wire to memory files, and sends bytes from pipes back over the wire.

    grader -> slot    {"op": "run", "seq", "program", "limits", "source_path", "paths",
                       "runs", "run_paths",
                       "preload", "split", "standing", "interactor", "commands"}
                                                           blobs: source, prelude, files..,
                                                           runs.., their own files..,
                                                           perhaps a product; and perhaps
                                                           interactor, files.., answers..,
                                                           perhaps its product
                      {"op": "stop", "seq"}                send no more outcomes of this batch
    slot -> grader    {"op": "ready", ...}                 once, when the slot can take batches
                      {"op": "powerless", "kernel", "message"}  the slot ends, because it
                                                           lacks capabilities; see `reduced`
                      {"op": "outcome", "seq", "index", ...}  blobs: stdout, stderr, report,
                                                           and those of the interactor or
                                                           what a compiler made
                      {"op": "end", "seq", "spent"}        the batch is over, its processes are
                                                           gone; `spent` if the slot must be
                                                           replaced before the next batch

A session takes the slot for as long as it lasts. Each request but "drop" has one answer, in order.

    grader -> slot    {"op": "session", "seq", "limits", "states", "preload"}
                      {"op": "step", "seq", "state", "limits", "paths"}    blobs: cell, files..
                      {"op": "read", "seq", "state", "paths", "listing"}
                      {"op": "drop", "seq", "states"}
                      {"op": "stop", "seq"}                end the session
    slot -> grader    {"op": "opened", "seq"}
                      {"op": "stepped", "state", "problem", "gone", "began", ...}
                                                           blobs: those of an outcome
                      {"op": "read", "problem"}            blob: a frame of the session's keeper
                      {"op": "end", "seq", "spent", "lost"}   the session has ended

    at any time       {"op": "fault", "message"}           the slot is broken and ends
"""

import json
import os
import platform
import resource
import shutil
import signal
import site
import socket
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple

from sandbox_images.harness.kernel import cgroup, signals
from sandbox_images.harness.kernel.shared_memory import SharedMemory
from sandbox_images.harness.lock_in import confinement, reduced
from sandbox_images.harness.slot.ended import Ended
from sandbox_images.harness.slot.interaction import DialogueEnd, Interaction
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.session import SessionLost, SessionStates, Step
from sandbox_images.harness.slot.sides import Talker
from sandbox_images.harness.slot.watch import RunStopped, Watch
from sandbox_images.harness.slot.zygotes import SlotBroken, StandingJudge, Zygote, Zygotes
from sandbox_images.harness.wire import frames, orders
from sandbox_images.harness.wire.frames import Header

_STDIN = 0
_CGROUP_ROOT = "/sys/fs/cgroup"
_TOLD = tuple(
    field.name
    for field in fields(Ended)
    if field.name not in ("stdout", "stderr", "report", "product")
)
"""The fields of `Ended` that are in the header of an outcome; the others are blobs."""
_COMPILE_SOURCE = ("stdin", "call")
"""Programs that each run of a batch would compile anew."""
_COMPILING = -1
"""The index of the compiler's outcome, which comes before those of a batch's runs."""
_MAX_PRODUCT_BYTES = 64 << 20
"""The most of what a compiler made that the grader can ask for."""


class Powerless(Exception):
    """The slot lacks capabilities that it needs to lock submissions in on its kernel."""


class HostGone(Exception):
    """The grader has hung up."""


class HostConnection:
    """The frames to and from the grader."""

    def __init__(self) -> None:
        self._reader = frames.FrameReader()
        self._requests: deque[tuple[Header, list[bytes]]] = deque()
        self._stopped = -1
        """The last batch or session that the grader has stopped; 0 is the test batch."""
        self._out = os.dup(1)
        # From here on, nothing that is printed by accident can get between two frames.
        os.dup2(2, 1)

    def send(self, header: Header, *blobs: bytes) -> None:
        """Write one frame."""
        view = memoryview(frames.encode(header, *blobs))
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except OSError as error:
            raise HostGone from error

    def receive(self) -> None:
        """Read what has arrived; wait if nothing has."""
        data = os.read(_STDIN, frames.READ_BYTES)
        if not data:
            raise HostGone
        for header, blobs in self._reader.feed(data):
            if header["op"] == "stop":
                self._stopped = max(self._stopped, header["seq"])
            else:
                self._requests.append((header, blobs))

    def wait_for_request(self) -> tuple[Header, list[bytes]]:
        """Wait for the next request."""
        while (request := self.next_request()) is None:
            pass
        return request

    def next_request(self) -> tuple[Header, list[bytes]] | None:
        """Wait for a message of the grader; return None if it completes no request."""
        if not self._requests:
            self.receive()
        return self._requests.popleft() if self._requests else None

    def is_stopped(self, seq: int) -> bool:
        """Tell whether the grader has stopped the batch or session `seq`."""
        return seq <= self._stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interactor:
    """The suite's program that a submission talks to."""

    source_path: str
    source: bytes
    files: list[tuple[str, bytes]]
    limits: dict[str, Any]
    answers: list[bytes]
    """One for each run of the batch. The interactor also gets the bytes of the run."""
    commands: "_Commands | None"

    @classmethod
    def parse(cls, header: Header, blobs: Iterator[bytes], runs: int) -> "_Interactor":
        """Read it from its part of a batch's header, and its blobs."""
        return cls(
            source_path=header["source_path"],
            source=next(blobs),
            files=[(path, next(blobs)) for path in header["paths"]],
            limits=header["limits"],
            answers=list(islice(blobs, runs)),
            commands=_Commands.parse(header["commands"], blobs),
        )


class _Commands(NamedTuple):
    """How a program of another language is compiled and run."""

    compile: tuple[str, ...]
    """Empty if nothing is compiled or checked first."""
    compile_limits: dict[str, Any]
    run: tuple[str, ...]
    environment: dict[str, str]
    only_checks: bool
    keeps_product: bool
    product: bytes | None
    """What an earlier batch has compiled, used instead of compiling."""

    @classmethod
    def parse(cls, header: Header | None, blobs: Iterator[bytes]) -> "_Commands | None":
        """Read them from their part of a batch's header; None if there is no such part."""
        if header is None:
            return None
        return cls(
            compile=tuple(header["compile"]),
            compile_limits=header["compile_limits"],
            run=tuple(header["run"]),
            environment=header["environment"],
            only_checks=header["only_checks"],
            keeps_product=header["keeps_product"],
            product=next(blobs) if header["has_product"] else None,
        )

    def require(self) -> None:
        """Make sure that the slot has the programs, except for what the compiler makes.

        Raises:
            SlotBroken: The slot lacks one.
        """
        for program in (command[0] for command in (self.compile, self.run) if command):
            # The path of what the compiler makes has a slash.
            if "/" not in program and shutil.which(program) is None:
                raise SlotBroken(f"the sandbox has no program {program}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunBatch:
    """A batch, as read from its frame."""

    seq: int
    program: str
    limits: dict[str, Any]
    source_path: str
    source: bytes
    prelude: bytes
    files: list[tuple[str, bytes]]
    preload: tuple[str, ...]
    split: bool
    standing: bool
    runs: list[bytes]
    run_files: tuple[dict[str, bytes], ...] = ()
    """The files that each run gets besides those of all runs; empty if there are none."""
    interactor: _Interactor | None = None
    commands: _Commands | None = None

    @classmethod
    def parse(cls, header: Header, blobs: list[bytes]) -> "_RunBatch":
        left = iter(blobs)
        count = header["runs"]
        # Each value takes its blobs off the rest, so this order is that of the blobs.
        return cls(
            seq=header["seq"],
            program=header["program"],
            limits=header["limits"],
            source_path=header["source_path"],
            preload=tuple(header["preload"]),
            split=header["split"],
            standing=header["standing"],
            source=next(left),
            prelude=next(left),
            files=[(path, next(left)) for path in header["paths"]],
            runs=list(islice(left, count)),
            run_files=_rows({path: list(islice(left, count)) for path in header["run_paths"]}),
            commands=_Commands.parse(header["commands"], left),
            interactor=None
            if (told := header["interactor"]) is None
            else _Interactor.parse(told, left, count),
        )


def _rows(columns: dict[str, list[bytes]]) -> tuple[dict[str, bytes], ...]:
    """Return the files of each run, given those of all runs by path."""
    each_run = zip(*columns.values(), strict=True)
    return tuple(dict(zip(columns, contents, strict=True)) for contents in each_run)


_TEST_BATCH = _RunBatch(
    seq=0,
    program="stdin",
    limits={
        "cpu_time_s": 10.0,
        "wall_time_s": 30.0,
        "memory_bytes": 1 << 28,
        "output_bytes": 1 << 16,
        "processes": 16,
        "work_bytes": 1 << 20,
        "work_files": 16,
    },
    source_path="solution.py",
    source=b"",
    prelude=b"",
    files=[],
    preload=(),
    split=False,
    standing=False,
    runs=[b""],
)
"""Run once at the start, so that a defect of the slot shows before a batch comes."""


class Supervisor:
    """Carries out batches, one after another."""

    def __init__(self, host: HostConnection, site_folders: list[str]) -> None:
        self._host = host
        self._heard: set[int] = set()
        """Signals that this process got since the last request. Runs cannot send it any."""
        for number in signals.ENDING:
            signal.signal(number, lambda heard, _frame: self._heard.add(heard))
        self._lacks: tuple[str, ...] = ()
        if refusal := reduced.why_needed():
            if not reduced.has_power():
                raise Powerless(refusal)
            reduced.prepare()
            self._lacks = reduced.LACKS
        self._zygotes = Zygotes(site_folders, reduced=bool(self._lacks))
        self._cgroup = cgroup.open_reader(_CGROUP_ROOT)
        self._idle: tuple[frozenset[int], int] | None = None
        self._slot_memory: Callable[[], int] | None = None
        if self._cgroup:
            self._slot_memory = self._cgroup.memory_bytes
        elif self._lacks:
            self._slot_memory = reduced.memory_bytes

    def serve(self) -> None:
        """Take batches until the grader hangs up.

        Raises:
            HostGone: The grader hung up.
            SlotBroken: The slot cannot go on.
        """
        for _index, ended in self._run(_TEST_BATCH):
            if not isinstance(ended, Ended) or ended.exit_code != 0:
                raise SlotBroken(f"an empty program does not run here: {ended}")
        self._host.send(
            {
                "op": "ready",
                "python": platform.python_version(),
                "cgroup": self._cgroup.version if self._cgroup else None,
                "lacks": self._lacks,
            }
        )
        while True:
            header, blobs = self._host.wait_for_request()
            self._heard.clear()
            if header["op"] == "session":
                self._hold_session(header)
            elif header["op"] == "run":
                batch = _RunBatch.parse(header, blobs)
                for index, ended in self._run(batch):
                    self._require_quiet()
                    self._host.send(*_outcome(batch.seq, index, ended))
                self._send_end(batch.seq)
            # Any other request is for a session that has ended.

    def _require_quiet(self) -> None:
        """Make sure that no signal was sent to all processes of the slot while a run lasted.

        The run may have reacted to it in any way: in Python, SIGINT raises an exception.

        Raises:
            SlotBroken: One was.
        """
        if self._heard:
            number = next(iter(self._heard))
            raise SlotBroken(f"signal {number} was sent to the processes of the slot")

    def _hold_session(self, header: Header) -> None:
        """Hold a session until the grader closes it or it ends; then its processes are gone."""
        zygote = self._zygotes.get("plain", tuple(header["preload"]))
        idle_memory_bytes = self._idle_memory_bytes()
        session = SessionStates(
            zygote,
            header["limits"],
            most_states=header["states"],
            harness_pids=self._zygotes.harness_pids,
        )
        told = None
        try:
            self._host.send({"op": "opened", "seq": header["seq"]})
            while not self._host.is_stopped(header["seq"]):
                if (asked := self._host.next_request()) is not None:
                    self._serve_session(session, idle_memory_bytes, *asked)
        except RunStopped:
            pass
        except SessionLost as error:
            told = str(error)
        finally:
            session.close()
            self._forget_idle_memory()
        self._send_end(header["seq"], lost=told)

    def _send_end(self, seq: int, **more: str | None) -> None:
        self._host.send({"op": "end", "seq": seq, "spent": self._zygotes.are_spent, **more})

    def _serve_session(
        self, session: SessionStates, idle_memory_bytes: int, header: Header, blobs: list[bytes]
    ) -> None:
        """Carry out one request of a session."""
        self._heard.clear()
        match header["op"]:
            case "step":
                limits = header["limits"]
                code, *contents = blobs
                with ExitStack() as held:
                    step = session.take_step(
                        header["state"],
                        _held(held, orders.write_bundle("cell", code, [])),
                        _held(held, _parcel(header["paths"], contents)),
                        lambda party: self._watch_step(
                            session, party, header["seq"], limits, idle_memory_bytes
                        ),
                    )
                self._require_quiet()
                self._host.send(*_stepped(step))
            case "read":
                with ExitStack() as held:
                    found = session.read_files(
                        header["state"],
                        _held(held, _parcel(header["paths"], [b""] * len(header["paths"]))),
                        listing=header["listing"],
                    )
                problem = found if isinstance(found, str) else None
                frame = b"" if isinstance(found, str) else found
                self._host.send({"op": "read", "problem": problem}, frame)
            case _:
                session.drop(header["states"])

    def _watch_step(
        self,
        session: SessionStates,
        party: Party,
        seq: int,
        limits: dict[str, Any],
        idle_memory_bytes: int,
    ) -> Ended:
        read_memory = self._slot_memory or session.memory_bytes
        watch = Watch(
            parties=[party],
            limits=limits,
            cgroup=self._cgroup,
            idle_memory_bytes=idle_memory_bytes,
            shared=None,  # the session counts it
            slot_memory=read_memory,
            harness_pids=session.bystanders(),
            host_descriptor=_STDIN,
            is_stopped=lambda: self._heard_stop(seq),
        )
        with orders.nothing() as nothing:
            ended = watch.run(nothing)
        # The watch may not have read the memory of a short step, but the state keeps that memory.
        if read_memory() - idle_memory_bytes > limits["memory_bytes"]:
            return replace(ended, limit_hit="memory")
        return ended

    def _run(self, batch: _RunBatch) -> Iterator[tuple[int, Ended | DialogueEnd]]:
        """Run a batch. When this returns, all of its processes are gone."""
        with ExitStack() as held:
            run_once: Callable[[int], Ended | DialogueEnd]
            compiled: Ended | None
            first: Ended | None = None
            if batch.commands is None:
                run_once = self._interactive(batch, held, None) or self._alone(batch, held)
            else:
                batch.commands.require()
                try:
                    if batch.commands.only_checks:
                        compiled, program, first = self._check(batch, batch.commands, held)
                    else:
                        compiled, program = self._compile(batch, batch.commands, held)
                except RunStopped:
                    return
                if compiled is not None:
                    yield _COMPILING, compiled
                if program is None:
                    return
                executions = self._executions(batch, batch.commands, program)
                run_once = self._interactive(batch, held, program) or executions
            for index in range(len(batch.runs)):
                if self._host.is_stopped(batch.seq):
                    return
                if first is not None:
                    yield index, first
                    first = None
                    continue
                if self._is_full(batch):
                    yield index, _without_memory(batch)
                    continue
                try:
                    yield index, run_once(index)
                except RunStopped:
                    return

    def _is_full(self, batch: _RunBatch) -> bool:
        """Tell whether earlier runs have left so much in memory that another could not start."""
        if self._slot_memory is None or not self._zygotes.are_spent:
            return False
        left_bytes = self._slot_memory() - self._idle_memory_bytes()
        return left_bytes > int(batch.limits["memory_bytes"]) // 2

    def _parties(self, batch: _RunBatch, held: ExitStack) -> Callable[[], list[Party]]:
        """Return a function that makes the processes of one run, in the order of their start."""

        def bundle(source: bytes | None, files: list[tuple[str, bytes]]) -> orders.Parcel:
            prelude = b"" if source is None else batch.prelude
            parcel = orders.write_bundle(batch.source_path, source, files, prelude=prelude)
            return _held(held, parcel)

        kind = "pytest" if batch.program == "pytest" else "plain"
        if not batch.split:
            both = bundle(batch.source, batch.files)
            zygote = self._zygotes.get(kind, batch.preload)
            shared = self._shared_code(batch, held)
            return lambda: [Party(zygote, batch.program, bundle=both, code=shared)]
        code, tests = bundle(batch.source, []), bundle(None, batch.files)
        candidates = self._zygotes.get("plain", batch.preload)

        def judges() -> Zygote | StandingJudge:
            # A judge that stays has only its own work area for a suite's files.
            if batch.standing and _has_room(batch.limits, tests):
                return self._zygotes.standing_judge(batch.program, batch.limits)
            return self._zygotes.get("judge" if kind == "plain" else kind, batch.preload)

        def pair() -> list[Party]:
            ends = [end.detach() for end in socket.socketpair()]
            return [
                Party(candidates, f"serve_{batch.program}", bundle=code, channel=ends[0]),
                Party(judges(), f"judge_{batch.program}", bundle=tests, channel=ends[1]),
            ]

        return pair

    def _shared_code(self, batch: _RunBatch, held: ExitStack) -> int | None:
        """Return a memory file for what the runs of a batch compile, if they are several."""
        if batch.program not in _COMPILE_SOURCE or len(batch.runs) == 1:
            return None
        descriptor = os.memfd_create("code", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        held.callback(os.close, descriptor)
        return descriptor

    def _check(
        self, batch: _RunBatch, commands: _Commands, held: ExitStack
    ) -> tuple[Ended, orders.Parcel | None, Ended | None]:
        """Check a batch's program, unless its first run shows that it needs no check.

        Returns:
            What `_compile` returns, and how the first run has ended if there was one.
        """
        sources = _sources(batch, held)
        first = None
        if batch.interactor is None and batch.runs:
            first = self._executions(batch, commands, sources)(0)
            if first.exit_code == 0 and first.limit_hit is None:
                return Ended(exit_code=0), sources, first
        with orders.nothing() as nothing:
            check = self._execution(commands.compile, commands, sources)
            ended = self._watch(batch, [check], commands.compile_limits, nothing)
        is_sound = ended.exit_code == 0 and ended.limit_hit is None
        return ended, sources if is_sound else None, first

    def _compile(
        self, batch: _RunBatch, commands: _Commands, held: ExitStack
    ) -> tuple[Ended | None, orders.Parcel | None]:
        """Compile a batch's program.

        Returns:
            How the compiler ended (None if there is no compiler), and the files for the runs (None
            if the program does not compile).
        """
        if commands.product is not None:
            return None, _known_product(commands.product, held)
        sources = _sources(batch, held)
        if not commands.compile:
            return None, sources
        product = os.memfd_create("product", os.MFD_CLOEXEC)
        held.callback(os.close, product)
        compiler = Party(
            self._zygotes.get("command", ()),
            "compile",
            bundle=sources,
            command=commands.compile,
            environment=commands.environment,
        )
        ended = self._watch(batch, [compiler], commands.compile_limits, product)
        # The compiler's files take memory until the batch ends. It must not count as a run's.
        self._forget_idle_memory()
        held.callback(self._forget_idle_memory)
        if ended.exit_code != 0 or ended.limit_hit is not None:
            return ended, None
        try:
            parcel = _held(held, orders.open_product(product))
            if commands.keeps_product:
                ended = replace(ended, product=_read_product(parcel.descriptor))
        except ValueError as error:
            words = f"what the compiler made cannot be used: {error}"
            event = {"e": "compile_error", "type": "compiler", "message": words}
            return replace(ended, report=json.dumps(event).encode()), None
        return ended, parcel

    def _executions(
        self, batch: _RunBatch, commands: _Commands, program: orders.Parcel
    ) -> Callable[[int], Ended]:
        """Return a function that executes the program for one run."""

        def run(index: int, bundle: orders.Parcel) -> Ended:
            party = self._execution(commands.run, commands, bundle)
            return self._run_once(batch, [party], batch.runs[index])

        if not batch.run_files:
            return lambda index: run(index, program)
        common = orders.read_files(program.descriptor)

        def run_with_files(index: int) -> Ended:
            files = common | batch.run_files[index]
            bundle = orders.write_bundle(batch.source_path, None, list(files.items()))
            try:
                return run(index, bundle)
            finally:
                os.close(bundle.descriptor)

        return run_with_files

    def _execution(
        self, command: tuple[str, ...], commands: _Commands, bundle: orders.Parcel
    ) -> Party:
        """Return the process of a run that executes one of the commands."""
        return Party(
            self._zygotes.get("command", ()),
            "command",
            bundle=bundle,
            command=command,
            environment=commands.environment,
        )

    def _alone(self, batch: _RunBatch, held: ExitStack) -> Callable[[int], Ended]:
        """Return a function that carries out one run without an interactor."""
        parties = self._parties(batch, held)
        return lambda index: self._run_once(batch, parties(), batch.runs[index])

    def _interactive(
        self, batch: _RunBatch, held: ExitStack, compiled: orders.Parcel | None
    ) -> Callable[[int], DialogueEnd] | None:
        """Return a function that carries out one run with the interactor; None if there is none.

        Args:
            batch: The batch.
            held: Closes what is opened for the batch, at its end.
            compiled: The files for the batch's commands; None if it has no commands.
        """
        interactor = batch.interactor
        if interactor is None:
            return None
        kind = "plain" if batch.commands is None else "command"
        submissions = self._zygotes.get(kind, batch.preload)
        if compiled is None or batch.commands is None:
            code = orders.write_bundle(
                batch.source_path, batch.source, batch.files, prelude=batch.prelude
            )
            submission = Talker(submissions, _held(held, code), batch.limits)
        else:
            submission = Talker(
                submissions, compiled, batch.limits, batch.commands.run, batch.commands.environment
            )
        interactors = self._zygotes.get("interactor", ())
        common = dict(interactor.files)
        source: bytes | None = interactor.source
        command: tuple[str, ...] = ()
        environment: dict[str, str] = {}
        if (commands := interactor.commands) is not None:
            commands.require()
            command, environment = commands.run, commands.environment
            if commands.product is not None:
                source = None
                common = orders.read_files(_known_product(commands.product, held).descriptor)

        def talk(index: int) -> DialogueEnd:
            files = common | {"input": batch.runs[index], "answer": interactor.answers[index]}
            program = orders.write_bundle(interactor.source_path, source, list(files.items()))
            try:
                return Interaction(
                    submission=submission,
                    interactor=Talker(
                        interactors, program, interactor.limits, command, environment
                    ),
                    cgroup=self._cgroup,
                    shares=self._shared_memory,
                    harness_pids=self._zygotes.harness_pids,
                    host_descriptor=_STDIN,
                    is_stopped=lambda: self._heard_stop(batch.seq),
                    is_crowded=self._crowd_check(batch, batch.limits) if self._lacks else None,
                ).run()
            finally:
                os.close(program.descriptor)

        return talk

    def _run_once(self, batch: _RunBatch, parties: list[Party], run_bytes: bytes) -> Ended:
        payload = orders.memory_file("payload", run_bytes)
        try:
            return self._watch(batch, parties, batch.limits, payload)
        finally:
            os.close(payload)

    def _watch(
        self, batch: _RunBatch, parties: list[Party], limits: dict[str, Any], payload: int
    ) -> Ended:
        """Run processes until the last of `parties` has ended."""
        watch = Watch(
            parties=parties,
            limits=limits,
            cgroup=self._cgroup,
            idle_memory_bytes=self._idle_memory_bytes(),
            shared=self._shared_memory(),
            slot_memory=self._slot_memory,
            harness_pids=self._zygotes.harness_pids,
            host_descriptor=_STDIN,
            is_stopped=lambda: self._heard_stop(batch.seq),
            is_crowded=self._crowd_check(batch, limits) if self._lacks else None,
        )
        ended = watch.run(payload)
        if watch.was_long:
            self._forget_idle_memory()
        return ended

    def _shared_memory(self) -> SharedMemory | None:
        """Return what adds up the memory that a run's processes share.

        None if a control group counts it, or if the kernel does not tell.
        """
        counted = self._slot_memory is not None
        return None if counted or self._lacks else SharedMemory(confinement.WORK)

    def _forget_idle_memory(self) -> None:
        # What a run has left behind counts as memory of the next runs of its batch.
        if not self._zygotes.are_spent:
            self._idle = None

    def _idle_memory_bytes(self) -> int:
        """Return the memory that the slot takes without a run.

        It is measured again if the harness has a new process, and after a run that may have changed
        it. Measuring takes as long as starting a short run.
        """
        if self._slot_memory is None:
            return 0
        pids = self._zygotes.harness_pids
        if self._idle is None or (self._idle[0] != pids and not self._zygotes.are_spent):
            self._idle = (pids, self._slot_memory())
        return self._idle[1]

    def _crowd_check(self, batch: _RunBatch, limits: dict[str, Any]) -> Callable[[], bool]:
        staged = [batch.source_path, *(path for path, _ in batch.files)]
        return lambda: reduced.is_crowded(limits["work_files"], staged)

    def _heard_stop(self, seq: int) -> bool:
        self._host.receive()
        return self._host.is_stopped(seq)


def _sources(batch: _RunBatch, held: ExitStack) -> orders.Parcel:
    return _held(held, orders.write_bundle(batch.source_path, batch.source, batch.files))


def _read_product(descriptor: int) -> bytes:
    """Return what a compiler made; nothing if that is too large."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0) if size <= _MAX_PRODUCT_BYTES else b""


def _known_product(product: bytes, held: ExitStack) -> orders.Parcel:
    """Return what an earlier batch has compiled, for reading.

    Raises:
        SlotBroken: It is not what a slot has made.
    """
    descriptor = orders.memory_file("product", product)
    held.callback(os.close, descriptor)
    try:
        return _held(held, orders.open_product(descriptor))
    except ValueError as error:
        raise SlotBroken(f"the batch's product cannot be used: {error}") from error


def _without_memory(batch: _RunBatch) -> Ended | DialogueEnd:
    """Return the end of a run that cannot start, since earlier runs have left too little memory."""
    ended = Ended(limit_hit="memory")
    if batch.interactor is None:
        return ended
    interactor = Ended(exit_signal=signal.SIGKILL)
    return DialogueEnd(
        submission=ended, interactor=interactor, interactor_first=False, deadlock=False
    )


def _has_room(limits: dict[str, Any], parcel: orders.Parcel) -> bool:
    return bool(
        parcel.bytes <= limits["work_bytes"] // 2 and parcel.files <= limits["work_files"] // 2
    )


def _parcel(paths: list[str], contents: list[bytes]) -> orders.Parcel:
    return orders.write_bundle("", None, list(zip(paths, contents, strict=True)))


def _held(held: ExitStack, parcel: orders.Parcel) -> orders.Parcel:
    held.callback(os.close, parcel.descriptor)
    return parcel


def _stepped(step: Step) -> tuple[Header, *tuple[bytes, ...]]:
    """Return the frame that reports a step."""
    header: Header = {
        "op": "stepped",
        "state": step.state,
        "problem": step.problem,
        "gone": step.is_gone,
        "began": step.ended is not None,
    }
    if step.ended is None:
        return (header,)
    return header | _end(step.ended), *step.ended.streams


def _outcome(seq: int, index: int, ended: Ended | DialogueEnd) -> tuple[Header, *tuple[bytes, ...]]:
    """Return the frame that reports a run."""
    header: Header = {"op": "outcome", "seq": seq, "index": index}
    if isinstance(ended, Ended):
        if ended.product is not None:
            header["has_product"] = True
            return header | _end(ended), *ended.streams, ended.product
        return header | _end(ended), *ended.streams
    header["dialogue"] = {
        "interactor": _end(ended.interactor),
        "interactor_first": ended.interactor_first,
        "deadlock": ended.deadlock,
    }
    submission = ended.submission
    return header | _end(submission), *submission.streams, *ended.interactor.streams


def _end(ended: Ended) -> Header:
    return {name: getattr(ended, name) for name in _TOLD}


def main(args: list[str]) -> None:
    """Be a slot's supervisor; `args` are folders of packages, empty for the usual ones."""
    # The kernel compares it with all descriptors that the slot's user has under way between
    # processes. Submissions can put some hundreds under way.
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    host = HostConnection()
    try:
        Supervisor(host, args or site.getsitepackages()).serve()
    except HostGone:
        pass
    except Powerless as error:
        kernel = platform.release()
        _send_last(host, {"op": "powerless", "kernel": kernel, "message": str(error)})
    except SlotBroken as error:
        _send_last(host, {"op": "fault", "message": str(error)})
    except Exception:  # noqa: BLE001 - whatever it is, the grader must learn of it
        _send_last(host, {"op": "fault", "message": traceback.format_exc()})
    os._exit(0)


def _send_last(host: HostConnection, header: Header) -> None:
    try:
        host.send(header)
    except HostGone:
        pass
