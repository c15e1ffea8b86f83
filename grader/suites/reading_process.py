"""A process that reads labels for `grader.suites.reading`.

It takes frames on standard input, an order for each label, and answers with one on standard output:
the suite, or the error. If a label names a problem, it asks the other side for it in between. It
dies by SIGPROF at the limit of CPU time. It ends when standard input does, when it has had nothing
to do for a while, and after an answer that took much memory, which Python would not give back.
"""

import os
import resource
import select
import signal
from collections.abc import Iterator
from typing import NoReturn

from grader.model import MiB, TestSuite, wire
from grader.model.errors import LabelError, SuiteError, WireError
from grader.suites.parse import parse_label, parse_problem
from grader.suites.reading import OUT_OF_MEMORY, LabelKind, suite_of
from grader.text import integers
from grader.text.json_values import count_values
from sandbox_images.harness.wire.frames import READ_BYTES, FrameReader, Header, encode

_IDLE_S = 60.0
_KEPT_BYTES = 256 * MiB
"""A process that has taken more memory at any time ends, so that the memory is free again."""


def main() -> NoReturn:
    """Answer until there is no more to do."""
    # The other process may ignore or block the signal, and its child processes inherit that. There
    # is no handler, because the default action ends the process even inside C code.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    frames = _frames()
    for header, (text,) in frames:
        resource.setrlimit(resource.RLIMIT_AS, (header["memory_bytes"], resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, header["cpu_time_s"])
        try:
            answer = _answer(header, text, frames)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(answer)
        # Linux counts in KiB.
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > _KEPT_BYTES:
            break
    # The next label waits for this. If Python ended, it would first free each object of the last.
    os._exit(0)


def _frames() -> Iterator[tuple[Header, list[bytes]]]:
    """Yield the frames of the other side, until it hangs up or is silent for long."""
    reader = FrameReader()
    while select.select([0], [], [], _IDLE_S)[0] and (data := os.read(0, READ_BYTES)):
        yield from reader.feed(data)


def _answer(header: Header, text: bytes, frames: Iterator[tuple[Header, list[bytes]]]) -> bytes:
    problems = _AskedProblems(frames) if header["has_problems"] else None
    try:
        suite = _read(LabelKind(header["kind"]), text.decode("utf-8", "surrogatepass"), problems)
        message = wire.encode_suite(suite)
        most = header["most_values"]
        if most is not None and count_values(message) > most:
            reason = f"the tests hold more than {most} values"
            raise LabelError(reason)
        return encode({"op": "suite"}, message)
    except (LabelError, SuiteError, WireError) as error:
        kind = SuiteError if isinstance(error, SuiteError) else LabelError
        return encode({"op": "error", "kind": kind.__name__, "message": str(error)})
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the other side waits for an answer
        return encode({"op": "error", "kind": "", "message": f"{type(error).__name__}: {error}"})


def _read(kind: LabelKind, text: str, problems: "_AskedProblems | None") -> TestSuite:
    match kind:
        case LabelKind.LABEL:
            return parse_label(text, problems=problems)
        case LabelKind.DATA:
            return parse_label(integers.load_json(text), problems=problems)
        case LabelKind.ROW:
            return parse_problem(integers.load_json(text), problems=problems)


class _AskedProblems:
    """The problems of the other side. See `Problems`."""

    def __init__(self, frames: Iterator[tuple[Header, list[bytes]]]) -> None:
        self._frames = frames

    def get(self, problem_id: str) -> TestSuite | None:
        _send(encode({"op": "get", "problem": problem_id}))
        header, blobs = next(self._frames)
        return None if header["op"] == "none" else suite_of(header, blobs)


def _send(frame: bytes) -> None:
    view = memoryview(frame)
    while view:
        view = view[os.write(1, view) :]
