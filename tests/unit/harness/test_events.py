import json
import linecache
import runpy
from pathlib import Path

from sandbox_images.harness.runners.events import describe

SOURCE = """\
import json

def fall(n):
    if n:
        fall(n - 1)
    json.loads("{")

def decode(text):
    fall(7)
"""


def raised_by(path: Path) -> BaseException:
    """Return an exception with frames of `path`, of `json`, and of this module."""
    path.write_text(SOURCE)
    decode = runpy.run_path(str(path))["decode"]
    try:
        json.loads("{}", object_pairs_hook=decode)
    except ValueError as error:
        return error
    raise AssertionError(path)


def test_traceback_is_the_innermost_frames_of_the_submission(tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    found = describe(raised_by(path), str(path))
    calls = ["line 5, in fall: fall(n - 1)"] * 4
    assert found["traceback"].splitlines() == [*calls, 'line 6, in fall: json.loads("{")']


def test_description_reads_no_source_but_the_submissions(tmp_path: Path) -> None:
    path = tmp_path / "solution.py"
    linecache.clearcache()
    describe(raised_by(path), str(path))
    assert {*linecache.cache} == {str(path)}
