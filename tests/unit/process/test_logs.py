"""Lines that are logged are written whole, in order, and before the process has ended."""

import io
import logging
import subprocess
import sys
import threading

import pytest

from grader.process.logs import BackgroundHandler

LINES = 500


def test_lines_of_many_threads_are_whole_and_in_the_order_of_each() -> None:
    stream = io.StringIO()
    handler = BackgroundHandler(stream)

    def log(name: str) -> None:
        for number in range(LINES):
            handler.emit(logging.makeLogRecord({"msg": f"{name} {number}"}))

    threads = [threading.Thread(target=log, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    handler.flush()
    lines = [line.split() for line in stream.getvalue().splitlines()]
    for name in "abc":
        assert [int(number) for by, number in lines if by == name] == list(range(LINES))


def test_finaliser_may_log_at_any_point_while_its_thread_logs() -> None:
    """In a process of its own: what other tests import makes a call of the handler many calls."""
    code = """
import io, logging, sys
from grader.process.logs import BackgroundHandler

stream = io.StringIO()
handler = BackgroundHandler(stream)
is_inside = False

def finalise(*_):
    # Logs at each call that the handler makes, since finalisers may run at any of them.
    global is_inside
    if not is_inside:
        is_inside = True
        handler.emit(logging.makeLogRecord({"msg": "inside"}))
        is_inside = False

sys.setprofile(finalise)
handler.emit(logging.makeLogRecord({"msg": "outside"}))
sys.setprofile(None)
handler.flush()
print(stream.getvalue().count("outside"), stream.getvalue().count("inside") > 10)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout.split() == ["1", "True"]


def test_line_that_cannot_be_formatted_or_written_stops_no_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8")
    handler = BackgroundHandler(stream)
    handler.handle(logging.makeLogRecord({"msg": "%d", "args": ("no number",)}))
    for text in ("\ud800", "good"):
        handler.handle(logging.makeLogRecord({"msg": text}))
        handler.flush()
    assert "TypeError" in capsys.readouterr().err
    assert stream.buffer.getvalue() == b"good\n"


def test_exiting_interpreter_writes_all_lines() -> None:
    code = f"""
import logging
from grader.process.logs import show_logs
show_logs(logging.INFO, in_background=True)
for number in range({LINES}):
    logging.getLogger("x").info("line %d", number)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.count('"event": "line ') == LINES
