"""A sandbox without isolation: batches run at once, in this very process.

For unit tests, which need no Linux namespaces or Docker. Never give it code that you would not run
yourself. It keeps the contract of grader.sandbox.contract, except for what needs isolation:

- a program that ends or crashes the process (`os._exit`, a signal) ends the caller;
- memory and processes are not limited, and what child processes print is not captured;
- time limits stop Python code, but no sleep and no call into a library;
- one run at a time in the whole process, since streams and current folder belong to all of it.
"""

import builtins
import importlib
import io
import itertools
import json
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from grader.model import Limits, SuiteFile, Usage
from grader.model.errors import ImageNotFoundError, SandboxUnavailableError
from grader.model.verdict import LimitKind
from grader.sandbox.contract import (
    Counterpart,
    Dialogue,
    Program,
    RunBatch,
    RunOutcome,
    Slot,
    SlotSession,
)
from grader.sandbox.payload import text_bytes
from sandbox_images.harness.runners import prelude
from sandbox_images.harness.runners.call import resolve
from sandbox_images.harness.runners.events import describe
from sandbox_images.harness.slot.limit_hit import limit_of
from sandbox_images.harness.wire import values
from tests.fake.dialogue import Talk, TalkSide, by_thread
from tests.fake.interrupt import Stopped, watched
from tests.fake.process import CappedStream, borrowed_process, one_run_at_a_time
from tests.fake.session import FakeSession

_IMAGES = ("python", "science")


class FakeSandbox:
    """Opens slots that run code in this process."""

    name = "fake"

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._slots: list[FakeSlot] = []

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:  # noqa: ARG002 - not limited
        """Return a slot; see `Sandbox.open_slot`."""
        if image not in _IMAGES:
            message = f"there is no image {image!r}; expected one of {', '.join(_IMAGES)}"
            raise ImageNotFoundError(message)
        slot = FakeSlot(f"{self.name}-{next(self._numbers)}")
        self._slots.append(slot)
        return slot

    def layers(self) -> Mapping[str, str]:
        """Return that there are none."""
        return {"isolation": "none: code runs in the grader's own process"}

    def environment(self, image: str) -> str:
        """Return the variant; see `Sandbox.environment`."""
        return image

    def close(self) -> None:
        """Close every slot. Repeats harmlessly."""
        for slot in self._slots:
            slot.close()


class FakeSlot:
    """Runs batches in the calling thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False

    @property
    def name(self) -> str:
        """The backend and the number."""
        return self._name

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        """Run a batch; see `Slot.run`."""
        for index in range(len(batch.runs)):
            if self._closed:
                message = f"{self._name}: the slot is closed"
                raise SandboxUnavailableError(message)
            yield _run(batch, index)

    def open_session(
        self,
        limits: Limits,  # noqa: ARG002 - each step brings its own
        *,
        states: int,
        preload: Sequence[str] = (),
    ) -> SlotSession:
        """Begin a session; see `Slot.open_session`."""
        for name in preload:
            importlib.import_module(name)
        return FakeSession(states=states, has_slot=self.is_alive)

    def is_alive(self) -> bool:
        """Tell whether the slot is open."""
        return not self._closed

    def close(self) -> None:
        """Refuse further runs. Repeats harmlessly."""
        self._closed = True


# ---------------------------------------------------------------- one run


def _run(batch: RunBatch, index: int) -> RunOutcome:
    with (
        one_run_at_a_time,
        tempfile.TemporaryDirectory(prefix="grader-fake-") as folder,
        borrowed_process(Path(folder)),
    ):
        work = Path(folder).resolve()
        if batch.interactor is not None:
            return _converse(batch, batch.interactor, index, work)
        return _Run(batch, batch.runs[index], work).outcome(index)


def _converse(batch: RunBatch, interactor: Counterpart, index: int, work: Path) -> RunOutcome:
    """Run the submission in this thread and the interactor in another."""
    files = {"input": batch.runs[index], "answer": interactor.answers[index]}
    theirs = RunBatch(
        program=Program.STDIN,
        source=interactor.source,
        source_path="interactor.py",
        runs=(b"",),
        limits=interactor.limits,
        files=(
            *interactor.files,
            *(SuiteFile(path=path, content=content) for path, content in files.items()),
        ),
    )
    talk = Talk()
    said: list[RunOutcome] = []

    def interact() -> None:
        said.append(_Run(theirs, b"", work, talk.interactor).outcome(index))

    with by_thread():
        thread = threading.Thread(target=interact, name="fake interactor")
        thread.start()
        outcome = _Run(batch, b"", work, talk.submission).outcome(index)
        thread.join()
    dialogue = Dialogue(
        interactor=said[0], interactor_first=talk.interactor_first, deadlock=talk.deadlock
    )
    return replace(outcome, dialogue=dialogue)


class _Run:
    """One run, with its captured streams and its report."""

    def __init__(
        self, batch: RunBatch, payload: bytes, work: Path, talking: TalkSide | None = None
    ) -> None:
        self._batch = batch
        self._talking = talking
        self._payload = payload
        self._source_file = work / batch.source_path
        self._stdout = CappedStream(batch.limits.output_bytes)
        self._stderr = CappedStream(batch.limits.output_bytes)
        self._report: list[bytes] = []
        source = text_bytes(batch.source)
        files = {file.path: file.content for file in batch.files}
        for path, content in {**files, batch.source_path: source}.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_bytes(content)

    def outcome(self, index: int) -> RunOutcome:
        limit_hit = None
        exit_code: int | None = None
        exit_signal: int | None = None
        self._open_streams()
        for name in self._batch.preload:
            importlib.import_module(name)
        started_at, cpu_before_s = time.monotonic(), time.process_time()
        try:
            with watched(self._batch.limits):
                code = self._compile()
                exit_code = self._runner()(code) if code is not None else 1
                if self._talking is not None:
                    self._talking.flush()
        except Stopped as error:
            limit_hit = error.limit
            exit_signal = None if limit_hit else signal.SIGKILL
        if self._talking is not None:
            self._talking.end(exit_code)
        cpu_time_s = time.process_time() - cpu_before_s
        dropped = self._stdout.dropped_bytes + self._stderr.dropped_bytes
        hit = limit_of(
            limit_hit,
            dropped_bytes=dropped,
            cpu_time_s=cpu_time_s,
            limits=asdict(self._batch.limits),
        )
        return RunOutcome(
            index=index,
            exit_code=exit_code,
            exit_signal=exit_signal,
            stdout=self._stdout.content,
            stderr=self._stderr.content,
            dropped_bytes=dropped,
            report=b"".join(self._report),
            usage=Usage(cpu_time_s=cpu_time_s, wall_time_s=time.monotonic() - started_at),
            limit_hit=None if hit is None else LimitKind(hit),
        )

    def _open_streams(self) -> None:
        stderr: Any = io.TextIOWrapper(self._stderr, encoding="utf-8", write_through=True)
        if self._talking is not None:
            self._talking.open(self._stdout, stderr)
            return
        sys.stdin = io.TextIOWrapper(io.BytesIO(self._stdin()), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(self._stdout, encoding="utf-8", write_through=True)
        sys.stderr = stderr

    def _stdin(self) -> bytes:
        return self._payload if self._batch.program is Program.STDIN else b""

    def _runner(self) -> Callable[[CodeType], int]:
        match self._batch.program:
            case Program.STDIN:
                return self._run_stdin
            case Program.CALL:
                return self._run_call
            case Program.SCRIPT:
                return self._run_script
            case Program.PYTEST:
                return self._run_pytest
            case Program.COMMAND:
                message = "the fake sandbox executes Python only"
                raise SandboxUnavailableError(message)

    # ------------------------------------------------------------ reports

    def _emit(self, event: str, **details: Any) -> None:
        self._report.append(json.dumps({"e": event, **details}).encode() + b"\n")

    def _describe(self, error: BaseException) -> dict[str, Any]:
        return describe(error, str(self._source_file))

    def _compile(self) -> CodeType | None:
        try:
            source, path = self._batch.source, str(self._source_file)
            return prelude.compile_after(self._batch.prelude, source, path)
        except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
            said = str(getattr(error, "msg", None) or error)
            line = getattr(error, "lineno", None)
            self._emit("compile_error", type=type(error).__name__, message=said, line=line)
            return None

    def _new_module(self, name: str) -> dict[str, Any]:
        module = ModuleType(name)
        module.__file__ = str(self._source_file)
        module.__dict__["__builtins__"] = builtins
        sys.modules[name] = module
        if self._talking is None:  # Else it is shared, and an interactor sets it for itself.
            sys.argv[:] = [self._batch.source_path]
        prelude.execute(self._batch.prelude, module)
        return module.__dict__

    # ------------------------------------------------------------ programs

    def _run_stdin(self, code: CodeType) -> int:
        try:
            exec(code, self._new_module("__main__"))  # noqa: S102 - what this module is for
        except Stopped:
            raise
        except SystemExit as error:
            if error.code is None or isinstance(error.code, int):
                return (error.code or 0) & 0xFF
            sys.stderr.write(f"{error.code}\n")
            return 1
        except BaseException as error:  # noqa: BLE001 - whatever the program raised
            self._emit("exception", where="load", **self._describe(error))
            traceback.print_exc()
            return 1
        return 0

    def _run_call(self, code: CodeType) -> int:
        where = "load"
        try:
            namespace = self._new_module("solution")
            exec(code, namespace)  # noqa: S102 - what this module is for
            self._emit("loaded")
            where = "call"
            payload = json.loads(self._payload)
            for call in payload["calls"]:
                args, kwargs = values.decode(call["args"]), values.decode(call["kwargs"])
                result = resolve(namespace, payload["entry_point"])(*args, **kwargs)
                if payload["asks_presence"] and type(result) is not bool:
                    result = result is not None
                try:
                    self._emit("result", value=values.encode(result))
                except values.UnencodableError as error:
                    self._emit("unencodable", type=type(result).__qualname__, reason=str(error))
                    return 0
            self._emit("done")
        except Stopped:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            self._emit("exception", where=where, **self._describe(error))
        return 0

    def _run_script(self, code: CodeType) -> int:
        payload = json.loads(self._payload)
        where = "load"
        try:
            namespace = self._new_module("solution")
            exec(code, namespace)  # noqa: S102 - what this module is for
            self._emit("loaded")
            where = "setup"
            exec(compile(payload["setup"], "<setup>", "exec"), namespace)  # noqa: S102 - as above
        except Stopped:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            self._emit("exception", where=where, **self._describe(error))
            return 0
        for index, source in enumerate(payload["cases"]):
            result = self._run_case(index, source, namespace)
            self._emit("case", i=index, **result)
            if payload["stop_early"] and result["outcome"] != "passed":
                return 0
        self._emit("done")
        return 0

    def _run_case(self, index: int, source: str, namespace: dict[str, Any]) -> dict[str, Any]:
        try:
            exec(compile(source, f"<case {index}>", "exec"), namespace)  # noqa: S102 - as above
        except Stopped:
            raise
        except AssertionError as error:
            details = self._describe(error)
            return {"outcome": "failed", **details, "message": details["message"] or source}
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            return {"outcome": "error", **self._describe(error)}
        return {"outcome": "passed"}

    def _run_pytest(self, _code: CodeType) -> int:
        from tests.fake.pytest import run_pytest

        payload = json.loads(self._payload)
        finder = prelude.PreludeFinder(self._batch.prelude, str(self._source_file))
        sys.meta_path.insert(0, finder)
        run_pytest(
            self._source_file.parents[len(Path(self._batch.source_path).parts) - 1],
            args=[*payload["args"], *payload["test_paths"]],
            stop_early=payload["stop_early"],
            emit=self._emit,
            describe=self._describe,
        )
        return 0
