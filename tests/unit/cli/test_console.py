"""Hostile ids and messages in the log of a command are inert."""

import subprocess
import sys

PROGRAM = r"""
import logging
from grader.cli.console import show_log

show_log(verbose=True)
log = logging.getLogger("grader.test")
log.error("submission %s was not graded", "a\x1b[2J\n2026 ERROR forged\u202e")
try:
    raise ValueError("\x1b[2J")
except ValueError:
    log.exception("a fault")
"""


def test_log_shows_hostile_text_as_text_on_its_own_line() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    first, second, *traceback = done.stderr.splitlines()
    assert first.endswith("ERROR submission a␛[2J␤2026 ERROR forged⟨U+202E⟩ was not graded")
    assert second.endswith("ERROR a fault")
    flush_left = [line for line in traceback if not line.startswith(" ")]
    assert flush_left == ["Traceback (most recent call last):", "ValueError: ␛[2J"]
