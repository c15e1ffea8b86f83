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

import os
import platform
import resource
import signal
import site
import socket
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from sandbox_images.harness.kernel import cgroup, signals
from sandbox_images.harness.kernel.shared_memory import SharedMemory
from sandbox_images.harness.lock_in import confinement, reduced
from sandbox_images.harness.slot.answers import outcome_frame, step_frame
from sandbox_images.harness.slot.batch import TEST_BATCH, ReceivedBatch
from sandbox_images.harness.slot.commanded import CommandedProgram, known_product
from sandbox_images.harness.slot.ended import Ended
from sandbox_images.harness.slot.host import STDIN, HostConnection, HostGone
from sandbox_images.harness.slot.interaction import DialogueEnd, Interaction
from sandbox_images.harness.slot.limit_hit import OomKills
from sandbox_images.harness.slot.memory import SlotMemory
from sandbox_images.harness.slot.party import Party
from sandbox_images.harness.slot.session import SessionLost, SessionStates
from sandbox_images.harness.slot.sides import Talker
from sandbox_images.harness.slot.watch import RunStopped, Watch
from sandbox_images.harness.slot.zygotes import SlotBroken, StandingJudge, Zygote, Zygotes
from sandbox_images.harness.wire import orders
from sandbox_images.harness.wire.frames import Header

_CGROUP_ROOT = "/sys/fs/cgroup"
_COMPILE_SOURCE = ("stdin", "call")
"""Programs that each run of a batch would compile anew."""
_COMPILING = -1
"""The index of the compiler's outcome, which comes before those of a batch's runs."""


class Powerless(Exception):
    """The slot lacks capabilities that it needs to lock submissions in on its kernel."""


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
        self._oom_kills = OomKills(self._cgroup)
        read: Callable[[], int] | None = None
        if self._cgroup:
            read = self._cgroup.memory_bytes
        elif self._lacks:
            read = reduced.memory_bytes
        self._memory = SlotMemory(read, self._zygotes)

    def serve(self) -> None:
        """Take batches until the grader hangs up.

        Raises:
            HostGone: The grader hung up.
            SlotBroken: The slot cannot go on.
        """
        for _index, ended in self._run(TEST_BATCH):
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
                batch = ReceivedBatch.parse(header, blobs)
                for index, ended in self._run(batch):
                    self._require_quiet()
                    self._host.send(*outcome_frame(batch.seq, index, ended))
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
        idle_memory_bytes = self._memory.idle_bytes()
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
            self._memory.forget()
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
                        orders.write_bundle("cell", code, []).closed_by(held),
                        _parcel(header["paths"], contents).closed_by(held),
                        lambda party: self._watch_step(
                            session, party, header["seq"], limits, idle_memory_bytes
                        ),
                    )
                self._require_quiet()
                self._host.send(*step_frame(step))
            case "read":
                with ExitStack() as held:
                    found = session.read_files(
                        header["state"],
                        _parcel(header["paths"], [b""] * len(header["paths"])).closed_by(held),
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
        read_memory = self._memory.read or session.memory_bytes
        watch = Watch(
            parties=[party],
            limits=limits,
            cgroup=self._cgroup,
            # What was killed between two steps is a state, if anything, and that is looked after.
            oom_happened=self._oom_kills.alarm(),
            idle_memory_bytes=idle_memory_bytes,
            shared=None,  # the session counts it
            slot_memory=read_memory,
            harness_pids=session.bystanders(),
            host_descriptor=STDIN,
            is_stopped=lambda: self._heard_stop(seq),
        )
        with orders.nothing() as nothing:
            ended = watch.run(nothing)
        # The watch may not have read the memory of a short step, but the state keeps that memory.
        if read_memory() - idle_memory_bytes > limits["memory_bytes"]:
            return replace(ended, limit_hit="memory")
        return ended

    def _run(self, batch: ReceivedBatch) -> Iterator[tuple[int, Ended | DialogueEnd]]:
        """Run a batch. When this returns, all of its processes are gone."""
        with ExitStack() as held:
            run_once: Callable[[int], Ended | DialogueEnd]
            first: Ended | None = None
            if batch.commands is None:
                run_once = self._interactive(batch, held, None) or self._alone(batch, held)
            else:
                watch = partial(self._watch, batch)
                program = CommandedProgram(
                    batch, batch.commands, self._zygotes, self._memory, held, watch
                )
                try:
                    compiled, files, first = program.prepare()
                except RunStopped:
                    return
                if compiled is not None:
                    yield _COMPILING, compiled
                if files is None:
                    return
                run_once = self._interactive(batch, held, files) or program.execution(files)
            for index in range(len(batch.runs)):
                if self._host.is_stopped(batch.seq):
                    return
                if first is not None:
                    yield index, first
                    first = None
                    continue
                if self._memory.is_full(batch.limits["memory_bytes"]):
                    yield index, _without_memory(batch)
                    continue
                try:
                    yield index, run_once(index)
                except RunStopped:
                    return

    def _parties(self, batch: ReceivedBatch, held: ExitStack) -> Callable[[], list[Party]]:
        """Return a function that makes the processes of one run, in the order of their start."""

        def bundle(source: bytes | None, files: list[tuple[str, bytes]]) -> orders.Parcel:
            prelude = b"" if source is None else batch.prelude
            parcel = orders.write_bundle(batch.source_path, source, files, prelude=prelude)
            return parcel.closed_by(held)

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

    def _shared_code(self, batch: ReceivedBatch, held: ExitStack) -> int | None:
        """Return a memory file for what the runs of a batch compile, if they are several."""
        if batch.program not in _COMPILE_SOURCE or len(batch.runs) == 1:
            return None
        descriptor = os.memfd_create("code", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        held.callback(os.close, descriptor)
        return descriptor

    def _alone(self, batch: ReceivedBatch, held: ExitStack) -> Callable[[int], Ended]:
        """Return a function that carries out one run without an interactor."""
        parties = self._parties(batch, held)
        return lambda index: self._run_once(batch, parties(), batch.runs[index])

    def _interactive(
        self, batch: ReceivedBatch, held: ExitStack, compiled: orders.Parcel | None
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
            submission = Talker(submissions, code.closed_by(held), batch.limits)
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
                common = orders.read_files(known_product(commands.product, held).descriptor)

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
                    oom_happened=self._oom_alarm(),
                    shares=self._shared_memory,
                    harness_pids=self._zygotes.harness_pids,
                    host_descriptor=STDIN,
                    is_stopped=lambda: self._heard_stop(batch.seq),
                    is_crowded=self._crowd_check(batch, batch.limits) if self._lacks else None,
                ).run()
            finally:
                os.close(program.descriptor)

        return talk

    def _run_once(self, batch: ReceivedBatch, parties: list[Party], run_bytes: bytes) -> Ended:
        payload = orders.memory_file("payload", run_bytes)
        try:
            return self._watch(batch, parties, batch.limits, payload)
        finally:
            os.close(payload)

    def _watch(
        self, batch: ReceivedBatch, parties: list[Party], limits: dict[str, Any], payload: int
    ) -> Ended:
        """Run processes until the last of `parties` has ended."""
        watch = Watch(
            parties=parties,
            limits=limits,
            cgroup=self._cgroup,
            oom_happened=self._oom_alarm(),
            idle_memory_bytes=self._memory.idle_bytes(),
            shared=self._shared_memory(),
            slot_memory=self._memory.read,
            harness_pids=self._zygotes.harness_pids,
            host_descriptor=STDIN,
            is_stopped=lambda: self._heard_stop(batch.seq),
            is_crowded=self._crowd_check(batch, limits) if self._lacks else None,
        )
        ended = watch.run(payload)
        if watch.was_long:
            self._memory.forget()
        return ended

    def _oom_alarm(self) -> Callable[[], bool]:
        """Return the alarm of a run that begins now; see `OomKills`."""
        self._oom_kills.require_none_between_runs()
        return self._oom_kills.alarm()

    def _shared_memory(self) -> SharedMemory | None:
        """Return what adds up the memory that a run's processes share.

        None if a control group counts it, or if the kernel does not tell.
        """
        counted = self._memory.read is not None
        return None if counted or self._lacks else SharedMemory(confinement.WORK)

    def _crowd_check(self, batch: ReceivedBatch, limits: dict[str, Any]) -> Callable[[], bool]:
        staged = [batch.source_path, *(path for path, _ in batch.files)]
        return lambda: reduced.is_crowded(limits["work_files"], staged)

    def _heard_stop(self, seq: int) -> bool:
        self._host.receive()
        return self._host.is_stopped(seq)


def _without_memory(batch: ReceivedBatch) -> Ended | DialogueEnd:
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
