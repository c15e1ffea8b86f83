"""Logs as lines of JSON, from this package and from libraries alike.

At INFO and above, no message of this package quotes a submission or its tests. It may name their
ids, which come from the client and are cut.
"""

import contextlib
import logging
import queue
import sys
import threading
import time
from typing import Any, TextIO

import structlog

_ID_CHARS = 200
_MOST_LINES = 10_000
"""How many lines may wait to be written before those that log have to wait, too."""
_PAUSE_S = 0.01


class BackgroundHandler(logging.Handler):
    """Writes lines in a thread of its own, many at once.

    Otherwise the threads of a busy service, which log a line for each submission, wait for each
    other at each line: the one that writes lets go of the interpreter while the handler is locked.
    """

    def __init__(self, stream: TextIO) -> None:
        """Start the thread, which lasts as long as the process."""
        super().__init__()
        self._stream = stream
        # Not `queue.Queue`: a finaliser may log while its thread is putting a line.
        self._lines: queue.SimpleQueue[str | threading.Event] = queue.SimpleQueue()
        threading.Thread(target=self._write, name="grader-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Have a record written soon."""
        try:
            line = self.format(record) + "\n"
        except Exception:  # noqa: BLE001 - as in every handler: a faulty message stops nothing
            self.handleError(record)
            return
        while self._lines.qsize() > _MOST_LINES:
            time.sleep(_PAUSE_S)
        self._lines.put(line)

    def flush(self) -> None:
        """Wait until all lines are written. The exiting interpreter calls this."""
        written = threading.Event()
        self._lines.put(written)
        written.wait()

    def _write(self) -> None:
        while True:
            batch = [self._lines.get()]
            while not self._lines.empty():  # No other thread takes any.
                batch.append(self._lines.get())
            with contextlib.suppress(OSError, ValueError):  # Nothing reads them any more.
                self._stream.write("".join(each for each in batch if isinstance(each, str)))
                self._stream.flush()
            for each in batch:
                if isinstance(each, threading.Event):
                    each.set()


def show_logs(level: int, *, in_background: bool = False) -> None:
    """Write everything of at least this level that is logged in this process to standard error.

    Args:
        level: The level.
        in_background: Whether a thread writes the lines; for a process that never forks.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    stream = sys.stderr
    handler = BackgroundHandler(stream) if in_background else logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _drop_colours,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Their debug messages are only about their own internals.
    for name in ("asyncio", "urllib3", "docker"):
        logging.getLogger(name).setLevel(max(level, logging.INFO))
    sys.unraisablehook = _log_unraisable
    if level > logging.DEBUG:
        _hide_quotations()


def _drop_colours(_logger: Any, _method: str, line: structlog.typing.EventDict) -> Any:
    """Drop uvicorn's second copy of its message, which has escapes for terminals."""
    line.pop("color_message", None)
    return line


def _log_unraisable(unraisable: "sys.UnraisableHookArgs") -> None:
    """Log an exception that could not be raised; by default, Python only prints it."""
    kind = unraisable.exc_type.__name__
    place = getattr(unraisable.object, "__qualname__", type(unraisable.object).__name__)
    logging.getLogger(__name__).error("an exception could not be raised: %s in %s", kind, place)


def _hide_quotations() -> None:
    """Drop log messages that quote tests or answers.

    The service and the workers log the errors of `grader.grading.pipeline` by name only.
    """
    logging.getLogger("grader.grading.pipeline").addFilter(
        lambda record: record.levelno < logging.ERROR
    )
    logging.getLogger("grader.rewards.maths.symbolic").setLevel(logging.WARNING)


def short_id(text: str) -> str:
    """Return an id that a client chose, cut for a log."""
    return text[:_ID_CHARS]


def error_kind(feedback: str) -> str:
    """Return the name of the error in a feedback, without its message, which may quote tests."""
    name = feedback.partition(":")[0]
    return name if name.isidentifier() else "other"
